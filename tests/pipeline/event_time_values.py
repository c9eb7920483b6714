"""Prints event_time_values.hpp: lines of logs and the times that they state, computed by Python's datetime and zoneinfo.

    python3 event_time_values.py > event_time_values.hpp
"""

import datetime
import zoneinfo

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
BERLIN = "Europe/Berlin"
MICROSECOND = datetime.timedelta(microseconds=1)


def at(year, month, day, hour=0, minute=0, second=0, fraction="", zone=UTC, fold=0):
    """Nanoseconds since 1970 UTC. `fraction`: digits; `zone`: a time zone, its name, or hours east of UTC."""
    if isinstance(zone, str):
        zone = zoneinfo.ZoneInfo(zone)
    elif isinstance(zone, (int, float)):
        zone = datetime.timezone(datetime.timedelta(hours=zone))
    time = datetime.datetime(year, month, day, hour, minute, second, tzinfo=zone, fold=fold)
    return (time.astimezone(UTC) - EPOCH) // MICROSECOND * 1000 + int(fraction.ljust(9, "0")[:9] or 0)


NOON = at(2025, 10, 10, 13, 55, 36)
REFERENCE = at(2025, 11, 1)
rows = []


def row(format_name, line, nanoseconds, typed="", zone="", reference=REFERENCE):
    rows.append((format_name, typed, zone, reference, line, nanoseconds))


def iso():
    east = at(2025, 10, 10, 13, 55, 36, zone=2)
    for line, expected in [
        ("2025-10-10T13:55:36Z", NOON),
        ("2025-10-10t13:55:36z x", NOON),
        ("2025-10-10 13:55:36", NOON),
        ("2025-10-10_13:55:36", NOON),
        ("2025-10-10\t13:55:36\tLAX1\t10.0.0.1", NOON),
        ("2025-10-10 13:55:36\r", NOON),
        ("2025-10-10T13:55:36.1Z stdout F text", at(2025, 10, 10, 13, 55, 36, "1")),
        ("2025-10-10T13:55:36.123456Z", at(2025, 10, 10, 13, 55, 36, "123456")),
        ("2025-10-10T13:55:36.123456789Z", at(2025, 10, 10, 13, 55, 36, "123456789")),
        ("2025-10-10T13:55:36.9999999999999Z", at(2025, 10, 10, 13, 55, 36, "999999999")),
        ("2025-10-10 13:55:36,123 INFO x", at(2025, 10, 10, 13, 55, 36, "123")),
        ("2025-10-10 13:55:36, Info CBS", NOON),
        ("2025-10-10 13:55:36. Next", NOON),
        ("2025-10-10T13:55:36+02:00", east),
        ("2025-10-10T13:55:36+0200", east),
        ("2025-10-10T13:55:36+02", east),
        ("2025-10-10 13:55:36 +0200", east),
        ("2025-10-10 13:55:36.5 +0200 CEST m=+0.001", at(2025, 10, 10, 13, 55, 36, "5", zone=2)),
        ("2025-10-10 13:55:36 UTC [123] LOG", NOON),
        ("2025-10-10 13:55:36 GMT", NOON),
        ("2025-10-10 13:55:36 GMT+0200", east),
        ("2025-10-10T13:55:36-05:30", at(2025, 10, 10, 13, 55, 36, zone=-5.5)),
        ("2025-10-10 13:55:36-worker", NOON),
        ("2025-10-10 13:55:36 -12345 items", NOON),
        ("2025-10-10T13:55:36+25:00", NOON),
        ("[2025-10-10 13:55:36] x", NOON),
        ("(2025-10-10 13:55:36) x", NOON),
        ('"2025-10-10 13:55:36",1', NOON),
        ("<165>1 2025-10-10T13:55:36.003Z host app - ID47 - text", at(2025, 10, 10, 13, 55, 36, "003")),
        ("INFO 2025-10-10 13:55:36,123 [main]", at(2025, 10, 10, 13, 55, 36, "123")),
        ("ts=2025-10-10T13:55:36Z level=info", NOON),
        ('level=info time="2025-10-10T13:55:36+02:00" msg=x', east),
        (" " * 63 + "2025-10-10T13:55:36Z", NOON),
        ("1.2-3 2025-10-10T13:55:36Z", NOON),
        ("20251010T135536Z x", NOON),
        ("20251010T135536.25+0200", at(2025, 10, 10, 13, 55, 36, "25", zone=2)),
        ("at 20251010T135536", NOON),
        ("2024-02-29 00:00:00", at(2024, 2, 29)),
        ("2000-02-29 23:59:59", at(2000, 2, 29, 23, 59, 59)),
        ("2016-12-31T23:59:60Z", at(2017, 1, 1)),
        ("2016-12-31T23:59:60.5Z", at(2017, 1, 1, 0, 0, 0, "5")),
        ("2025-10-10T13:55:60Z", at(2025, 10, 10, 13, 56)),
        ("1970-01-01T00:00:00Z", 0),
        ("2025-10-10T13:55:36Z - [10/Oct/2024:13:55:36 +0000]", NOON),
    ]:
        row("iso", line, expected)
    row("iso", "2261-12-31T23:59:59.999999999Z", at(2261, 12, 31, 23, 59, 59, "999999999"), reference=0)


