// The value of a field of JSONL, compared with nlohmann-json.
#include "io/json/line_field.hpp"

#include "tests/support/campaign.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::test {
namespace {

using io::field_fault;
using io::line_field;
using namespace std::string_literals;

struct reading {
  std::string value{};
  field_fault fault = field_fault::none;

  bool operator==(const reading&) const = default;
};

reading copy_of(const line_field::outcome& found) { return {.value = std::string(found.value), .fault = found.fault}; }

// A line at the end of its memory, so that a sanitizer finds what is read after it.
reading read_alone(line_field& reader, std::string_view line) {
  const auto exact = std::make_unique<char[]>(line.size());
  if (!line.empty()) std::memcpy(exact.get(), line.data(), line.size());
  return copy_of(reader.read({.line = {exact.get(), line.size()}, .readable = line.size()}));
}

// A line before text that must not matter.
reading read_before(line_field& reader, std::string_view line, char next) {
  const std::string text = std::string(line) + std::string(line_field::padding, next);
  return copy_of(reader.read({.line = std::string_view(text).substr(0, line.size()), .readable = text.size()}));
}

constexpr std::size_t max_bytes = std::size_t{1} << 20U;

// In every surrounding.
reading read(std::string_view line, const std::string& field = "text") {
  line_field reader(field, max_bytes);
  reading found = read_alone(reader, line);
  for (const char next : {'\0', '"', '}', '9', '\xff'}) CHECK(read_before(reader, line, next) == found);
  CHECK(read_alone(reader, std::string(line) + "\r\n") == found);
  if (found.fault == field_fault::none) {
    const io::json_extent place = reader.place(line);
    CHECK(nlohmann::json::parse(line.substr(place.begin, place.bytes)) == nlohmann::json(found.value));
    std::string written;
    io::append_json_string(found.value, written);
    CHECK(written == nlohmann::json(found.value).dump());
  }
  return found;
}

std::string value_in(std::string_view line) {
  const reading found = read(line);
  CHECK(found.fault == field_fault::none);
  return found.value;
}

field_fault fault_in(std::string_view line) {
  const reading found = read(line);
  CHECK(found.value.empty());
  return found.fault;
}

std::string object_with(std::string_view value) { return R"({"id":1,"text":)" + std::string(value) + ",\"n\":null}"; }

std::string nested(std::size_t depth, std::string_view innermost = "1") {
  return std::string(depth, '[') + std::string(innermost) + std::string(depth, ']');
}

}  // namespace

TEST_CASE("the value of a field is the decoded string") {
  CHECK(value_in(R"({"text":"abc"})") == "abc");
  CHECK(value_in(R"( { "a" : [1,{"text":"inner"}] , "text" : "x y" } )") == "x y");
  CHECK(value_in(R"({"text":""})").empty());
  CHECK(value_in("{\"text\":\"h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80\"}") ==
        "h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80");
  CHECK(read(R"({"":"x"})", "").value == "x");
  CHECK(read("{\"\xc3\xa9\":\"x\"}", "\xc3\xa9").value == "x");
  CHECK(read(R"({"\u00e9\n":"x"})", "\xc3\xa9\n").value == "x");
}

TEST_CASE("every escape is resolved, and surrogate pairs become one character") {
  CHECK(value_in(R"({"text":"\"\\\/\b\f\n\r\t"})") == "\"\\/\b\f\n\r\t");
  CHECK(value_in(R"({"text":"\u0000\u001f\u007F\u0080\u07ff\u0800\uFFFF"})") ==
        "\0\x1f\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"s);
  CHECK(value_in(R"({"text":"\ud83d\ude00\uD800\uDC00\udbff\udfff"})") ==
        "\xf0\x9f\x98\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
  for (unsigned unit = 1; unit < 0x10000; unit += 37) {
    if (unit >= 0xd800 && unit < 0xe000) continue;
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", unit);
    const std::string line = object_with('"' + std::string(escape) + '"');
    CHECK(value_in(line) == nlohmann::json::parse(line)["text"].get<std::string>());
  }
}

