// Times in lines of logs, compared with values that Python's datetime and zoneinfo computed (event_time_values.py), and
// the invariant that a line has the same time whatever lines were read before.
#include "report/lines/event_times.hpp"

#include "config/usage_error.hpp"

#include "event_time_values.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::test {
namespace {

using report::lines::event_time_formats;
using report::lines::event_time_reader;
using report::lines::event_times;
using kind = event_time_reader::kind;

constexpr std::int64_t november_2025 = 1'761'955'200'000'000'000;
constexpr std::int64_t noon = 1'760'104'536'000'000'000;  // 2025-10-10 13:55:36 UTC

using found = std::pair<kind, std::int64_t>;

found read(event_time_reader& reader, std::string_view line) {
  const event_time_reader::outcome made = reader.read(line);
  return {made.is, made.nanoseconds};
}

found read_alone(const event_times& settings, std::string_view line, std::int64_t reference = november_2025) {
  event_time_reader reader(settings, reference);
  return read(reader, line);
}

found expected_of(const line_with_time& row) {
  return row.nanoseconds ? found(kind::time, *row.nanoseconds) : found(kind::implausible, 0);
}

event_times settings_of(std::string_view format, std::string_view zone = {}) {
  return event_times({.format = std::string(format), .time_zone = std::string(zone)});
}

std::string error_of(std::string_view format, std::string_view zone = {}) {
  try {
    settings_of(format, zone);
  } catch (const config::usage_error& error) {
    return error.what();
  }
  return "";
}

constexpr std::array<std::string_view, 66> lines_without_time = {
    "",
    "\r",
    " ",
    "[",
    "(",
    "{",
    "<",
    "\xff\xfe\xfd",
    "a line of words",
    "\tat java.base/java.lang.Thread.run(Thread.java:833)",
    "Caused by: java.lang.IllegalStateException: [x] - y",
    "  File \"/usr/lib/python3.11/json/decoder.py\", line 337, in decode",
    "goroutine 1 [running]:",
    "10.0.0.1",
    "192.168.100.200 - - x",
    "1.2.3-4 released",
    "version 2025-10-10 of the program",
    "0x1760104536",
    "deadbeefdeadbeef",
    "550e8400-e29b-41d4-a716-446655440000",
    "12345678901",
    "123456789",
    "12345678901234567890",
    "1760104536x",
    "1760104536123456789x",
    "1760104536.5x",
    "2025-13-01 00:00:00",
    "2025-00-01 00:00:00",
    "2025-02-30 00:00:00",
    "2025-02-29 00:00:00",
    "1900-02-29 00:00:00",
    "2025-04-31 00:00:00",
    "2025-10-10 24:00:00",
    "2025-10-10 23:60:00",
    "2025-10-10 23:59:61",
    "2025-10-10 13:55",
    "2025-10-10 13:55:367",
    "2025-10-10",
    "2025-10-10  13:55:36",
    "12025-10-10 13:55:36",
    "x2025-10-10 13:55:36",
    "-2025-10-10 13:55:36",
    "/2025-10-10 13:55:36",
    ".2025-10-10 13:55:36",
    "                                                                2025-10-10T13:55:36Z",
    "20251010T1355",
    "20251010T135536789",
    "20251310T135536",
    "2025/02/29 00:00:00",
    "2025/10/10",
    "[31/Feb/2025:13:55:36 -0700]",
    "[10/Okt/2025:13:55:36 -0700]",
    "Oct 32 13:55:36 host",
    "Feb 30 13:55:36 host",
    "Oct 10 24:00:00 host",
    "Fri Oct 10 13:55:36 x2025",
    "Fri, 31 Feb 2025 13:55:36 +0000",
    "I1310 13:55:36.123456",
    "X1010 13:55:36.123456",
    "I1010 13:55:36",
    "[12345.67]",
    "[12345.678901",
    "13/10/2025 13:55:36",
    "10/10/2025 13:55:36 PM",
    R"({"msg":"2025-10-10T13:55:36Z"})",
    R"({"time":null,"ts":true,"t":"x","date":[1760104536]})"};

// Lines of all kinds that are read without a typed format.
std::vector<std::string> mixed_lines() {
  std::vector<std::string> made(lines_without_time.begin(), lines_without_time.end());
  for (const line_with_time& each : lines_with_time) {
    if (each.typed.empty()) made.emplace_back(each.line);
  }
  return made;
}

std::string mutated(std::string line, std::mt19937& random) {
  constexpr std::string_view likely = "0123456789-:/.,TZ+ []{}\"\\<>%\n";
  for (auto edits = random() % 3 + 1; edits > 0; --edits) {
    const std::size_t at = line.empty() ? 0 : random() % line.size();
    const char byte = random() % 4 == 0 ? static_cast<char>(random() % 256) : likely[random() % likely.size()];
    const auto edit = random() % 4;
    if (edit == 0) line.insert(at, 1, byte);
    if (edit == 1 && !line.empty()) line[at] = byte;
    if (edit == 2 && !line.empty()) line.erase(at, 1);
    if (edit == 3) line.resize(at);
  }
  return line;
}

}  // namespace