def other_formats():
    west = at(2025, 10, 10, 13, 55, 36, zone=-7)
    for format_name, line, expected in [
        ("slashes", "2025/10/10 13:55:36 [error] 1#1: x", NOON),
        ("slashes", "2025/10/10 13:55:36.000123 main.go:1: x", at(2025, 10, 10, 13, 55, 36, "000123")),
        ("slashes", "2025/10/10-13:55:36.5 7f00 [db]", at(2025, 10, 10, 13, 55, 36, "5")),
        ("slashes", "[2025/10/10 13:55:36] 2024-01-01 00:00:00", NOON),
        ("clf", '10.0.0.1 - - [10/Oct/2025:13:55:36 -0700] "GET / HTTP/1.1" 200', west),
        ("clf", '::1 - [x] [10/Oct/2025:13:55:36 -0700] "GET /?2025-10-10T00:00:00Z', west),
        ("clf", "[10/Oct/2025:13:55:36 -0700] x", west),
        ("clf", "fe80::1 [1/2] [10/Oct/2025:13:55:36.123] front back", at(2025, 10, 10, 13, 55, 36, "123")),
        ("clf", "x" * 255 + "[10/Oct/2025:13:55:36 +0000]", NOON),
        ("syslog", "Oct 10 13:55:36 host app[1]: 2024-01-01T00:00:00Z", NOON),
        ("syslog", "Oct  1 13:55:36 host app[1]: x", at(2025, 10, 1, 13, 55, 36)),
        ("syslog", "Oct 01 13:55:36.25 host", at(2025, 10, 1, 13, 55, 36, "25")),
        ("syslog", "<34>Oct 10 13:55:36 host su: x", NOON),
        ("ctime", "Fri Oct 10 13:55:36 2025 x", NOON),
        ("ctime", "[Fri Oct 10 13:55:36.123456 2025] [core:error] x", at(2025, 10, 10, 13, 55, 36, "123456")),
        ("ctime", "Wed Oct  1 13:55:36 UTC 2025", at(2025, 10, 1, 13, 55, 36)),
        ("ctime", "Fri Oct 10 13:55:36 CEST 2025", NOON),
        ("ctime", "Fri Oct 10 13:55:36 -0700 2025", west),
        ("rfc2822", "Fri, 10 Oct 2025 13:55:36 -0700", west),
        ("rfc2822", "Fri, 10 Oct 2025 13:55:36 GMT", NOON),
        ("rfc2822", "Wed, 1 Oct 2025 13:55:36 +0000", at(2025, 10, 1, 13, 55, 36)),
        ("glog", "I1010 13:55:36.123456   77 file.cc:1] x", at(2025, 10, 10, 13, 55, 36, "123456")),
        ("glog", "E20241010 13:55:36.123456   77 file.cc:1] x", at(2024, 10, 10, 13, 55, 36, "123456")),
        ("dmesg", "[12345.678901] usb 1-1: x", 12345678901000),
        ("dmesg", "[    0.000000] Linux version 6.1", 0),
        ("dmesg", "<6>[  999.000001] x", 999000001000),
        ("epoch", "1760104536 x", NOON),
        ("epoch", "1760104536", NOON),
        ("epoch", "1760104536.123    7 10.0.0.1 TCP_MISS", NOON + 123000000),
        ("epoch", "1760104536.1234567891,x", NOON + 123456789),
        ("epoch", "1760104536123\tx", NOON + 123000000),
        ("epoch", "[1760104536123456] x", NOON + 123456000),
        ("epoch", "1760104536123456789", NOON + 123456789),
        ("us", "10/10/2025 1:55:36 PM: x", NOON),
        ("us", "10/10/2025 13:55:36 x", NOON),
        ("us", "3/4/2025, 12:00:01 AM", at(2025, 3, 4, 0, 0, 1)),
        ("us", "3/4/2025 12:00:01 PM", at(2025, 3, 4, 12, 0, 1)),
        ("dmy", "10 Oct 2025 13:55:36 x", NOON),
        ("dmy", "1-Oct-2025 13:55:36.123 queries: info: x", at(2025, 10, 1, 13, 55, 36, "123")),
        ("dmy", "7:M 10 Oct 2025 13:55:36.123 * Ready", at(2025, 10, 10, 13, 55, 36, "123")),
        ("dmy", "1234567:C 01 Oct 2025 13:55:36.5 # x 2024-01-01 00:00:00", at(2025, 10, 1, 13, 55, 36, "5")),
        ("dmy", "[10-Oct-2025 13:55:36 UTC] PHP Notice: x", NOON),
        ("dmy", "10-Oct-2025 13:55:36 -0700", west),
        ("mdy", "Oct 10, 2025 1:55:36 PM org.example.Main main", NOON),
        ("mdy", "Oct 1, 2025, 12:00:01 AM", at(2025, 10, 1, 0, 0, 1)),
        ("mdy", "Oct 10, 2025 13:55:36.25 x", at(2025, 10, 10, 13, 55, 36, "25")),
        ("json", '{"time":"2025-10-10T13:55:36Z","level":"INFO"}', NOON),
        ("json", ' { "ts" : 1760104536.123 , "x": 1}', NOON + 123000000),
        ("json", '{"level":30,"time":1760104536123,"pid":1}', NOON + 123000000),
        ("json", '{"t":1760104536123456}', NOON + 123456000),
        ("json", '{"t":1760104536123456789}', NOON + 123456789),
        ("json", '{"t":1.760104536123E9}', NOON + 123000000),
        ("json", '{"t":99999999999}', None),
        ("json", '{"t":100000000000}', 100000000000 * 10**6),
        ("json", '{"t":0}', 0),
        ("json", '{"date":"Fri, 10 Oct 2025 13:55:36 GMT"}', NOON),
        ("json", '{"x":{"timestamp":"2024-01-01T00:00:00Z"},"@timestamp":"2025-10-10T13:55:36Z"}', NOON),
        ("json", '{"time":"2024-01-01T00:00:00Z","timestamp":"2025-10-10T13:55:36Z"}', NOON),
        ("json", '{"t":"trace","ts":"2025-10-10T13:55:36\\u005a"}', NOON),
        ("json", '{"n":1e999,"msg":"a\\"b","date":"10\\/10\\/2025 13:55:36"}', NOON),
        ("json", '{"timestamp":"2025-10-10T13:55:36Z","truncated', NOON),
        ("json", '{"time":"2025-10-10T13:55:36Z","time":"2024-10-10T13:55:36Z"}', NOON),
        ("json", '{"timestamp":"[10/Oct/2025:13:55:36 -0700]"}', west),
    ]:
        row(format_name, line, expected)