TEST_CASE("of fields of the same name the last one counts") {
  CHECK(value_in(R"({"text":"a","text":"b"})") == "b");
  CHECK(value_in(R"({"text":1,"b":{},"text":"b"})") == "b");
  CHECK(fault_in(R"({"text":"a","text":1})") == field_fault::not_string);
  CHECK(value_in(R"({"text":"a","t\u0065xt":"b"})") == "b");
}

TEST_CASE("numbers that no double can hold are values of other fields") {
  const std::string large(400, '7');
  const std::vector<std::string> numbers = {large,
                                            "-" + large,
                                            "1e999",
                                            "-1E+999",
                                            "1e-999",
                                            "0.5E999",
                                            large + "." + large + "e" + large,
                                            "18446744073709551616",
                                            "-9223372036854775809",
                                            "123456789012345678901234567890"};
  for (const std::string& number : numbers) {
    CAPTURE(number);
    CHECK(value_in("{\"a\":" + number + ",\"text\":\"x\",\"b\":[" + number + ",-0]}") == "x");
    CHECK(value_in("{\"text\":\"" + number + "\",\"b\":" + number + "}") == number);
    CHECK(fault_in("{\"text\":" + number + "}") == field_fault::not_string);
    CHECK(fault_in(number) == field_fault::not_object);
    for (const char* after : {"-", ".", "e", "e+", "x", " 1", "\"", "[", ".1.2"}) {
      CHECK(fault_in("{\"text\":\"x\",\"b\":" + number + after + "}") == field_fault::not_json);
    }
    for (const char* before : {"0", "-", "--", "+", ".", "e", "x", "1 "}) {
      if (before == "-"s && number[0] != '-') continue;
      CHECK(fault_in("{\"text\":\"x\",\"b\":" + (before + number) + ",\"c\":1e999}") == field_fault::not_json);
    }
  }
  for (const char* number : {"01", "-", "1.", ".5", "1e", "1e+", "--1", "1e--5", "+1", "-01", "0x10", "1.e5", "NaN0",
                             "0NaN", "--Infinity", "+Infinity", "nan", "inf", "Infinite"}) {
    CAPTURE(number);
    CHECK(fault_in("{\"text\":\"x\",\"b\":"s + number + "}") == field_fault::not_json);
    CHECK(fault_in("{\"text\":\"x\",\"a\":1e999,\"b\":"s + number + "}") == field_fault::not_json);
  }
}

TEST_CASE("NaN and Infinity are named as the fault of a line that is JSON otherwise, and are text in strings") {
  for (const char* number : {"NaN", "Infinity", "-Infinity", "[1,NaN,1e999]", R"({"a":[-Infinity,"\ud800"]})"}) {
    CAPTURE(number);
    CHECK(fault_in("{\"text\":\"x\",\"b\":"s + number + "}") == field_fault::not_a_number);
    CHECK(fault_in("{\"text\":"s + number + ",\"a\":1e999}") == field_fault::not_a_number);
    CHECK(fault_in("{\"text\":\"x\",\"b\":"s + number + ",}") == field_fault::not_json);
  }
  CHECK(value_in(R"({"NaN":1e999,"text":"NaN, Infinity","b":[]})") == "NaN, Infinity");
}

TEST_CASE("half a surrogate pair is a fault of the value, and ignored in other fields") {
  for (const char* lone : {R"(\ud800)", R"(\udc00)", R"(\uDBFFx)", R"(\ud83d\u0041)", R"(\ud83d\ud83d)",
                           R"(\ude00\ud83d)", R"(\ud83d\n)"}) {
    CAPTURE(lone);
    CHECK(fault_in(object_with("\"a"s + lone + "\"")) == field_fault::lone_surrogate);
    CHECK(value_in("{\"a\":\""s + lone + R"(","text":"\ud83d\ude00\\ud800 \ufffd","n":1e999})") ==
          "\xf0\x9f\x98\x80\\ud800 \xef\xbf\xbd");
    CHECK(value_in("{\""s + lone + R"(":1,"text":"x"})") == "x");
    CHECK(fault_in("{\"text\":\"a\",\"text\":\""s + lone + "\"}") == field_fault::lone_surrogate);
    CHECK(value_in("{\"text\":\""s + lone + "\",\"text\":\"a\"}") == "a");
  }
}