TEST_CASE("a line states the time that Python computes") {
  for (const line_with_time& row : lines_with_time) {
    CAPTURE(row.line);
    CAPTURE(row.typed);
    CAPTURE(row.zone);
    const event_times settings = settings_of(row.typed, row.zone);
    event_time_reader reader(settings, row.reference);
    CHECK(read(reader, row.line) == expected_of(row));
    if (row.format_name.empty()) {
      CHECK(!reader.last_format());
    } else {
      REQUIRE(reader.last_format());
      CHECK(event_time_formats()[*reader.last_format()].name == row.format_name);
    }
  }
}

TEST_CASE("a typed format gives the time that the line has without it, and no other format has one at its beginning") {
  for (const line_with_time& row : lines_with_time) {
    if (!row.typed.empty()) continue;
    CAPTURE(row.line);
    CHECK(read_alone(settings_of(row.format_name, row.zone), row.line, row.reference) == expected_of(row));
    for (const auto& other : event_time_formats()) {
      CAPTURE(other.name);
      const bool may_be_elsewhere = other.name == "iso" || other.name == "clf" || row.format_name == "clf";
      if (other.name == row.format_name || may_be_elsewhere) continue;
      CHECK(read_alone(settings_of(other.name), row.line).first == kind::none);
    }
  }
}

TEST_CASE("words, addresses, versions, stack traces and impossible dates are no time") {
  const event_times settings = settings_of("");
  for (const std::string_view line : lines_without_time) {
    CAPTURE(line);
    CHECK(read_alone(settings, line).first == kind::none);
  }
}

TEST_CASE("a line has the same time whatever lines the reader has read before") {
  for (const std::string_view zone : {"", "Europe/Berlin", "Australia/Lord_Howe"}) {
    const event_times settings = settings_of("", zone);
    std::vector<std::string> lines = mixed_lines();
    std::map<std::string, found> alone;
    for (const std::string& line : lines) alone[line] = read_alone(settings, line);
    event_time_reader reader(settings, november_2025);
    std::mt19937 random(7);
    for (int round = 0; round < 20; ++round) {
      std::ranges::shuffle(lines, random);
      for (const std::string& line : lines) {
        CAPTURE(line);
        CHECK(read(reader, line) == alone[line]);
      }
    }
  }
}

TEST_CASE("lines of the same minute have the times that they have alone, whatever follows the minute") {
  constexpr std::array<std::string_view, 9> minutes{
      "2025-10-10-13:55:", "2025-13-10T13:55:", "2025-10-10,13:55:",  "2025-10-10T13:55:", "2025-10-10 13:55:",
      "1969-12-31T23:59:", "2025-12-31T23:59:", "[2025-10-10 13:55:", "25-10-10T13:55:"};
  constexpr std::array<std::string_view, 9> seconds{"00", "36", "59", "60", "61", "5", "", "7:", "365"};
  constexpr std::array<std::string_view, 7> fractions{"", ".5", ",123", ".", ",x", ".123456789012", ".5,5"};
  constexpr std::array<std::string_view, 20> zones{" 2025-10-01T00:00:05Z",
                                                   "Z 2025-10-01T00:07:05 x",
                                                   "Z ",
                                                   "Z",
                                                   " INFO x",
                                                   " UTC x",
                                                   " GMT+0200",
                                                   " +0200 x",
                                                   "+02:00",
                                                   "-02 x",
                                                   " -0200",
                                                   " Z x",
                                                   " Zebra",
                                                   " Update",
                                                   "z x",
                                                   "Zebra",
                                                   "",
                                                   " ",
                                                   "\t+0200",
                                                   "] x"};
  for (const std::string_view zone : {"", "Europe/Berlin"}) {
    const event_times settings = settings_of("", zone);
    event_time_reader reader(settings, november_2025);
    std::mt19937 random(13);
    const auto one_of = [&random](const auto& all) { return std::string(all[random() % all.size()]); };
    for (int round = 0; round < 40'000; ++round) {
      const std::string line = one_of(minutes) + one_of(seconds) + one_of(fractions) + one_of(zones);
      const found seen = read(reader, line);
      if (read_alone(settings, line) != seen) FAIL(line);
    }
  }
  const event_times settings = settings_of("");
  event_time_reader untouched(settings, november_2025);
  CHECK(read(untouched, std::string(17, '\0') + "30 INFO").first == kind::none);
}