def zones():
    for line, expected in [
        ("2025-01-10 13:55:36", at(2025, 1, 10, 13, 55, 36, zone=BERLIN)),
        ("2025-07-10 13:55:36", at(2025, 7, 10, 13, 55, 36, zone=BERLIN)),
        ("2025-07-10 13:55:36 CEST", at(2025, 7, 10, 13, 55, 36, zone=BERLIN)),
        ("2025-07-10 13:55:36 UTC", at(2025, 7, 10, 13, 55, 36)),
        ("2025-07-10T13:55:36+05:00", at(2025, 7, 10, 13, 55, 36, zone=5)),
        ("2025-03-30 01:59:59", at(2025, 3, 30, 1, 59, 59, zone=BERLIN)),
        ("2025-03-30 02:00:00", at(2025, 3, 30, 2, zone=BERLIN)),
        ("2025-03-30 02:30:00", at(2025, 3, 30, 2, 30, zone=BERLIN)),
        ("2025-03-30 03:00:00", at(2025, 3, 30, 3, zone=BERLIN)),
        ("2025-10-26 01:59:59", at(2025, 10, 26, 1, 59, 59, zone=BERLIN)),
        ("2025-10-26 02:00:00", at(2025, 10, 26, 2, zone=BERLIN)),
        ("2025-10-26 02:59:59", at(2025, 10, 26, 2, 59, 59, zone=BERLIN)),
        ("2025-10-26 03:00:00", at(2025, 10, 26, 3, zone=BERLIN)),
    ]:
        row("iso", line, expected, zone=BERLIN)
    row("syslog", "Jul 10 13:55:36 host", at(2025, 7, 10, 13, 55, 36, zone="America/New_York"), zone="America/New_York")
    row("clf", "[10/Oct/2025:13:55:36 -0700]", at(2025, 10, 10, 13, 55, 36, zone=-7), zone=BERLIN)
    row("epoch", "1760104536", NOON, zone=BERLIN)
    row("iso", "2025-07-10 13:55:36", at(2025, 7, 10, 13, 55, 36, zone="Asia/Kolkata"), zone="Asia/Kolkata")
    row("iso", "2025-07-10 13:55:36", at(2025, 7, 10, 13, 55, 36, zone=-5), zone="Etc/GMT+5")
    for month in range(1, 13):
        for day in (1, 28):
            for zone in ("Australia/Lord_Howe", "America/St_Johns"):
                row("iso", f"2019-{month:02}-{day:02} 02:10:00", at(2019, month, day, 2, 10, zone=zone), zone=zone)