TEST_CASE("objects and arrays may be nested 1,024 deep, the object of the line included") {
  CHECK(value_in("{\"a\":" + nested(1000) + ",\"text\":\"x\"}") == "x");
  CHECK(value_in("{\"a\":" + nested(1023) + ",\"text\":\"x\"}") == "x");
  CHECK(value_in("{\"a\":" + nested(1000, "1e999") + ",\"text\":\"x\"}") == "x");
  CHECK(fault_in("{\"a\":" + nested(1024) + ",\"text\":\"x\"}") == field_fault::too_deep);
  CHECK(fault_in("{\"a\":" + nested(1025) + ",\"text\":\"x\"}") == field_fault::too_deep);
  CHECK(fault_in("{\"a\":1e999,\"b\":" + nested(5000) + ",\"text\":\"x\"}") == field_fault::too_deep);
}

TEST_CASE("the cause is stated of a line without the field") {
  for (const char* line : {"", " ", "\t \t", "\r"}) CHECK(fault_in(line) == field_fault::blank);
  for (const char* line : {"1", "null", "true", "\"text\"", "[]", R"([{"text":"x"}])", "-1.5e3"}) {
    CHECK(fault_in(line) == field_fault::not_object);
  }
  for (const char* line : {"{}", R"({"a":"x"})", R"({"Text":"x"})", R"({"text ":"x"})", R"({"a":{"text":"x"}})"}) {
    CHECK(fault_in(line) == field_fault::missing);
  }
  for (const char* value : {"1", "null", "true", "false", "[]", R"(["x"])", "{}", R"({"text":"x"})", "1.5"}) {
    CHECK(fault_in(object_with(value)) == field_fault::not_string);
  }
  for (const char* line : {"{",
                           "}",
                           "x",
                           "{]",
                           R"({"text")",
                           R"({"text":})",
                           R"({"text":"x)",
                           R"({"text":"x"} x)",
                           R"({"text":"x"}{})",
                           R"({"text":"x",})",
                           R"({,"text":"x"})",
                           R"({"text" "x"})",
                           R"({text:"x"})",
                           R"({'text':'x'})",
                           R"({"text":"\x"})",
                           R"({"text":"\u12"})",
                           R"({"text":"\u12g4"})",
                           R"({"text":"x","a":tru})",
                           R"({"text":"x","a":nul})",
                           R"({"text":"x","a":falsey})",
                           "{\"text\":\"a\tb\"}",
                           "{\"text\":\"a\x01\"}",
                           R"({"text":"x","a":[1,]})",
                           R"({"text":"x","a":[1 2]})",
                           R"({1:"x"})",
                           R"({"text":"x" /* no */})",
                           R"({"text":"x\"})",
                           "{\v\"text\":\"x\"}",
                           "{\f\"text\":\"x\"}",
                           "{\"text\":\"x\"}\xc2\xa0"}) {
    CAPTURE(line);
    CHECK(fault_in(line) == field_fault::not_json);
  }
  for (const std::string& line :
       {"{\"text\":\"a\0b\"}"s, "{\"text\":\"x\"}\0"s, "\0{\"text\":\"x\"}"s, "{\0\"text\":\"x\"}"s}) {
    CHECK(fault_in(line) == field_fault::not_json);
  }
  CHECK(fault_in("\xef\xbb\xbf{\"text\":\"x\"}") == field_fault::byte_order_mark);
  for (const char* bytes : {"\xff", "\x80", "\xc0\x80", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    CHECK(fault_in(object_with('"' + std::string(bytes) + '"')) == field_fault::not_utf8);
    CHECK(fault_in("{\"text\":\"x\",\"a\":\"" + std::string(bytes) + "\"}") == field_fault::not_utf8);
  }
}

