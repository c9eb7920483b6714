"""Logs for the tests of `gpuhist changes`: 20 services with 8 faults, 200 quiet services, and a slow drift.

    change_logs.py services|quiet|drift FOLDER [SCALE]

writes the logs to FOLDER and prints the faults as JSON. All is determined by the seeds.
"""

import datetime
import gzip
import json
import math
import pathlib
import random
import sys

START = datetime.datetime(2026, 11, 23, tzinfo=datetime.timezone.utc).timestamp()
MINUTE, HOUR, DAY = 60, 3600, 86400


def text_of(seconds, form):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime(form)


class Clock:
    """Times of one second as text, by format."""

    def __init__(self, form):
        self.form, self.second, self.text = form, None, ""

    def __call__(self, seconds):
        if int(seconds) != self.second:
            self.second = int(seconds)
            self.text = text_of(self.second, self.form)
        return self.text


def ip(chosen):
    return f"192.0.2.{chosen.randrange(256)}"


# Each makes a function (random, seconds, level, message) -> line.
def as_access(clock=Clock("%d/%b/%Y:%H:%M:%S +0000")):
    return lambda r, t, level, message: (
        f'{ip(r)} - - [{clock(t)}] "GET /item/{r.randrange(10**6)} HTTP/1.1" {message} {r.randrange(200, 90000)} "-" "browser/{r.randrange(9)}"')


def as_json():
    return lambda r, t, level, message: json.dumps({"ts": round(t, 3), "level": level.lower(), "msg": message, "user": f"u{r.randrange(10**5)}"})


def as_log4j(clock=Clock("%Y-%m-%d %H:%M:%S")):
    return lambda r, t, level, message: f"{clock(t)},{int(t * 1000) % 1000:03} {level:5} [worker-{r.randrange(16)}] {message}"


def as_syslog(clock=Clock("%b %e %H:%M:%S")):
    return lambda r, t, level, message: f"{clock(t)} host{r.randrange(4)} daemon[{r.randrange(30000)}]: {message}"


def as_logfmt(clock=Clock("%Y-%m-%dT%H:%M:%S")):
    return lambda r, t, level, message: f'time={clock(t)}Z level={level.lower()} msg="{message}" request={r.randrange(10**9):x}'


def as_glog(clock=Clock("%m%d %H:%M:%S")):
    return lambda r, t, level, message: f"{level[0]}{clock(t)}.{int(t * 10**6) % 10**6:06} {r.randrange(9999):5} server.cc:{r.randrange(900)}] {message}"


def as_cri(clock=Clock("%Y-%m-%dT%H:%M:%S")):
    return lambda r, t, level, message: f"{clock(t)}.{int(t * 10**9) % 10**9:09}Z stdout F {level} {message}"


def as_nginx_error(clock=Clock("%Y/%m/%d %H:%M:%S")):
    return lambda r, t, level, message: f"{clock(t)} [{level.lower()}] {r.randrange(9999)}#0: *{r.randrange(10**7)} {message}"


FORMS = [as_access, as_json, as_syslog, as_logfmt, as_log4j, as_access, as_glog, as_log4j, as_cri, as_nginx_error]
VERBS = ["fetched", "stored", "sent", "parsed", "indexed", "checked", "closed", "opened", "merged", "queued"]
NOUNS = ["order", "invoice", "session", "mail", "image", "route", "record", "block", "ticket", "token"]


class Kind:
    def __init__(self, weight, level, message):
        self.weight, self.level, self.message = weight, level, message