def years():
    january = at(2026, 1, 5)
    row("syslog", "Dec 31 23:59:59 host", at(2025, 12, 31, 23, 59, 59), reference=january)
    row("syslog", "Jan  5 23:59:59 host", at(2026, 1, 5, 23, 59, 59), reference=january)
    row("syslog", "Jan  6 00:00:00 host", at(2026, 1, 6), reference=january)
    row("syslog", "Jan  6 00:00:01 host", at(2025, 1, 6, 0, 0, 1), reference=january)
    row("glog", "W1231 23:59:59.000001 1 a.cc:1] x", at(2025, 12, 31, 23, 59, 59, "000001"), reference=january)
    row("glog", "F0101 00:00:00.000000 1 a.cc:1] x", at(2026, 1, 1), reference=january)
    row("syslog", "Jan  1 00:30:00 host", at(2026, 1, 1, 0, 30, zone=BERLIN), zone=BERLIN, reference=at(2025, 12, 31, 23, 30))
    row("syslog", "Jan  1 08:00:00 host", at(2026, 1, 1, 8, zone="Asia/Tokyo"), zone="Asia/Tokyo", reference=at(2025, 12, 30, 23))
    row("syslog", "Feb 29 12:00:00 host", at(2024, 2, 29, 12), reference=january)
    row("syslog", "Feb 29 12:00:00 host", at(2096, 2, 29, 12), reference=at(2104, 1, 1))
    row("syslog", "Feb 29 12:00:00 host", at(2104, 2, 29, 12), reference=at(2104, 3, 1))
    row("syslog", "Dec 31 23:59:60 host", at(2026, 1, 1), reference=january)