TEST_CASE("local times near each change of the clock are the same after any other time") {
  for (const std::string_view zone : {"Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns", "Asia/Kolkata"}) {
    const event_times settings = settings_of("", zone);
    event_time_reader reader(settings, november_2025);
    std::mt19937 random(9);
    const auto below = [&random](std::uint32_t bound) { return static_cast<int>(random() % bound); };
    for (int round = 0; round < 20'000; ++round) {
      constexpr std::array<std::string_view, 4> days{"2019-03-31", "2019-10-27", "2019-10-06", "2019-11-03"};
      std::string line(days[static_cast<std::size_t>(below(4))]);
      if (below(2) == 0) line.replace(8, 2, "0" + std::to_string(below(9) + 1));
      line += " 0" + std::to_string(below(5)) + ":" + std::to_string(below(5) + 1) + "0:00";
      CAPTURE(line);
      const found expected = read_alone(settings, line);
      CHECK(read(reader, line) == expected);
    }
  }
}

TEST_CASE("times before 1970, after 2261 or ten years after the reference are implausible") {
  const event_times settings = settings_of("");
  const found implausible(kind::implausible, 0);
  CHECK(read_alone(settings, "1969-12-31T23:59:59Z", 0) == implausible);
  CHECK(read_alone(settings, "1970-01-01T00:30:00+01:00", 0) == implausible);
  CHECK(read_alone(settings, "0001-01-01 00:00:00", 0) == implausible);
  CHECK(read_alone(settings, "2262-01-01T00:00:00Z", 0) == implausible);
  CHECK(read_alone(settings, "9999999999", 0) == implausible);
  CHECK(read_alone(settings, R"({"t":-1})", 0) == implausible);
  CHECK(read_alone(settings, R"({"t":1e300})", 0) == implausible);
  CHECK(read_alone(settings, "2036-01-01T00:00:00Z") == implausible);
  CHECK(read_alone(settings, "2035-01-01T00:00:00Z").first == kind::time);
  CHECK(read_alone(settings, "2036-01-01T00:00:00Z", 0).first == kind::time);
  CHECK(read_alone(settings_of("", "Europe/Berlin"), "0000-01-01 00:00:00", 0) == implausible);
  CHECK(read_alone(settings_of("", "Europe/Berlin"), "9999-12-31 00:00:00", 0) == implausible);
}

TEST_CASE("a time without year is implausible without reference") {
  CHECK(read_alone(settings_of(""), "Oct 10 13:55:36 host", 0).first == kind::implausible);
}

TEST_CASE("the order of the members of JSON does not matter, nor what other members hold") {
  const event_times settings = settings_of("");
  std::vector<std::string> members = {R"("time":"2024-01-01T00:00:00Z")",
                                      R"("timestamp":"2025-10-10T13:55:36Z")",
                                      R"("@timestamp":1)",
                                      R"("t":[{"timestamp":1},"}\"{"])",
                                      R"("date":"no")",
                                      R"("msg":"\"timestamp\":\"1999-01-01T00:00:00Z\" \\")",
                                      R"("n":-1.5e+400)"};
  std::ranges::sort(members);
  do {
    std::string line = "{";
    for (const std::string& each : members) line += (line.size() > 1 ? ", " : "") + each;
    line += "}";
    CAPTURE(line);
    CHECK(read_alone(settings, line) == found(kind::time, noon));
  } while (std::ranges::next_permutation(members).found);
}

TEST_CASE("the first member of JSON has the time that it has as a later member") {
  const event_times settings = settings_of("");
  for (const std::string_view key : {"timestamp", "@timestamp", "time", "ts", "t", "date"}) {
    for (const line_with_time& row : lines_with_time) {
      if (!row.typed.empty() || row.format_name == "json" || row.line.find_first_of("\"\\\t\r") != std::string::npos) {
        continue;
      }
      const std::string member = "\"" + std::string(key) + "\":\"" + std::string(row.line) + "\"";
      CAPTURE(member);
      const found expected = expected_of(row);
      if (!row.zone.empty() || row.reference != november_2025) continue;
      CHECK(read_alone(settings, "{" + member + "}") == expected);
      CHECK(read_alone(settings, "{\"x\":{\"y\":1}, " + member + "}") == expected);
      CHECK(read_alone(settings, "{\"x\":0," + member + ",\"more\":\"timestamp\"}") == expected);
    }
  }
}

TEST_CASE("a JSON line above 1 MiB has a time only in its first member") {
  const event_times settings = settings_of("");
  const std::string filling(std::size_t{1} << 20U, 'x');
  const std::string time = R"("timestamp":"2025-10-10T13:55:36Z")";
  CHECK(read_alone(settings, "{" + time + R"(,"x":")" + filling + "\"}") == found(kind::time, noon));
  CHECK(read_alone(settings, R"({"x":")" + filling + "\"," + time + "}").first == kind::none);
}

