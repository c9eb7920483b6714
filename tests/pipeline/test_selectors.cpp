// Selectors: each kind compared with a table and with a second implementation that reads byte by byte, on random lines.
#include "report/lines/log_family.hpp"
#include "report/lines/selector.hpp"

#include "config/usage_error.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <random>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

template <>
struct doctest::StringMaker<std::optional<std::string>> {
  static doctest::String convert(const std::optional<std::string>& text) {
    return text ? ("\"" + *text + "\"").c_str() : "nothing";
  }
};

namespace gpuhist::test {
namespace {

using report::lines::line_selector;
using report::lines::number_in;
using report::lines::selector;
using report::lines::selector_kind;
using report::lines::selector_kinds;

using part = std::optional<std::string>;

part read_part(line_selector& reader, std::string_view line) {
  // an allocation of its own, so that the sanitizer finds a read beyond the line
  const std::vector<char> exact(line.begin(), line.end());
  const auto found = reader.read({exact.data(), exact.size()});
  return found ? part(std::string(*found)) : std::nullopt;
}

part select(std::string_view typed, std::string_view line, std::optional<char> separator = std::nullopt) {
  return read_part(*selector(typed, separator).make_reader(), line);
}

std::string error_of(std::string_view typed, std::optional<char> separator = std::nullopt) {
  try {
    const selector made(typed, separator);
  } catch (const config::usage_error& error) {
    return error.what();
  }
  return "no error";
}

bool has_text(const std::string& message, std::string_view text) { return message.find(text) != std::string::npos; }

std::string random_text(std::mt19937& random, std::string_view alphabet, std::size_t longest) {
  std::string made(random() % (longest + 1), ' ');
  for (char& each : made) each = alphabet[random() % alphabet.size()];
  return made;
}

std::string_view without_carriage_return(std::string_view line) {
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

// Second implementations.

std::vector<std::string> split_at_blanks(std::string_view line) {
  std::vector<std::string> fields;
  bool is_open = false;
  for (const char each : without_carriage_return(line)) {
    const bool is_blank = each == ' ' || each == '\t';
    if (!is_blank && !is_open) fields.emplace_back();
    if (!is_blank) fields.back() += each;
    is_open = !is_blank;
  }
  return fields;
}

std::vector<std::string> split_at(std::string_view line, char separator) {
  line = without_carriage_return(line);
  if (line.empty()) return {};
  std::vector<std::string> fields(1);
  for (const char each : line) {
    if (each == separator) {
      fields.emplace_back();
    } else {
      fields.back() += each;
    }
  }
  return fields;
}

std::vector<std::string> split_csv(std::string_view line, char separator) {
  enum class state { begin, plain, quoted, after_quote };
  line = without_carriage_return(line);
  if (line.empty()) return {};
  std::vector<std::string> columns(1);
  state now = state::begin;
  for (const char each : line) {
    if (now == state::quoted) {
      if (each == '"') {
        now = state::after_quote;
      } else {
        columns.back() += each;
      }
    } else if (now == state::begin && each == '"') {
      now = state::quoted;
    } else if (now == state::after_quote && each == '"') {
      columns.back() += each;
      now = state::quoted;
    } else if (each == separator) {
      columns.emplace_back();
      now = state::begin;
    } else {
      columns.back() += each;
      now = state::plain;
    }
  }
  return columns;
}

// `number`: as typed, negative from the end.
part at_number(const std::vector<std::string>& fields, int number) {
  const int size = static_cast<int>(fields.size());
  const int index = number > 0 ? number - 1 : size + number;
  return index >= 0 && index < size ? part(fields[static_cast<std::size_t>(index)]) : std::nullopt;
}

// Null: there is no value.
const nlohmann::json* value_at(const nlohmann::json& from, const std::vector<std::string>& keys) {
  const nlohmann::json* value = &from;
  for (const std::string& key : keys) {
    if (value->is_object()) {
      const auto found = value->find(key);
      if (found == value->end()) return nullptr;
      value = &*found;
    } else {
      const bool is_index = key == "0" || key == "1";  // all that the test has
      if (!value->is_array() || !is_index || value->size() <= static_cast<std::size_t>(key[0] - '0')) return nullptr;
      value = &(*value)[static_cast<std::size_t>(key[0] - '0')];
    }
  }
  return value;
}

nlohmann::json random_json(std::mt19937& random, int depth) {
  static const std::vector<nlohmann::json> scalars = {nullptr, true,     false,        0,          -17, 12.5, "",
                                                      "a",     "x\"y\\", "\xc3\xa9\n", "{\"k\":1}"};
  static const std::vector<std::string> keys = {"k", "a", "a/b", "m~n", "0", "", "k\"q", "\xc3\xa9", "kk"};
  const auto choice = random() % 8;
  if (depth == 0 || choice < 4) return scalars[random() % scalars.size()];
  nlohmann::json made = choice < 6 ? nlohmann::json::object() : nlohmann::json::array();
  for (auto left = random() % 5; left > 0; --left) {
    if (choice < 6) {
      made[keys[random() % keys.size()]] = random_json(random, depth - 1);
    } else {
      made.push_back(random_json(random, depth - 1));
    }
  }
  return made;
}

struct sample {
  std::string_view line;
  part expected;
};

void check_all(std::string_view typed, std::initializer_list<sample> samples) {
  const auto reader = selector(typed, std::nullopt).make_reader();
  for (const sample& each : samples) {
    CAPTURE(typed);
    CAPTURE(each.line);
    CHECK(read_part(*reader, each.line) == each.expected);
    CHECK(read_part(*reader, std::string(each.line) + "\r") == each.expected);
  }
}

}  // namespace

TEST_CASE("a selector keeps its text, and every kind of the table has an example that is a selector") {
  CHECK(selector("field:2", std::nullopt).text() == "field:2");
  CHECK(selector_kinds().size() == 10);
  for (const selector_kind& each : selector_kinds()) {
    CHECK(each.example.starts_with(each.name));
    CHECK_FALSE(each.description.empty());
    CHECK(selector(each.example, std::nullopt).make_reader() != nullptr);
  }
}

TEST_CASE("a column of CSV with a name has the number that the header gives it") {
  const std::string header = "\xef\xbb\xbfid,\"user, name\",status\r";
  const auto part_of = [&](std::string_view name, std::string_view line) -> std::optional<std::string> {
    const auto reader = selector("csv:" + std::string(name), std::nullopt).make_reader();
    CHECK(reader->reads_header());
    CHECK_FALSE(reader->read(line));  // the header is not known yet
    reader->read_header(header);
    const std::optional<std::string_view> found = reader->read(line);
    CHECK(reader->fault().empty() == (name != "Status"));
    return found ? std::optional(std::string(*found)) : std::nullopt;
  };
  CHECK(part_of("id", "7,x,200") == "7");
  CHECK(part_of("user, name", "7,\"a \"\"b\"\",c\",200") == "a \"b\",c");
  CHECK(part_of("status", "7,x,200\r") == "200");
  CHECK(part_of("status", "7,x") == std::nullopt);
  CHECK(part_of("Status", "7,x,200") == std::nullopt);
  CHECK_FALSE(selector("csv:3", std::nullopt).reads_header());
}

TEST_CASE("a selector that cannot be read is refused with the text, the cause and the remedy") {
  CHECK(has_text(error_of("feild:3"), "selector \"feild:3\": there is no kind \"feild\""));
  CHECK(has_text(error_of("feild:3"), "did you mean field?"));
  CHECK(has_text(error_of("feild:3"), "csv:N"));
  CHECK(has_text(error_of(""), "the kind is missing"));
  CHECK(has_text(error_of("field"), "the argument N is missing; write, for example, field:3"));
  CHECK(has_text(error_of("template:3"), "the kind has no argument; write template"));
  for (const std::string_view wrong : {"field:0", "field:x", "field:1x", "field:", "field:99999999999", "field:--1"}) {
    CAPTURE(wrong);
    CHECK(has_text(error_of(wrong), "selector \""));
  }
  CHECK(has_text(error_of("field:0"), "write 1 for the first field"));
  CHECK(has_text(error_of("csv:0"), "or a name in the first line"));
  CHECK(has_text(error_of("csv:-1"), "as in csv:3"));
  CHECK(has_text(error_of("csv:1", '"'), "cannot separate"));
  CHECK(has_text(error_of("field:1", '\n'), "line feed"));
  CHECK(has_text(error_of("json:/a~2"), "~0"));
  CHECK(has_text(error_of("json:\xff"), "UTF-8"));
  CHECK(has_text(error_of("regex:a(b"), "a(b"));
  CHECK(has_text(error_of("regex:a(b"), "missing )"));
  CHECK(error_of("regex:a:b") == "no error");
}

TEST_CASE("a number is decimal text that may have sign, fraction, exponent and blanks around it") {
  CHECK(number_in("12") == 12);
  CHECK(number_in(" \t-1.5e3 ") == -1500);
  CHECK(number_in("+.5") == 0.5);
  CHECK(number_in("1.") == 1);
  CHECK(number_in("007") == 7);
  CHECK(number_in("1e-999") == 0);
  CHECK(number_in("-0.0000001e-400") == 0);
  CHECK(number_in("0e99999999999999999999") == 0);
  CHECK(number_in("1e400") == std::nullopt);
  CHECK(number_in(std::string(400, '9')) == std::nullopt);
  CHECK(number_in("0." + std::string(400, '0') + "1") == 0);
  CHECK(number_in("0." + std::string(400, '0') + "1e402") == 10);
  for (const std::string_view wrong : {"", " ", "-", "+", "+-1", "--1", "1e", "1 2", "12ms", "0x10", "nan", "inf",
                                       "-inf", "Infinity", "1,5", ".", "1\n", "e5", "\xff"}) {
    CAPTURE(wrong);
    CHECK(number_in(wrong) == std::nullopt);
  }
}

TEST_CASE("fields are counted from both ends") {
  check_all("field:1", {{"a b", "a"}, {"  a b", "a"}, {"", std::nullopt}, {" \t ", std::nullopt}});
  check_all("field:2", {{"a \t b ", "b"}, {"a ", std::nullopt}, {"0123456789abcdef 2 3", "2"}});
  check_all("field:-1", {{"a b", "b"}, {"a b \t", "b"}, {"a", "a"}, {"", std::nullopt}});
  CHECK(select("field:2", "a,,c", ',') == "");
  CHECK(select("field:-2", "a,,c", ',') == "");
  CHECK(select("field:4", "a,,c", ',') == std::nullopt);
  CHECK(select("field:2", std::string_view("a\0b", 3), '\0') == "b");
}

TEST_CASE("the fields of random lines are those of a split byte by byte") {
  std::mt19937 random(1);
  for (int number = -6; number <= 6; ++number) {
    if (number == 0) continue;
    const std::string typed = "field:" + std::to_string(number);
    const auto blanks = selector(typed, std::nullopt).make_reader();
    const auto commas = selector(typed, ',').make_reader();
    for (int i = 0; i < 2000; ++i) {
      const std::string line = random_text(random, i % 2 == 0 ? " \ta,\r" : "abcdefghijkl,  ", 70);
      CAPTURE(line);
      CHECK(read_part(*blanks, line) == at_number(split_at_blanks(line), number));
      CHECK(read_part(*commas, line) == at_number(split_at(line, ','), number));
    }
  }
}

TEST_CASE("a column of CSV is read without its quotes") {
  check_all("csv:2", {{"a,b,c", "b"},
                      {R"("a,1","b ""2""",c)", R"(b "2")"},
                      {"a,", ""},
                      {"a", std::nullopt},
                      {R"(a,"open, and)", "open, and"},
                      {R"(a,"b"c,d)", "bc"},
                      {R"(a, "b",c)", " \"b\""},
                      {R"(a,b"c,d)", "b\"c"},
                      {R"(a,")", ""},
                      {"", std::nullopt}});
  CHECK(select("csv:2", "a;\"b;c\"", ';') == "b;c");
  CHECK(select("csv:2", "a\tb", '\t') == "b");
}

TEST_CASE("the columns of random lines are those of a state machine") {
  std::mt19937 random(2);
  for (int number = 1; number <= 5; ++number) {
    const auto reader = selector("csv:" + std::to_string(number), std::nullopt).make_reader();
    for (int i = 0; i < 4000; ++i) {
      const std::string line = random_text(random, "a\",,\"\r", 20);
      CAPTURE(line);
      CHECK(read_part(*reader, line) == at_number(split_csv(line, ','), number));
    }
  }
}

TEST_CASE("a value of JSON is text, or JSON as written") {
  check_all("json:k", {{R"({"k":"a\u00e9\n"})", "a\xc3\xa9\n"},
                       {R"({"x":{"k":1},"k": 2.50 })", "2.50"},
                       {R"({"k":1e999})", "1e999"},
                       {R"({"k":null})", "null"},
                       {R"({"k":true,"a":1})", "true"},
                       {R"({"k": [1, {"a" : 2}] , "b":3})", R"([1, {"a" : 2}])"},
                       {R"( {"k":{ } } )", "{ }"},
                       {R"({"k":1,"k":2})", "2"},
                       {R"({"\u006b":3})", "3"},
                       {R"({"k":""})", ""},
                       {R"({"kk":1,"K":2,"":3})", std::nullopt},
                       {R"(["k"])", std::nullopt},
                       {"7", std::nullopt},
                       {"\"k\"", std::nullopt},
                       {"", std::nullopt},
                       {"{}", std::nullopt}});
  CHECK(select("json:a.b", R"({"a.b":1,"a":{"b":2}})") == "1");
  CHECK(select("json:0", "[5]") == std::nullopt);
}

TEST_CASE("a line that is not JSON where the value is has no value") {
  check_all("json:k", {{R"({"k":1)", std::nullopt},
                       {R"({"k":1}})", std::nullopt},
                       {R"({"k":1} {"k":2})", std::nullopt},
                       {R"({"k":01})", std::nullopt},
                       {R"({"k":1x})", std::nullopt},
                       {R"({"k":nul})", std::nullopt},
                       {R"({"k":truee})", std::nullopt},
                       {R"({"k":NaN})", std::nullopt},
                       {R"({"k" 1})", std::nullopt},
                       {R"({"k":"open})", std::nullopt},
                       {R"({"k":"\ud800"})", std::nullopt},
                       {R"({"k":"\q"})", std::nullopt},
                       {"{\"k\":1,\"x\":\"\xff\"}", std::nullopt},
                       {"{\"k\":\"a\tb\"}", std::nullopt},
                       {"\xef\xbb\xbf{\"k\":1}", std::nullopt}});
  // other values are skipped
  CHECK(select("json:k", R"({"x":"\ud800","k":1,"y":1e9999})") == "1");
}

TEST_CASE("a JSON Pointer leads through objects and arrays") {
  constexpr std::string_view line = R"({"a":{"b":[10,{"c/d":"x","m~n":"y"}]},"":{"":5},"0":7})";
  CHECK(select("json:/a/b/0", line) == "10");
  CHECK(select("json:/a/b/1/c~1d", line) == "x");
  CHECK(select("json:/a/b/1/m~0n", line) == "y");
  CHECK(select("json://", line) == "5");
  CHECK(select("json:/0", line) == "7");
  CHECK(select("json:/a/b/01", line) == std::nullopt);
  CHECK(select("json:/a/b/-", line) == std::nullopt);
  CHECK(select("json:/a/b/2", line) == std::nullopt);
  CHECK(select("json:/a/b/0/x", line) == std::nullopt);
  CHECK(select("json:/1", "[1,2]") == "2");
  CHECK(select("json:/a/b", R"({"a":{"b":1},"a":{"c":2}})") == std::nullopt);
  CHECK(select("json:/a/b", R"({"a":{"c":1},"a":{"b":2}})") == "2");
}

TEST_CASE("the values of random JSON are those of another parser") {
  std::mt19937 random(3);
  struct addressed {
    std::vector<std::string> keys;
    std::unique_ptr<line_selector> reader;
  };
  std::vector<addressed> all;
  const auto add = [&all](std::vector<std::string> keys, const std::string& pointer) {
    all.push_back({.keys = std::move(keys), .reader = selector("json:" + pointer, std::nullopt).make_reader()});
  };
  add({"k"}, "/k");
  add({"a/b"}, "/a~1b");
  add({"m~n"}, "/m~0n");
  add({"0"}, "/0");
  add({""}, "/");
  add({"k\"q"}, "/k\"q");
  add({"\xc3\xa9"}, "/\xc3\xa9");
  add({"k", "0"}, "/k/0");
  add({"0", "k"}, "/0/k");
  add({"a", "1", "k"}, "/a/1/k");
  for (int i = 0; i < 3000; ++i) {
    const nlohmann::json document = random_json(random, 4);
    if (!document.is_structured()) continue;
    const std::string line = document.dump(-1, ' ', random() % 2 == 0);
    CAPTURE(line);
    for (const addressed& each : all) {
      const part found = read_part(*each.reader, line);
      const nlohmann::json* const expected = value_at(document, each.keys);
      REQUIRE(found.has_value() == (expected != nullptr));
      if (expected == nullptr) continue;
      const nlohmann::json value = expected->is_string() ? nlohmann::json(*found) : nlohmann::json::parse(*found);
      CHECK(value == *expected);
    }
  }
}

TEST_CASE("a regular expression reads its first group, or the match") {
  check_all("regex:user=(\\w+)", {{"x user=anna y", "anna"}, {"user=", std::nullopt}, {"", std::nullopt}});
  check_all("regex:b+", {{"abba bbb", "bb"}, {"a", std::nullopt}});
  check_all("regex:^a(x)?", {{"ax", "x"}, {"ab", std::nullopt}});
  check_all("regex:a(x*)b", {{"ab", ""}});
  check_all("regex:(.)z", {{"\xc3\xa9z", "\xc3\xa9"}, {"\xffz", std::nullopt}});
  check_all("regex:b$", {{"ab", "b"}});
  check_all("regex:(a?)", {{"", ""}, {"b", ""}});
}

TEST_CASE("the matches of random lines are those of std::regex") {
  std::mt19937 random(4);
  for (const std::string expression : {"a(b*)c", "^(a|b)", "c+", "(a|bc)(c?)$", "[ab]{2,3}c", "a(b)?c"}) {
    const auto reader = selector("regex:" + expression, std::nullopt).make_reader();
    const std::regex oracle(expression);
    for (int i = 0; i < 1000; ++i) {
      const std::string line = random_text(random, "abc", 10);
      std::smatch found;
      part expected;
      if (std::regex_search(line, found, oracle)) {
        const auto& group = found[found.size() > 1 ? 1 : 0];
        if (group.matched) expected = group.str();
      }
      CAPTURE(expression);
      CAPTURE(line);
      CHECK(read_part(*reader, line) == expected);
    }
  }
}

TEST_CASE("a template has names for the variable parts of a line") {
  check_all(
      "template",
      {
          {"", ""},
          {" \t ", ""},
          {"  one  two\tthree \t ", "one two three"},
          {"took 12ms, 1.5 s, 3.0KiB, 99% and -4", "took <num>ms, <num> s, <num>KiB, <num>% and <num>"},
          {"x=+1.5e-3 y=2E5 z=1e5x", "x=<num> y=<num> z=<num>e<num>x"},
          {"web-13 user42 h2o a1b2 x86_64 v1.2.3 10-20",
           "web-<num> user<num> h<num>o a<num>b<num> x<num>_<num> v<num>.<num> <num>-<num>"},
          {"0x7fff 0xZZ1 deadbeef 1234567a 12345678 3f2a9bc",
           "<hex> <num>xZZ<num> deadbeef <hex> <num> <num>f<num>a<num>bc"},
          {"d41d8cd98f00b204e9800998ecf8427e 00000000000000000000000000000000", "<hex> <hex>"},
          {"id 123e4567-e89b-12d3-a456-426614174000.", "id <uuid>."},
          {"id abcdefab-e89b-12d3-a456-426614174000", "id <uuid>"},
          {"id abcdefab-e89b-12d3-a456-4266141740001", "id abcdefab-e<num>b-<num>d<num>-a<num>-<num>"},
          {"from 10.0.3.17:8080 to 256.1.1.1 or 1.2.3.4.5", "from <ip>:<num> to <num>.<num> or <num>.<num>.<num>"},
          {"[::1]:80 fe80::1%eth0 2001:db8::ff00:42:8329 ::ffff:10.0.0.1", "[<ip>]:<num> <ip>%eth<num> <ip> <ip>"},
          {"abcd:ef01::1 std::v1 1:2:3:4:5:6:7:8", "<ip> std::v<num> <ip>"},
          {"a 1::2::3 12345::1", "a <num>::<ip> <num>::<num>"},
          {"mac 00:1b:44:11:3a:b7 and 00:11:22:33:44:55", "mac <hex> and <hex>"},
          {"2025-10-10T13:55:36.123Z 2025-10-10 13:55:36,123 2025/10/10 13:55:36 +0200 x", "<time> <time> <time> x"},
          {"2025-10-10 13:55 2025-10-10 13:55:36+02:00 2025-10-10", "<time> <time> <time>"},
          {"at 1:02:03 and 13:55:36.5: 12:30", "at <time> and <time>: <num>:<num>"},
          {"[10/Oct/2025:13:55:36 -0700] 10/Foo/2025:13:55:36", "[<time>] <num>/Foo/<num>:<time>"},
          {"Oct 10 13:55:36 a Oct 10 13:55:36", "<time> a Oct <num> <time>"},
          {"<34>Oct  1 13:55:36 a", "<<num>><time> a"},
          {"[Sat Oct 11 13:55:36.123456 2025] [x]", "[<time>] [x]"},
          {R"(say "hello 1" and 'a b' but don't 'stop)", "say <str> and <str> but don't 'stop"},
          {R"(a "b \" c" 'it's' "")", "a <str> <str> <str>"},
          {R"({"key1":"v","n": 12,"k 2" : 1})", R"({"key1":<str>,"n": <num>,<str> : <num>})"},
          {"open /var/log/a-1.log. and /tmp or a/b/c", "open <path>. and /tmp or a/b/c"},
          {"get http://host1:80/a?x=1 https://h/ //a/b", "get http://host<num>:<num><path>?x=<num> https://h/ //a/b"},
          {"file=/a/b:12: (/c/d/)", "file=<path>:<num>: (<path>)"},
          {"req-7fK2mQ9zL1xx 1h2m3s", "req-<id> <num>h<num>m<num>s"},
          {"\xc3\xa9t\xc3\xa9"
           "1",
           "\xc3\xa9t\xc3\xa9<num>"},
      });
}

TEST_CASE("a kind is a template that keeps levels, messages and the status of HTTP") {
  check_all("kind",
            {
                {R"({"ts":"2025-10-10","level":"error","msg":"took 12 ms for \"x\"","user":"bob","status":502})",
                 R"({"ts":<str>,"level":"error","msg":"took <num> ms for \"x\"","user":<str>,"status":502})"},
                {R"({"Level": "WARN", "message": "a 1", "code": 99, "n": 502})",
                 R"({"Level": "WARN", "message": "a <num>", "code": <num>, "n": <num>})"},
                {R"(level=info msg="started in 3 s" user="bob" status=200 took=200)",
                 R"(level=info msg="started in <num> s" user=<str> status=200 took=<num>)"},
                {R"(10.0.0.1 - - [10/Oct/2025:13:55:36 +0000] "GET /a/b HTTP/1.1" 502 512 "-" "curl/8.0")",
                 R"(<ip> - - [<time>] <str> 502 <num> <str> <str>)"},
                {R"("GET /a" 700 1)", "<str> <num> <num>"},
                {R"("GET /a" 5020 1)", "<str> <num> <num>"},
                {R"("GET /a" 502)", "<str> <num>"},
                {"status 502", "status <num>"},
                {R"(msg="unclosed 12)", R"(msg="unclosed <num>)"},
                {R"({"msg":""})", R"({"msg":""})"},
                {"worker 12 done", "worker <num> done"},
            });
}

TEST_CASE("rotated files are of one log") {
  using gpuhist::report::lines::log_name;
  using gpuhist::report::lines::parse_log_name;
  for (const char* const name :
       {"logs/app.log", "logs/app.log.1", "logs/app.log.12.gz", "logs/app.log-20261123.zst", "logs/app-20261123.log",
        "logs/app-2026-11-23.log.gz", "logs/app.2026-11-23T04.log", "logs/app-20261123-0400.log", "logs/app.log.old",
        "logs/app.log.gz", "logs/app.1.log", "logs/app.log-1763870400", "logs/app.log.2026-11-23.xz",
        "logs/app-20261123.log.3.gz", "logs/app_2026-11-23T04:00:00Z.log"}) {
    CAPTURE(name);
    CHECK(parse_log_name(name).family == "logs/app.log");
  }
  for (const char* const name : {"logs/worker-1.log", "logs/app2.log", "a.d/1/x", "app", "20261123", "10.0.0.1.log",
                                 "10.0.0.2", "app-1.2.log", "app-1.2", "app-2026.log", "", "v1.2/x.log", ".gz"}) {
    CAPTURE(name);
    CHECK(parse_log_name(name).family == name);
  }
  CHECK(parse_log_name("day/2026-11-23.log").family == "day/.log");
  CHECK(parse_log_name("app-2026-11-23.0.log").is_older_than(parse_log_name("app-2026-11-23.1.log")));
  const std::vector<std::string> by_age = {"a-20261122.log", "a-20261123.log", "a.log.10.gz",
                                           "a.log.2",        "a.log.1",        "a.log"};
  for (std::size_t i = 0; i < by_age.size(); ++i) {
    for (std::size_t j = 0; j < by_age.size(); ++j) {
      CAPTURE(by_age[i]);
      CAPTURE(by_age[j]);
      CHECK(parse_log_name(by_age[i]).is_older_than(parse_log_name(by_age[j])) == (i < j));
    }
  }
}

TEST_CASE("a template is cut after 512 bytes, between characters of UTF-8") {
  const std::string letters(600, 'a');
  CHECK(select("template", letters.substr(0, 512)) == letters.substr(0, 512));
  CHECK(select("template", letters) == letters.substr(0, 509) + "...");
  CHECK(select("template", letters.substr(0, 508) + "\xc3\xa9" + letters) == letters.substr(0, 508) + "...");
  const std::string invalid(600, '\x80');
  CHECK(select("template", invalid) == invalid.substr(0, 509) + "...");
  std::string numbers;
  while (numbers.size() < 4000) numbers += "17,";
  CHECK(select("template", numbers)->size() == 512);
  CHECK(select("template", "a \"" + std::string(1024, 'x') + "\"") == "a <str>");
  CHECK(select("template", "a \"" + std::string(1025, 'x') + "\"")->starts_with("a \"xx"));
}

namespace {

// A variable part at random, and its name.
struct variable {
  std::string_view name;
  std::string (*make)(std::mt19937& random);
};

std::string digits(std::mt19937& random, std::size_t number) {
  std::string made = std::to_string(1 + random() % 9);
  while (made.size() < number) made += std::to_string(random() % 10);
  return made;
}

std::string hexadecimal(std::mt19937& random, std::size_t number) {
  std::string made;
  while (made.size() < number) made += "0123456789abcdef"[random() % 16];
  return made;
}

std::string random_uuid(std::mt19937& random) {
  return hexadecimal(random, 8) + "-" + hexadecimal(random, 4) + "-4" + hexadecimal(random, 3) + "-" +
         hexadecimal(random, 4) + "-" + hexadecimal(random, 12);
}

std::string octet(std::mt19937& random) { return std::to_string(random() % 256); }

const std::vector<variable>& variables() {
  static const std::vector<variable> all = {
      {"<num>", [](std::mt19937& random) { return digits(random, 1 + random() % 7); }},
      {"<num>", [](std::mt19937& random) { return "-" + digits(random, 1 + random() % 7); }},
      {"<num>", [](std::mt19937& random) { return digits(random, 2) + "." + digits(random, 1 + random() % 4); }},
      {"<hex>", [](std::mt19937& random) { return "0x" + hexadecimal(random, 1 + random() % 16); }},
      {"<hex>", [](std::mt19937& random) { return "1a" + hexadecimal(random, 6 + random() % 20); }},
      {"<uuid>", random_uuid},
      {"<ip>",
       [](std::mt19937& random) {
         return octet(random) + "." + octet(random) + "." + octet(random) + "." + octet(random);
       }},
      {"<ip>", [](std::mt19937& random) { return "fe80::" + hexadecimal(random, 4) + ":" + hexadecimal(random, 3); }},
      {"<time>",
       [](std::mt19937& random) {
         return "20" + digits(random, 2) + "-10-10 13:" + digits(random, 2) + ":36." + digits(random, 3);
       }},
      {"<str>", [](std::mt19937& random) { return "\"" + random_text(random, "ab 1/'.", 30) + "\""; }},
      {"<path>", [](std::mt19937& random) { return "/var/" + hexadecimal(random, 1 + random() % 9) + "/x"; }},
  };
  return all;
}

}  // namespace

TEST_CASE("all lines of one statement have the same template") {
  std::mt19937 random(5);
  const auto reader = selector("template", std::nullopt).make_reader();
  for (int i = 0; i < 3000; ++i) {
    std::string line = "begin";
    std::string expected = "begin";
    for (auto left = random() % 7; left > 0; --left) {
      const std::string text = " " + random_text(random, "ghijk", 20) + "=";
      const variable& chosen = variables()[random() % variables().size()];
      line += text + chosen.make(random);
      expected += text + std::string(chosen.name);
    }
    CAPTURE(line);
    CHECK(read_part(*reader, line) == expected);
  }
}

TEST_CASE("a template has no digit outside a key of JSON, and does not depend on the line before") {
  std::mt19937 random(6);
  const auto used = selector("template", std::nullopt).make_reader();
  for (int i = 0; i < 20000; ++i) {
    const std::string line = random_text(random, "0123456789abcdefxz--::..//'' \t+", 60);
    const part found = read_part(*used, line);
    CAPTURE(line);
    REQUIRE(found);
    CHECK(found->find_first_of("0123456789\t") == std::string::npos);
    CHECK(found->find("  ") == std::string::npos);
    if (i % 10 == 0) CHECK(found == select("template", line));
  }
}

TEST_CASE("host, app, status and level read lines of well-known formats") {
  constexpr std::string_view clf = R"(10.0.0.1 - an [x] na [10/Oct/2025:13:55:36 -0700] "GET /a\"b HTTP/1.1" 404 12)";
  constexpr std::string_view no_request = R"(web.example - - [10/Oct/2025:13:55:36 -0700] "-" 408)";
  constexpr std::string_view bsd = "<34>Oct  1 13:55:36 web-1 postfix/smtpd[12]: x";
  constexpr std::string_view iso = "2025-10-10T13:55:36.123+02:00 db2 kernel: [1.2] y";
  constexpr std::string_view rfc5424 = "<165>1 2003-10-11T22:14:15.003Z mymachine evntslog - ID47 - text";
  check_all("host", {{clf, "10.0.0.1"},
                     {no_request, "web.example"},
                     {bsd, "web-1"},
                     {iso, "db2"},
                     {rfc5424, "mymachine"},
                     {"<1>1 - - app - - -", std::nullopt},
                     {"plain text", std::nullopt},
                     {"", std::nullopt},
                     {"Oct 10 13:55:36", std::nullopt},
                     {"Oct 10 13:55:36 h", "h"}});
  check_all("app", {{clf, std::nullopt},
                    {bsd, "postfix/smtpd"},
                    {iso, "kernel"},
                    {rfc5424, "evntslog"},
                    {"<1>1 - - app - - -", "app"},
                    {"Oct 10 13:55:36 h last message", std::nullopt},
                    {"Oct 10 13:55:36 h", std::nullopt}});
  check_all("status", {{clf, "404"},
                       {no_request, "408"},
                       {bsd, std::nullopt},
                       {R"(h - - [10/Oct/2025:13:55:36 -0700] "x" 4040)", std::nullopt},
                       {R"(h - - [10/Oct/2025:13:55:36 -0700] "open 200)", std::nullopt},
                       {R"(h - - [10/Oct/2025:13:55:36 -0700] "a\)", std::nullopt}});
  check_all("level", {{"2025 INFO x ERROR", "INFO"},
                      {"x warning: y", "WARN"},
                      {"[Warn]", "WARN"},
                      {R"({"level":"critical"})", "CRITICAL"},
                      {"informal errors my_error error2 notice", "NOTICE"},
                      {"I1010 13:55", "INFO"},
                      {"E1010 x", "ERROR"},
                      {"F1010 x", "FATAL"},
                      {"X1010 x", std::nullopt},
                      {"W101 debug", "DEBUG"},
                      {"", std::nullopt},
                      {"trace", "TRACE"},
                      {"\x12nfo", std::nullopt}});
  CHECK(select("level", std::string(123, ' ') + "ERROR") == "ERROR");
  CHECK(select("level", std::string(124, ' ') + "ERROR") == std::nullopt);
  CHECK(select("level", std::string(124, ' ') + "INFORM") == std::nullopt);
}

namespace {

std::vector<std::unique_ptr<line_selector>> readers_of_all_kinds() {
  std::vector<std::unique_ptr<line_selector>> readers;
  for (const selector_kind& each : selector_kinds())
    readers.push_back(selector(each.example, std::nullopt).make_reader());
  for (const std::string_view typed :
       {"field:-2", "csv:1", "json:k", "json:/0", "json:/k/1", "regex:.*", "regex:(\\C)$"}) {
    readers.push_back(selector(typed, std::nullopt).make_reader());
    readers.push_back(selector(typed, '\0').make_reader());
  }
  return readers;
}

// Changes, removes, repeats or cuts bytes.
void mutate(std::string& line, std::mt19937& random) {
  constexpr std::string_view favorites = "\"'\\/:.- \t{}[],0123456789afx<>\r";
  const std::size_t at = random() % (line.size() + 1);
  switch (random() % 5) {
    case 0:
      line.insert(at, 1, static_cast<char>(random() % 256));
      break;
    case 1:
      line.insert(at, 1, favorites[random() % favorites.size()]);
      break;
    case 2:
      line.erase(at, random() % 4);
      break;
    case 3:
      line.insert(at, line.substr(random() % (line.size() + 1), random() % 20));
      break;
    default:
      if (random() % 4 == 0) line.resize(at);
  }
}

}  // namespace

TEST_CASE("any bytes can be read") {
  const std::vector<std::string> seeds = {
      "",
      R"(10.0.0.1 - - [10/Oct/2025:13:55:36 -0700] "GET /a\"b HTTP/1.1" 404 12 "http://h:1/a/b")",
      "<34>Oct  1 13:55:36 web-1 app[12]: x fe80::1 00:1b:44:11:3a:b7 'a b' 1.2.3.4:80",
      "<165>1 2003-10-11T22:14:15.003Z host app - ID47 - text 123e4567-e89b-12d3-a456-426614174000",
      R"({"k":[1,{"a":"x\u00e9\ud83d\ude00"},null,true,-1.5e3],"request":{"path":"/a/b"},"k":["a","b"]})",
      R"([{"k":1},[[]],"a,""b""",2])",
      R"(a,"b ""c""",,"d)",
      "2025-10-10 13:55:36,123 WARN /var/log/x.log took 1.5e-3ms 0x1f deadbeef01 req-7fK2mQ9zL1xx",
  };
  std::mt19937 random(7);
  const auto readers = readers_of_all_kinds();
  for (int i = 0; i < 20000; ++i) {
    std::string line = seeds[random() % seeds.size()];
    for (auto left = random() % 12; left > 0; --left) mutate(line, random);
    for (const auto& each : readers) {
      const part first = read_part(*each, line);
      if (first) number_in(*first);
      if (i % 16 == 0) CHECK(read_part(*each, line) == first);
    }
  }
}

TEST_CASE("lines of 16 MiB can be read") {
  constexpr std::size_t length = std::size_t{16} << 20U;
  const auto readers = readers_of_all_kinds();
  for (const std::string_view pattern :
       {"a", " ", "1", "\"", "' ", " 'a", "/a", "1:", "a1", "[", "{\"k\":", "-a", "\\", ","}) {
    std::string line;
    while (line.size() < length) line += pattern;
    CAPTURE(pattern);
    for (const auto& each : readers) {
      const auto found = each->read(line);
      CHECK((!found || found->size() <= line.size()));
    }
    CHECK(read_part(*readers.front(), "a b c") == "c");
  }
}

}  // namespace gpuhist::test