TEST_CASE("a field can be in nested objects and arrays: a JSON Pointer") {
  const auto found = [](const std::string& path, std::string_view line) { return read(line, path); };
  constexpr std::string_view nested =
      R"({"a":{"b":["zero",{"c":"deep","n":1e999}],"b/c":"solidus","~":"tilde"},"a.b":"dot"})";
  CHECK(found("/a/b/0", nested) == reading{.value = "zero"});
  CHECK(found("/a/b/1/c", nested) == reading{.value = "deep"});
  CHECK(found("/a/b~1c", nested) == reading{.value = "solidus"});
  CHECK(found("/a/~0", nested) == reading{.value = "tilde"});
  CHECK(found("a.b", nested) == reading{.value = "dot"});
  for (const char* path : {"/a/b/2", "/a/b/00", "/a/b/x", "/a/c", "/b", "/a/b/0/0", "/"}) {
    CHECK(found(path, nested) == reading{.fault = field_fault::missing});
  }
  CHECK(found("/a/b", nested) == reading{.fault = field_fault::not_string});
  CHECK(found("/a/b/1/n", nested) == reading{.fault = field_fault::not_string});
  CHECK(found("/a/b", R"({"a":{"b":"1"},"a":{"b":"2","b":"3"}})") == reading{.value = "3"});
  CHECK(found("/a/b", R"({"a":{"b":"1"},"a":[]})") == reading{.fault = field_fault::missing});
  CHECK(found("/0", R"(["x"])") == reading{.fault = field_fault::not_object});
  CHECK(found("/a/b", R"({"x":"\ud800","a":{"b":"ok","c":1e999}})") == reading{.value = "ok"});
  CHECK(found("/a/b", R"({"x":1,"a":{"b":"\udc00"}})") == reading{.fault = field_fault::lone_surrogate});
  CHECK_THROWS_AS(line_field("/a~", max_bytes), std::invalid_argument);
  std::string longest;
  for (std::size_t i = 0; i < io::max_json_steps; ++i) longest += "/a";
  CHECK(io::parse_json_path(longest).size() == io::max_json_steps);
  CHECK_THROWS_AS(io::parse_json_path(longest + "/"), std::invalid_argument);
}

TEST_CASE("a line that is longer than the limit is not read") {
  const std::string line = object_with('"' + std::string(1000, 'x') + '"');
  line_field exact("text", line.size());
  CHECK(exact.read({.line = line, .readable = line.size()}).value == std::string(1000, 'x'));
  line_field less("text", line.size() - 1);
  CHECK(less.read({.line = line, .readable = line.size()}).fault == field_fault::too_long);
  CHECK(io::describe(field_fault::too_long, std::size_t{16} << 20U) == "longer than 16 MiB");
}

TEST_CASE("lines of all lengths are read in sequence, also after the memory was released") {
  line_field reader("text", std::size_t{64} << 20U);
  for (const std::size_t size : {0U, 1U, 63U, 64U, 5000U, 3'000'000U, 10U, 4096U, 20'000'000U, 7U}) {
    const std::string value(size, 'v');
    const std::string line = object_with('"' + value + '"');
    CHECK(reader.read({.line = line, .readable = line.size()}).value == value);
    reader.release();
  }
}