TEST_CASE("lines of 16 MiB of any byte are read") {
  const event_times settings = settings_of("");
  event_time_reader reader(settings, november_2025);
  for (const char byte : {'\0', '0', '-', '[', '{', '"', 'T', '\xff', ' '}) {
    CHECK(read(reader, std::string(std::size_t{16} << 20U, byte)).first == kind::none);
  }
  CHECK(read(reader, "{" + std::string(std::size_t{1} << 19U, '[')).first == kind::none);
  CHECK(read(reader, R"({"a":)" + std::string(std::size_t{1} << 19U, '[')).first == kind::none);
}

TEST_CASE("a mistake in the format or the zone is reported with its cause and remedy") {
  CHECK(error_of("isoo").find("did you mean iso?") != std::string::npos);
  CHECK(error_of("%Y-%m-%d %Q").find("\"%Q\" is unknown; known are %Y %y") != std::string::npos);
  CHECK(error_of("%F %").find("'%' at the end") != std::string::npos);
  CHECK(error_of("%H:%M").find("no month") != std::string::npos);
  CHECK(error_of("%m %H").find("no day") != std::string::npos);
  CHECK(error_of("%j").find("requires a year") != std::string::npos);
  CHECK(error_of("%Y%j%m").find("excludes") != std::string::npos);
  CHECK(error_of("%F %I").find("%I and %p") != std::string::npos);
  CHECK(error_of("%F %p %I %H").find("%H and %I") != std::string::npos);
  CHECK(error_of("*").find("there is no \"*\"") != std::string::npos);
  CHECK(error_of("json:").find("the argument KEY or /POINTER is missing") != std::string::npos);
  CHECK(error_of("json:/a~2").find("is written ~0") != std::string::npos);
  CHECK(error_of("", "Europe/Berlim").find("did you mean Europe/Berlin?") != std::string::npos);
  CHECK(error_of("", "nowhere").find("IANA") != std::string::npos);
  CHECK(error_of("", "../../etc/passwd").find("there is no time zone") != std::string::npos);
  CHECK(error_of("", "UTC").empty());
}

TEST_CASE("of the formats at the beginning of a line at most one matches, and its time is that of the line") {
  std::vector<event_times> settings;
  for (const std::string_view name :
       {"slashes", "us", "dmy", "mdy", "epoch", "dmesg", "syslog", "ctime", "rfc2822", "glog"}) {
    settings.push_back(settings_of(name));
  }
  std::vector<event_time_reader> readers;
  for (const event_times& each : settings) readers.emplace_back(each, november_2025);
  const event_times any = settings_of("");
  event_time_reader reader(any, november_2025);
  std::mt19937 random(13);
  const std::vector<std::string> lines = mixed_lines();
  for (int round = 0; round < 20'000; ++round) {
    const std::string line = mutated(lines[random() % lines.size()], random);
    std::vector<found> matches;
    for (event_time_reader& each : readers) {
      const found made = read(each, line);
      if (made.first != kind::none) matches.push_back(made);
    }
    CAPTURE(line);
    REQUIRE(matches.size() <= 1);
    if (!matches.empty()) CHECK(read(reader, line) == matches.front());
  }
}

TEST_CASE("a typed pattern or key that a line does not match gives no time") {
  for (const std::string_view typed :
       {"%F %T", "*%F %T", "t=%s", "on %Y-%j", "%F %I %p", "json:time", "json:/a/0", "iso"}) {
    const event_times settings = settings_of(typed);
    for (const std::string_view line :
         {"", "x", "2025-02-30 13:55:36", "on 2025-366", "on 2025-000", "on 2024-367", "t=", "2025-10-10 13 PM",
          "2025-10-10 00 AM", R"({"a":[]})", R"({"a":[)", "[]", "1", R"({"time":")"}) {
      CAPTURE(typed);
      CAPTURE(line);
      CHECK(read_alone(settings, line).first == kind::none);
    }
  }
}

TEST_CASE("mutated lines have the same time in a fresh reader, and are read without undefined behaviour") {
  std::mt19937 random(11);
  const std::vector<std::string> lines = mixed_lines();
  for (const std::string_view typed : {"", "json:/a/b/0", "*%d/%b/%Y:%T %z", "%F %T.%f", "%b %e %T"}) {
    const event_times settings = settings_of(typed, "Europe/Berlin");
    event_time_reader reader(settings, november_2025);
    for (int round = 0; round < 20'000; ++round) {
      const std::string line = mutated(lines[random() % lines.size()], random);
      const std::vector<char> exact(line.begin(), line.end());  // so that a sanitizer finds reads after its end
      const found seen = read(reader, {exact.data(), exact.size()});
      if (round % 10 == 0 && read_alone(settings, line) != seen) FAIL(line);
    }
  }
}

}  // namespace gpuhist::test