def usual_kinds(chosen, form):
    """Kinds with the numbers of Zipf, and rare ones."""
    if form is as_access:
        return [Kind(w, "INFO", lambda r, s=s: s) for w, s in
                ((90, "200"), (5, "304"), (3, "404"), (1, "301"), (0.02, "502"), (0.1, "500"))]
    made = []
    for i in range(12):
        verb, noun = chosen.choice(VERBS), chosen.choice(NOUNS)
        level = "WARN" if i == 7 else "ERROR" if i == 9 else "INFO"
        made.append(Kind(100 / (i + 1), level, lambda r, v=verb, n=noun, i=i: f"{v} {n} {r.randrange(10**4)} in {r.randrange(10, 99)} ms step {i}"))
    words = [f"{chosen.choice(VERBS)} {chosen.choice(NOUNS)}{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(100)]
    made.append(Kind(1, "DEBUG", lambda r: f"rare: {r.choice(words)} of {r.randrange(100)}"))
    return made


class Service:
    """A log of a program, in minutes."""

    def __init__(self, name, seed, form, rate, start=START, length=8 * HOUR, cycle=0.3, cycle_length=8 * HOUR):
        self.name, self.random = name, random.Random(seed)
        self.form, self.line = form, form()
        self.rate, self.start, self.length = rate, start, length
        self.cycle, self.cycle_length, self.phase = cycle, cycle_length, self.random.uniform(0, 6)
        self.kinds = usual_kinds(self.random, form)
        self.jobs = []  # (period, offset, lines, message)
        self.on_minute = lambda minute: None  # a fault: changes weights, rate, length
        self.factor = 1
        self.damage = 0

    def lines(self):
        """Pairs of time and line."""
        r = self.random
        for minute in range(int(self.length // MINUTE)):
            begin = self.start + minute * MINUTE
            self.on_minute(minute)
            mean = self.rate * self.factor * (1 + self.cycle * math.sin(self.phase + 2 * math.pi * (begin - self.start) / self.cycle_length))
            mean *= math.exp(0.1 * r.gauss(0, 1))
            number = max(0, round(mean + math.sqrt(mean) * r.gauss(0, 1)))
            weights = [each.weight * math.exp(0.1 * r.gauss(0, 1)) for each in self.kinds]
            times = sorted(begin + r.random() * MINUTE for _ in range(number))
            for t, kind in zip(times, r.choices(self.kinds, weights, k=number)):
                message = kind.message(r)
                if self.damage and r.random() < self.damage:
                    message = "".join(chr(r.randrange(128, 255)) for _ in range(len(message)))
                yield t, self.line(r, t, kind.level, message)
            for period, offset, lines, message in self.jobs:
                if (minute - offset) % period == 0:
                    for _ in range(lines):
                        t = begin + 59.9
                        yield t, self.line(r, t, "INFO", message)

    def write(self, folder, files=3):
        """Into rotated files; the older ones are compressed."""
        path = pathlib.Path(folder) / self.name
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = [(line + "\n").encode("latin-1") for _, line in self.lines()]
        for i in range(files):
            part = b"".join(whole[len(whole) * i // files:len(whole) * (i + 1) // files])
            number = files - 1 - i
            if number == 0:
                path.write_bytes(part)
            elif number == 1:
                path.with_name(path.name + ".1").write_bytes(part)
            else:
                path.with_name(f"{path.name}.{number}.gz").write_bytes(gzip.compress(part, 1, mtime=0))
        return whole


def fault(service, minute, text, **more):
    return {"stream": service.name, "start": START + minute * MINUTE, "text": text, **more}


def services(folder, scale=1.0):
    """20 services of 8 hours; returns the 8 faults."""
    made = []
    for i in range(20):
        form = FORMS[i % len(FORMS)]
        made.append(Service(f"service{i:02}/app.log", i, form, rate=130 * scale))
        made[-1].jobs = [(60, 7 * i % 60, max(1, int(5 * scale)), "200" if form is as_access else "hourly job is done")]
    found = []

    def plan(number, minute, text, on_minute):
        found.append(fault(made[number], minute, text))
        made[number].on_minute = on_minute

    def access_burst(minute):
        # 143 lines among 14,000 of an hour
        made[0].kinds[4].weight = 143 / 230 * 100 if minute == 200 else 0.02
        made[0].factor = 1.6 if minute == 200 else 1
    plan(0, 200, " 502 ", access_burst)
    made[0].rate = 230 * scale

    timed_out = Kind(0, "ERROR", lambda r: f"upstream timed out 198.51.100.{r.randrange(256)}:443")
    made[1].kinds.append(timed_out)

    def new_kind(minute):
        timed_out.weight = 0.14 * 310 if minute >= 310 else 0
    plan(1, 310, "upstream timed out", new_kind)

    heartbeat = Kind(20, "INFO", lambda r: "heartbeat of the leader")
    made[2].kinds.append(heartbeat)

    def vanishes(minute):
        heartbeat.weight = 0 if minute >= 250 else 20
    plan(2, 250, "heartbeat of the leader", vanishes)

    took = [Kind(60, "INFO", lambda r: f"took {r.randrange(10, 99)} ms, read {r.randrange(10, 99)} bytes"),
            Kind(0, "INFO", lambda r: f"took {r.randrange(10**14, 10**15)} ms, read {r.randrange(10**14, 10**15)} bytes")]
    made[3].kinds[0:1] = took

    def longer(minute):
        took[0].weight, took[1].weight = (0, 60) if minute >= 350 else (60, 0)
    plan(3, 350, "", longer)

    def errors(minute):
        made[4].kinds[9].weight = 35 if 150 <= minute < 175 else 1.5
    plan(4, 150, "ERROR", errors)

    def storm(minute):
        made[5].factor = 4 if 400 <= minute < 420 else 1
    plan(5, 400, "", storm)

    def silence(minute):
        made[6].factor = 0 if 100 <= minute < 140 else 1
    plan(6, 100, "", silence)

    def damage(minute):
        made[7].damage = 0.08 if minute >= 280 else 0
    plan(7, 280, "", damage)
    for each in made:
        each.write(folder)
    return found


def quiet(folder, scale=1.0):
    """200 services without a fault."""
    for i in range(200):
        form = FORMS[i % len(FORMS)]
        length, cycle = (2 * DAY, 0.6) if i % 3 == 0 else (8 * HOUR, 0.3)
        rate = scale * (1 + i % 7) * (2 if length == 8 * HOUR else 0.5)
        service = Service(f"quiet{i:03}/app.log", 1000 + i, form, rate, length=length, cycle=cycle, cycle_length=DAY)
        message = "200" if form is as_access else "the job has read 12 files"
        if i % 4 == 1:
            service.jobs = [(60, i % 60, 5, message)]
        if i % 4 == 2 and length == 2 * DAY:
            service.jobs = [(DAY // MINUTE // 2, 180, 30, message)]
        if i % 25 == 3:
            service.rate = 30 / (length / MINUTE)  # 30 lines
        if i % 25 == 4:
            plain = random.Random(i)
            service.line = lambda r, t, level, message: f"{level} {message}, {plain.randrange(1000)} left"
        service.write(folder, files=1 + i % 3)
    (pathlib.Path(folder) / "empty.log").write_bytes(b"")
    return []


def drift(folder, scale=1.0):
    """30 days of a service, in a file each: misses of its cache from 3 to 12 % of the lines."""
    service = Service("cache", 5, as_logfmt, rate=12 * scale, length=30 * DAY, cycle=0.6, cycle_length=DAY)
    misses = Kind(0, "INFO", lambda r: f"cache miss of key {r.randrange(10**6)}")
    service.kinds.append(misses)
    others = sum(each.weight for each in service.kinds)

    def slowly(minute):
        share = 0.03 + 0.09 * max(0, minute / 1440 - 5) / 25
        misses.weight = others * share / (1 - share)
    service.on_minute = slowly
    days = {}
    for t, line in service.lines():
        days.setdefault(int((t - START) // DAY), []).append(line)
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for day, lines in days.items():
        name = "cache-" + text_of(START + day * DAY, "%Y%m%d") + ".log"
        (pathlib.Path(folder) / name).write_text("\n".join(lines) + "\n")
    return [{"stream": "cache.log", "start": START + 5 * DAY, "text": "cache miss"}]


if __name__ == "__main__":
    make = {"services": services, "quiet": quiet, "drift": drift}[sys.argv[1]]
    print(json.dumps(make(sys.argv[2], float(sys.argv[3]) if len(sys.argv) > 3 else 1.0), indent=1))