namespace {

// ---- random lines ------------------------------------------------------------------------------------------------

std::string random_string(std::mt19937& random) {
  static const std::vector<std::string> pieces = {"a",
                                                  "text",
                                                  " ",
                                                  "\\n",
                                                  "\\\"",
                                                  "\\\\",
                                                  "\\u0041",
                                                  "\\ud83d\\ude00",
                                                  "\\u20AC",
                                                  "\xc3\xa9",
                                                  "\xf0\x9f\x98\x80",
                                                  "1",
                                                  "{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  ":",
                                                  ",",
                                                  "/",
                                                  "\\/"};
  std::string made = "\"";
  for (std::size_t left = random() % 12; left > 0; --left) made += pieces[random() % pieces.size()];
  return made + '"';
}

std::string random_value(std::mt19937& random, int depth) {
  static const std::vector<std::string> plain = {"0",    "-1",   "1.5",   "1e10", "123456789012345678901234567890",
                                                 "-0.0", "true", "false", "null", "\"text\""};
  const auto kind = random() % 6;
  if (depth == 0 || kind < 2) return plain[random() % plain.size()];
  if (kind < 4) return random_string(random);
  std::string made;
  for (std::size_t left = random() % 4; left > 0; --left) {
    if (!made.empty()) made += ',';
    if (kind == 5) made += (random() % 2 == 0 ? "\"text\"" : random_string(random)) + ':';
    made += random_value(random, depth - 1);
  }
  return kind == 5 ? '{' + made + '}' : '[' + made + ']';
}

std::string random_line(std::mt19937& random) {
  std::string made = "{\"id\":" + random_value(random, 2);
  for (std::size_t left = random() % 4; left > 0; --left) {
    made += ", " + (random() % 2 == 0 ? "\"text\"" : random_string(random)) + " :" +
            (random() % 2 == 0 ? random_string(random) : random_value(random, 3));
  }
  made += '}';
  static constexpr std::string_view bytes = "\"\\{}[],:0-9eE.+ntf u\t\x01\xc3\xff";
  for (std::size_t left = random() % 3; left > 0; --left) {
    const std::size_t at = random() % made.size();
    switch (random() % 3) {
      case 0:
        made[at] = bytes[random() % bytes.size()];
        break;
      case 1:
        made.erase(at, 1);
        break;
      default:
        made.insert(at, 1, bytes[random() % bytes.size()]);
    }
  }
  return made;
}

// Nothing: nlohmann-json finds a fault in the line. Throws for numbers that no double can hold.
std::optional<nlohmann::json> parsed(const std::string& line) {
  try {
    return nlohmann::json::parse(line);
  } catch (const nlohmann::json::parse_error&) {
    return std::nullopt;
  }
}

bool is_fault_of_line(field_fault fault) {
  return fault == field_fault::not_json || fault == field_fault::not_utf8 || fault == field_fault::blank;
}

bool agrees(const reading& found, const std::optional<nlohmann::json>& oracle) {
  if (!oracle) return is_fault_of_line(found.fault);
  if (!oracle->is_object()) return found.fault == field_fault::not_object;
  if (!oracle->contains("text")) return found.fault == field_fault::missing;
  const nlohmann::json& value = (*oracle)["text"];
  if (!value.is_string()) return found.fault == field_fault::not_string;
  return found.fault == field_fault::none && found.value == value.get<std::string>();
}

// nlohmann-json refuses half a surrogate pair in any field, and ends at a number that no double can hold.
bool agrees_with_oracle(const std::string& line, const reading& found) {
  try {
    const auto oracle = parsed(line);
    const bool has_surrogate = line.find("\\ud") != std::string::npos;
    return agrees(found, oracle) || (!oracle && has_surrogate && !is_fault_of_line(found.fault));
  } catch (const nlohmann::json::out_of_range&) {
    return true;  // what follows the number was not parsed
  }
}

}  // namespace

TEST_CASE("random lines are read as by nlohmann-json") {
  const std::size_t runs = fuzz_runs(50'000);
  std::mt19937 random(fuzz_seed(41));
  line_field reader("text", max_bytes);
  std::size_t with_value = 0;
  std::size_t without = 0;
  for (std::size_t run = 0; run < runs; ++run) {
    const std::string line = random_line(random);
    const reading found = read_alone(reader, line);
    ++(found.fault == field_fault::none ? with_value : without);
    CHECK(read_before(reader, line, bool(random() % 2) ? '"' : '\\') == found);
    if (agrees_with_oracle(line, found)) continue;
    CAPTURE(line);
    FAIL_CHECK("differs, fault " << static_cast<int>(found.fault));
  }
  CHECK(with_value > runs / 10);
  CHECK(without > runs / 10);
}

}  // namespace gpuhist::test