def typed_formats():
    day = at(2025, 10, 10)
    for typed, line, expected in [
        ("%Y-%m-%d %H:%M:%S", "2025-10-10 13:55:36 x", NOON),
        ("%F %T.%f", "2025-10-10   13:55:36.25", at(2025, 10, 10, 13, 55, 36, "25")),
        ("%d.%m.%Y %T", "10.10.2025 13:55:36", NOON),
        ("%d.%m.%y %T", "1.10.25 3:5:06", at(2025, 10, 1, 3, 5, 6)),
        ("%y%m%d %H%M%S", "251010 135536 INFO", NOON),
        ("%y%m%d", "691010", None),
        ("%Y%j", "2024366", at(2024, 12, 31)),
        ("%Y-%j", "2025-060", at(2025, 3, 1)),
        ("%a %b %e %T %Y", "Friday October 10 13:55:36 2025", NOON),
        ("%b %e %T", "OCT  1 13:55:36", at(2025, 10, 1, 13, 55, 36)),
        ("%F %I:%M:%S %p", "2025-10-10 01:55:36 pm", NOON),
        ("%F %I %p", "2025-10-10 12 AM", day),
        ("%F %T %z", "2025-10-10 13:55:36 +02:00", at(2025, 10, 10, 13, 55, 36, zone=2)),
        ("%F %T %Z", "2025-10-10 13:55:36 CEST", NOON),
        ("%s.%f", "1760104536.5 x", NOON + 500000000),
        ("100%% %F", "100% 2025-10-10", day),
        ("*[%d/%b/%Y:%T %z]", '1.1.1.1 - [a] [10/Oct/2025:13:55:36 -0700] "GET"', at(2025, 10, 10, 13, 55, 36, zone=-7)),
        ("*%d/%m/%Y", "x 99 10/10/2025", day),
    ]:
        row("", line, expected, typed=typed)
    for typed, line in [
        ("json:a.b", '{"a":{"b":1},"a.b":"2025-10-10T13:55:36Z"}'),
        ("json:time", '{"timestamp":"2024-01-01T00:00:00Z","time":"2025-10-10T13:55:36Z"}'),
        ("json:/a/b", '{"a":{"c":1,"b":"2025-10-10T13:55:36Z"}}'),
        ("json:/a~1b~0/1/x", '{"a":{},"a/b~":[[1,2],{"y":[],"x":1760104536}]}'),
        ("json:/", '{"":1760104536}'),
        ("json:k\u00e9\"", '{"k\\u00e9\\"":"2025-10-10 13:55:36"}'),
    ]:
        row("json", line, NOON, typed=typed)
    row("iso", "Oct 10 13:55:36 2025-10-10T13:55:36Z", NOON, typed="iso")
    row("clf", "2024-01-01T00:00:00Z [10/Oct/2025:13:55:36 +0000]", NOON, typed="clf")
    row("iso", '{"x":"2025-10-10T13:55:36Z"}', NOON, typed="iso")


def quoted(text):
    made = []
    for byte in text.encode():
        if byte in b'"\\':
            made.append("\\" + chr(byte))
        else:
            made.append(chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}")
    return '"' + "".join(made) + '"'


def main():
    for table in (iso, other_formats, zones, years, typed_formats):
        table()
    print("""// Generated by event_time_values.py. Do not edit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuhist::test {

/// A line, and the time that it states in nanoseconds since 1970 UTC; nothing: it is implausible.
struct line_with_time {
  std::string_view format_name;  ///< empty: a pattern
  std::string_view typed;
  std::string_view zone;
  std::int64_t reference;
  std::string_view line;
  std::optional<std::int64_t> nanoseconds;
};

// clang-format off
// NOLINTBEGIN(modernize-raw-string-literal)""")
    print(f"inline constexpr std::array<line_with_time, {len(rows)}> lines_with_time = {{{{")
    for format_name, typed, zone, reference, line, nanoseconds in rows:
        expected = "std::nullopt" if nanoseconds is None else nanoseconds
        print(f"    {{{quoted(format_name)}, {quoted(typed)}, {quoted(zone)}, {reference}, {quoted(line)}, {expected}}},")
    print("}};\n// NOLINTEND(modernize-raw-string-literal)\n// clang-format on\n\n}  // namespace gpuhist::test")


main()
