// An expression is parsed, and written again for Vectorscan, which then needs no knowledge of lines and versions of
// regular expressions: each set of code points is written as explicit ranges without the delimiter, so that no match
// crosses a line, and an end offset identifies the line.
//
// Two databases: one for text in ASCII, and one for valid UTF-8. In the latter Vectorscan has no \b, and it reports
// lines that do not match, such as "\u2028 ab " for (?:\w+ ){2}. There, \b and \B are left out, and each line found is
// confirmed by a simulation of the automaton (Thompson 1968; Pike's lists of states).
#include "report/lines/match_set.hpp"

#include "config/expression.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"

#include <hs/hs.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

// The variant of hs_scan() for SSE 4.2. A library that selects a variant at run time exports it; no header declares it.
extern "C" [[gnu::weak]] hs_error_t corei7_hs_scan(const hs_database_t* database, const char* data, unsigned length,
                                                   unsigned flags, hs_scratch_t* scratch, match_event_handler on_event,
                                                   void* context);

namespace gpuhist::report::lines {
namespace {

// Sets of code points.

constexpr std::uint32_t last_code_point = 0x10ffff;
constexpr std::uint32_t first_surrogate = 0xd800;
constexpr std::uint32_t after_surrogates = 0xe000;

struct range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;

  bool operator==(const range&) const = default;
};

using ranges = std::vector<range>;  // sorted and separate after normalize()

void normalize(ranges& all) {
  std::ranges::sort(all, {}, &range::first);
  std::size_t kept = 0;
  for (const range each : all) {
    if (kept > 0 && each.first <= all[kept - 1].last + 1) {
      all[kept - 1].last = std::max(all[kept - 1].last, each.last);
    } else {
      all[kept++] = each;
    }
  }
  all.resize(kept);
}

/// Of normalized ranges.
ranges complement(const ranges& all) {
  ranges out;
  std::uint32_t next = 0;
  for (const range each : all) {
    if (each.first > next) out.push_back({.first = next, .last = each.first - 1});
    next = each.last + 1;
  }
  if (next <= last_code_point) out.push_back({.first = next, .last = last_code_point});
  return out;
}

void add(ranges& all, const ranges& more) { all.insert(all.end(), more.begin(), more.end()); }

ranges minus(const ranges& from, const ranges& excluded) {
  ranges rest = complement(from);
  add(rest, excluded);
  normalize(rest);
  return complement(rest);
}

ranges without(const ranges& all, std::uint32_t code_point) {
  return minus(all, {{.first = code_point, .last = code_point}});
}

bool contains(const ranges& all, std::uint32_t code_point) {
  const auto after = std::ranges::upper_bound(all, code_point, {}, &range::first);
  return after != all.begin() && std::prev(after)->last >= code_point;
}

/// The part of the ranges in ASCII; with `fold`, of their letters in both cases. U+017F and U+212A are cases of s and
/// k.
ranges ascii_part(const ranges& all, bool fold) {
  ranges out;
  for (std::uint32_t c = 0; c < 0x80; ++c) {
    const std::uint32_t lower = c | 0x20U;
    const bool is_letter = fold && lower >= 'a' && lower <= 'z';
    if (contains(all, c) || (is_letter && (contains(all, lower) || contains(all, lower ^ 0x20U))) ||
        (is_letter && lower == 's' && contains(all, 0x17f)) || (is_letter && lower == 'k' && contains(all, 0x212a)))
      out.push_back({.first = c, .last = c});
  }
  normalize(out);
  return out;
}

void append_utf8(std::string& out, std::uint32_t c) {
  const auto byte = [&](std::uint32_t value) { out += static_cast<char>(value); };
  const auto tail = [&](unsigned shift) { byte(0x80U | ((c >> shift) & 0x3fU)); };
  if (c < 0x80) return byte(c);
  if (c < 0x800) {
    byte(0xc0U | (c >> 6U));
  } else if (c < 0x10000) {
    byte(0xe0U | (c >> 12U));
    tail(6);
  } else {
    byte(0xf0U | (c >> 18U));
    tail(12);
    tail(6);
  }
  tail(0);
}

/// A code point as Vectorscan reads it. Escapes are longer than UTF-8, and a text has at most 16,000 bytes.
void append_code_point(std::string& out, std::uint32_t c) {
  if (c >= 0x80) return append_utf8(out, c);
  constexpr std::string_view digits = "0123456789abcdef";
  out += {'\\', 'x', digits[c >> 4U], digits[c & 0xfU]};
}

/// A set as Vectorscan reads it. `named`: properties that it has besides the ranges.
std::string set_text(const ranges& all, bool negated, std::string_view named = {}) {
  std::string out = negated ? "[^" : "[";
  out += named;
  for (const range each : all) {
    append_code_point(out, each.first);
    if (each.last == each.first) continue;
    out += '-';
    append_code_point(out, each.last);
  }
  return out + "]";
}

// Vectorscan's handles.

struct free_database {
  void operator()(hs_database_t* database) const { hs_free_database(database); }
};
using database = std::unique_ptr<hs_database_t, free_database>;

struct free_scratch {
  void operator()(hs_scratch_t* scratch) const { hs_free_scratch(scratch); }
};
using scratch = std::unique_ptr<hs_scratch_t, free_scratch>;

void check(hs_error_t error) {
  if (error == HS_SUCCESS || error == HS_SCAN_TERMINATED) return;
  if (error == HS_NOMEM) throw std::bad_alloc();
  throw std::logic_error("Vectorscan: error " + std::to_string(error));
}

/// Grows the scratch for one more database.
void reserve(scratch& space, const hs_database_t* for_database) {
  hs_scratch_t* grown = space.release();
  const hs_error_t error = hs_alloc_scratch(for_database, &grown);
  space.reset(grown);
  check(error);
}

/// Vectorscan 5.4.9 misses matches in its variants for AVX-512 (\w$ in 64 letters and a line feed; '[^']*' in '' after
/// 60 bytes) and for AVX2 ([\r ]$ in a line of 27 bytes that ends with \r). That for SSE 4.2 finds them.
hs_error_t scan_text(const hs_database_t* scanned_for, std::string_view text, hs_scratch_t* space,
                     match_event_handler on_match, void* context) {
  static const bool has_variant = corei7_hs_scan != nullptr && __builtin_cpu_supports("sse4.2") != 0;
  const char* const begin = text.empty() ? "" : text.data();
  const auto size = static_cast<unsigned>(text.size());
  return (has_variant ? corei7_hs_scan : hs_scan)(scanned_for, begin, size, 0, space, on_match, context);
}

/// One text for Vectorscan.
struct written {
  std::string text;
  unsigned expression = 0;
};

struct compile_failure {
  std::string cause;
  std::optional<std::size_t> expression;  ///< if Vectorscan knows it
};

database compile(std::span<const written> all, unsigned flags, std::optional<compile_failure>& failure) {
  std::vector<const char*> texts;
  std::vector<unsigned> ids;
  for (const written& each : all) {
    texts.push_back(each.text.c_str());
    ids.push_back(each.expression);
  }
  const std::vector<unsigned> all_flags(all.size(), flags);
  hs_platform_info_t platform{};
  check(hs_populate_platform(&platform));
  platform.cpu_features = 0;
  hs_database_t* made = nullptr;
  hs_compile_error_t* raw = nullptr;
  const hs_error_t status = hs_compile_multi(texts.data(), all_flags.data(), ids.data(),
                                             static_cast<unsigned>(all.size()), HS_MODE_BLOCK, &platform, &made, &raw);
  const std::unique_ptr<hs_compile_error_t, decltype(&hs_free_compile_error)> error(raw, &hs_free_compile_error);
  if (status == HS_SUCCESS) return database(made);
  if (status != HS_COMPILER_ERROR || error == nullptr) check(status);
  failure = compile_failure{.cause = error->message, .expression = std::nullopt};
  if (error->expression >= 0) failure->expression = all[static_cast<std::size_t>(error->expression)].expression;
  return nullptr;
}

int count_match(unsigned /*id*/, unsigned long long /*from*/, unsigned long long /*to*/, unsigned /*flags*/,
                void* count) {
  ++*static_cast<std::size_t*>(count);
  return 0;
}

/// Scans texts in which faulty variants find nothing. Throws std::runtime_error if this one is faulty, too.
void check_vectorscan() {
  struct known_match {
    std::string_view expression;
    std::string_view text;
  };
  constexpr std::array all = {known_match{"[0-9A-Za-z_]$", "x\n"}, known_match{"'[^']*'", "''"},
                              known_match{"[\\r ]$", "\r\n"}, known_match{"\\([0-9]", "(1"}};
  for (const known_match& each : all) {
    std::optional<compile_failure> failure;
    const std::array texts = {written{.text = std::string(each.expression)}};
    const database one = compile(texts, HS_FLAG_MULTILINE, failure);
    if (one == nullptr) throw std::logic_error("Vectorscan: " + failure->cause);
    scratch space;
    reserve(space, one.get());
    for (std::size_t before = 0; before < 200; ++before) {
      std::size_t count = 0;
      const std::string text = std::string(before, 'x') + std::string(each.text);
      check(scan_text(one.get(), text, space.get(), count_match, &count));
      if (count == 0)
        throw std::runtime_error("Vectorscan " + std::string(hs_version()) +
                                 " misses matches on this processor; another version of the library is necessary");
    }
  }
}

// The members of sets that Vectorscan knows, found by a scan of all code points.

constexpr unsigned unicode_flags = HS_FLAG_UTF8 | HS_FLAG_UCP;

/// The code point that ends at this offset of the text of all code points.
std::uint32_t code_point_before(std::uint64_t offset) {
  struct part {
    std::uint32_t first;
    std::uint32_t count;
    std::uint32_t bytes;
  };
  constexpr std::array parts = {part{0, 0x80, 1}, part{0x80, 0x780, 2}, part{0x800, first_surrogate - 0x800, 3},
                                part{after_surrogates, 0x2000, 3}, part{0x10000, 0x100000, 4}};
  for (const part& each : parts) {
    const std::uint64_t size = std::uint64_t{each.count} * each.bytes;
    if (offset <= size) return each.first + static_cast<std::uint32_t>(offset / each.bytes) - 1;
    offset -= size;
  }
  return last_code_point;
}

int note_member(unsigned /*id*/, unsigned long long /*from*/, unsigned long long to, unsigned /*flags*/, void* found) {
  const std::uint32_t c = code_point_before(to);
  static_cast<ranges*>(found)->push_back({.first = c, .last = c});
  return 0;
}

/// Nothing if Vectorscan does not know the set.
std::optional<ranges> scan_for_members(std::string set) {
  std::optional<compile_failure> failure;
  const std::array texts = {written{.text = std::move(set)}};
  const database one = compile(texts, unicode_flags, failure);
  if (failure.has_value()) return std::nullopt;
  scratch space;
  reserve(space, one.get());
  std::string all;
  for (std::uint32_t c = 0; c <= last_code_point; ++c) {
    if (c < first_surrogate || c >= after_surrogates) append_utf8(all, c);
  }
  ranges found;
  check(scan_text(one.get(), all, space.get(), note_member, &found));
  normalize(found);
  return found;
}

/// As scan_for_members(), kept: names of sets are few.
std::optional<ranges> members(std::string_view named) {
  static std::mutex guard;
  static std::map<std::string, std::optional<ranges>, std::less<>> known;
  const std::lock_guard lock(guard);
  const auto found = known.find(named);
  if (found != known.end()) return found->second;
  return known.emplace(named, scan_for_members("[" + std::string(named) + "]")).first->second;
}

constexpr std::string_view digits = "\\p{Nd}";

/// UTS 18: letters, marks, decimal digits, connectors, joiners, and symbols of letters. Vectorscan's \w is older.
constexpr std::string_view word_characters =
    "\\p{L}\\p{Nl}\\p{M}\\p{Nd}\\p{Pc}\\x{200c}\\x{200d}\\x{24b6}-\\x{24e9}"
    "\\x{1f130}-\\x{1f149}\\x{1f150}-\\x{1f169}\\x{1f170}-\\x{1f189}";

/// White_Space of Unicode.
ranges spaces() {
  return {{0x9, 0xd},       {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
          {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};
}

struct ascii_class {
  std::string_view name;
  std::array<range, 4> all;
  std::size_t count;
};

constexpr std::array ascii_classes = {
    ascii_class{"alnum", {{{'0', '9'}, {'A', 'Z'}, {'a', 'z'}, {}}}, 3},
    ascii_class{"alpha", {{{'A', 'Z'}, {'a', 'z'}, {}, {}}}, 2},
    ascii_class{"ascii", {{{0, 0x7f}, {}, {}, {}}}, 1},
    ascii_class{"blank", {{{'\t', '\t'}, {' ', ' '}, {}, {}}}, 2},
    ascii_class{"cntrl", {{{0, 0x1f}, {0x7f, 0x7f}, {}, {}}}, 2},
    ascii_class{"digit", {{{'0', '9'}, {}, {}, {}}}, 1},
    ascii_class{"graph", {{{'!', '~'}, {}, {}, {}}}, 1},
    ascii_class{"lower", {{{'a', 'z'}, {}, {}, {}}}, 1},
    ascii_class{"print", {{{' ', '~'}, {}, {}, {}}}, 1},
    ascii_class{"punct", {{{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}}, 4},
    ascii_class{"space", {{{'\t', '\r'}, {' ', ' '}, {}, {}}}, 2},
    ascii_class{"upper", {{{'A', 'Z'}, {}, {}, {}}}, 1},
    ascii_class{"word", {{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}}, 4},
    ascii_class{"xdigit", {{{'0', '9'}, {'A', 'F'}, {'a', 'f'}, {}}}, 3},
};

// The parsed expression.

constexpr unsigned unlimited = ~0U;

struct node {
  enum class kind : std::uint8_t { set, line_begin, line_end, boundary, no_boundary, sequence, choice, repeat };

  kind is = kind::sequence;
  ranges set{};                      ///< of a set: normalized
  bool negated = false;              ///< of a set: all code points except its ranges
  bool fold = false;                 ///< of a set: ignores the case; before it is negated
  std::vector<std::string> named{};  ///< of a set: what its ranges were typed as, in Vectorscan's syntax
  unsigned min = 0;                  ///< of a repeat
  unsigned max = 0;
  std::vector<node> parts{};
};

using kind = node::kind;

bool is_assertion(const node& of) {
  return of.is == kind::line_begin || of.is == kind::line_end || of.is == kind::boundary || of.is == kind::no_boundary;
}

/// Matches the empty text at every place.
bool is_nullable(const node& of) {
  switch (of.is) {
    case kind::sequence:
      return std::ranges::all_of(of.parts, is_nullable);
    case kind::choice:
      return std::ranges::any_of(of.parts, is_nullable);
    case kind::repeat:
      return of.min == 0 || is_nullable(of.parts[0]);
    default:
      return false;
  }
}

/// Means the same in all bytes as in ASCII.
bool is_plain_node(const node& of) {
  if (of.is == kind::boundary || of.is == kind::no_boundary) return false;
  if (of.is == kind::set) {
    const bool has_cases =
        of.fold && (contains(of.set, 's') || contains(of.set, 'S') || contains(of.set, 'k') || contains(of.set, 'K'));
    return !of.negated && !has_cases && (of.set.empty() || of.set.back().last < 0x80);
  }
  return std::ranges::all_of(of.parts, is_plain_node);
}

enum class side : std::uint8_t { front, back };

/// Shortens repetitions at one side of an expression: "a.*" matches in the lines where "a" does, with fewer matches.
void shorten(node& all, side at) {
  if (all.is == kind::repeat) all.max = all.min;
  if (all.is == kind::choice) {
    for (node& part : all.parts) shorten(part, at);
  }
  if (all.is != kind::sequence) return;
  while (!all.parts.empty()) {
    node& end = at == side::front ? all.parts.front() : all.parts.back();
    shorten(end, at);
    if (end.is != kind::repeat || end.max > 0) return;
    all.parts.erase(at == side::front ? all.parts.begin() : all.parts.end() - 1);
  }
}

// The parser.

constexpr unsigned max_depth = 100;
constexpr unsigned max_repeats_of_one = 8;  // (a*)* without parentheses

class parser {
 public:
  parser(const match_expression& of, bool ignore_case)
      : name_(of.name), text_(of.pattern), flags_{.fold = ignore_case} {}

  node parse() {
    if (!config::is_utf8(text_)) refuse("is not valid UTF-8", 0);
    node all = parse_choice(flags_);
    if (!at_end()) refuse("has a ) without (", at_);
    return all;
  }

 private:
  struct flags {
    bool fold = false;
    bool dot_all = false;
  };

  [[noreturn]] void refuse(std::string_view error, std::size_t at) const {
    throw config::usage_error(
        config::pointing_at("the expression of " + config::quote(name_) + " " + std::string(error), text_, at));
  }

  [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] bool sees(std::string_view next) const { return text_.substr(at_).starts_with(next); }

  bool take(std::string_view next) {
    if (!sees(next)) return false;
    at_ += next.size();
    return true;
  }

  std::uint32_t take_code_point() {
    const std::size_t length = config::utf8_sequence(text_.substr(at_));
    const auto lead = static_cast<unsigned char>(text_[at_]);
    std::uint32_t c = length == 1 ? lead : lead & (0xffU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) c = (c << 6U) | (static_cast<unsigned char>(text_[at_ + i]) & 0x3fU);
    at_ += length;
    return c;
  }

  /// Until the end or a ')', which is not taken. The flags change for the rest of the group.
  node parse_choice(flags now) {
    if (++depth_ > max_depth) refuse("is nested too deep; at most 100 levels are possible", at_);
    node all{.is = kind::choice};
    all.parts.push_back({.is = kind::sequence});
    while (!at_end() && !sees(")")) {
      if (take("|")) {
        all.parts.push_back({.is = kind::sequence});
      } else {
        parse_item(all.parts.back(), now);
      }
    }
    --depth_;
    if (all.parts.size() > 1) return all;
    node only = std::move(all.parts[0]);
    return only;
  }

  void parse_item(node& into, flags& now) {
    std::optional<node> item = parse_atom(now);
    if (!item.has_value()) return;  // flags
    for (unsigned repeats = 0; parse_repeat(*item); ++repeats) {
      if (repeats == max_repeats_of_one) refuse("has too many repetitions in each other", at_);
    }
    into.parts.push_back(std::move(*item));
  }

  std::optional<node> parse_atom(flags& now) {
    const std::size_t begin = at_;
    if (take("(")) return parse_group(now, begin);
    if (take("[")) return parse_set(now, begin);
    if (take("^")) return node{.is = kind::line_begin};
    if (take("$")) return node{.is = kind::line_end};
    if (take("\\")) return parse_escape(now, begin);
    if (sees("*") || sees("+") || sees("?") || sees("{"))
      refuse("has a repetition without an operand; \\ before the character makes it literal", begin);
    if (take(".")) {
      node any{.is = kind::set, .negated = true};
      if (!now.dot_all) any.set = {{.first = '\n', .last = '\n'}};
      return any;
    }
    const std::uint32_t c = take_code_point();
    return literal(c, now);
  }

  static node literal(std::uint32_t c, const flags& now) {
    return {.is = kind::set, .set = {{.first = c, .last = c}}, .fold = now.fold};
  }

  std::optional<node> parse_group(flags& now, std::size_t begin) {
    if (sees("*")) refuse("has a verb (*...), which is not supported", begin);
    flags inside = now;
    if (take("?")) {
      refuse_special_group(begin);
      if (sees("P<") || sees("<")) {
        skip_group_name(begin);
      } else {
        const flags typed = parse_flags(now, begin);
        if (take(")")) {
          now = typed;
          return std::nullopt;
        }
        ++at_;  // the colon
        inside = typed;
      }
    }
    node group = parse_choice(inside);
    if (!take(")")) refuse("has a ( without )", begin);
    return group;
  }

  void refuse_special_group(std::size_t begin) const {
    struct special {
      std::string_view after;
      std::string_view noun;
    };
    constexpr std::array all = {
        special{"=", "look-ahead"},   special{"!", "look-ahead"},      special{"<=", "look-behind"},
        special{"<!", "look-behind"}, special{">", "an atomic group"}, special{"(", "a condition"},
        special{"#", "a comment"},    special{"R", "recursion"},       special{"P=", "a back-reference"},
        special{"P>", "recursion"},   special{"&", "recursion"},       special{"|", "a branch reset"}};
    for (const special& each : all) {
      if (sees(each.after)) refuse("has " + std::string(each.noun) + ", which is not supported", begin);
    }
  }

  void skip_group_name(std::size_t begin) {
    const std::size_t end = text_.find('>', at_);
    if (end == std::string_view::npos) refuse("has a group name without >", begin);
    at_ = end + 1;
  }

  /// Before ':' or ')', one of which follows.
  flags parse_flags(flags now, std::size_t begin) {
    bool on = true;
    for (; !at_end() && !sees(":") && !sees(")"); ++at_) {
      switch (text_[at_]) {
        case '-':
          on = false;
          break;
        case 'i':
          now.fold = on;
          break;
        case 's':
          now.dot_all = on;
          break;
        case 'm':
        case 'U':
          break;
        case 'u':
          if (!on) refuse("has the flag -u, which is not supported", at_);
          break;
        case 'x':
          refuse("has the flag x, which is not supported", at_);
        default:
          refuse("has an unknown flag or group", at_);
      }
    }
    if (at_end()) refuse("has a ( without )", begin);
    return now;
  }

  /// Wraps the operand if a repetition follows.
  bool parse_repeat(node& operand) {
    node repeat{.is = kind::repeat, .min = 0, .max = unlimited};
    const std::size_t begin = at_;
    if (take("+")) {
      repeat.min = 1;
    } else if (take("?")) {
      repeat.max = 1;
    } else if (take("{")) {
      parse_counts(repeat, begin);
    } else if (!take("*")) {
      return false;
    }
    take("?");  // lazy: the same lines match
    repeat.parts.push_back(std::move(operand));
    operand = std::move(repeat);
    return true;
  }

  void parse_counts(node& repeat, std::size_t begin) {
    repeat.min = parse_number(begin);
    repeat.max = repeat.min;
    if (take(",")) repeat.max = sees("}") ? unlimited : parse_number(begin);
    if (!take("}")) refuse("has a malformed repetition; \\{ is a literal brace", begin);
    if (repeat.max < repeat.min) refuse("has a repetition with its limits reversed", begin);
  }

  unsigned parse_number(std::size_t begin) {
    constexpr unsigned max_repeats = 32767;  // Vectorscan's
    unsigned number = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (error == std::errc::invalid_argument) refuse("has a malformed repetition; \\{ is a literal brace", begin);
    if (error != std::errc() || number > max_repeats) refuse("repeats more than 32,767 times", begin);
    at_ = static_cast<std::size_t>(end - text_.data());
    return number;
  }

  node parse_escape(const flags& now, std::size_t begin) {
    if (take("b")) return {.is = kind::boundary};
    if (take("B")) return {.is = kind::no_boundary};
    if (take("A")) return {.is = kind::line_begin};
    if (take("z")) return {.is = kind::line_end};
    node set{.is = kind::set, .fold = now.fold};
    if (parse_named_set(set, begin)) {
      normalize(set.set);
      return set;
    }
    return literal(parse_escaped_character(begin), now);
  }

  /// Adds \d \s \w \p or a complement of them, after the backslash. False if there is none.
  bool parse_named_set(node& into, std::size_t begin) {
    if (at_end()) refuse("ends with a backslash", begin);
    const char letter = text_[at_];
    const char lower = static_cast<char>(letter | 0x20);
    if (lower != 'd' && lower != 's' && lower != 'w' && lower != 'p') return false;
    ++at_;
    const std::string named(lower == 'd'   ? digits
                            : lower == 'w' ? word_characters
                            : lower == 's' ? ""
                                           : property(begin));
    const ranges all = lower == 's' ? spaces() : known_members(named, begin);
    add(into.set, letter == lower ? all : complement(all));
    if (lower == 'd' || lower == 'w' || (lower == 'p' && !into.fold)) into.named.push_back(named);
    return true;
  }

  [[nodiscard]] ranges known_members(std::string_view named, std::size_t begin) const {
    std::optional<ranges> all = members(named);
    if (!all.has_value())
      refuse(R"(has an unknown Unicode property; known are categories and scripts: \p{Lu}, \p{Greek})", begin);
    return std::move(*all);
  }

  std::string property(std::size_t begin) {
    std::string_view name = text_.substr(at_, 1);
    if (take("{")) {
      const std::size_t end = text_.find('}', at_);
      if (end == std::string_view::npos) refuse("has a \\p{ without }", begin);
      name = text_.substr(at_, end - at_);
      at_ = end + 1;
    } else {
      at_ += name.size();
    }
    const bool is_name = !name.empty() && std::ranges::all_of(name, [](char c) {
      return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
    });
    return "\\p{" + (is_name ? std::string(name) : "") + "}";
  }

  std::uint32_t parse_escaped_character(std::size_t begin) {
    const char c = text_[at_];
    if (c >= '0' && c <= '9') refuse("has a back-reference or octal number, which is not supported", begin);
    if (take("n")) return '\n';
    if (take("r")) return '\r';
    if (take("t")) return '\t';
    if (take("a")) return '\a';
    if (take("f")) return '\f';
    if (take("v")) return '\v';
    if (take("x")) return parse_hexadecimal(2, begin);
    if (take("u")) return parse_hexadecimal(4, begin);
    if (take("U")) return parse_hexadecimal(8, begin);
    const bool is_punctuation =
        contains({{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}, static_cast<unsigned char>(c));
    if (!is_punctuation) refuse("has an unknown escape", begin);
    ++at_;
    return static_cast<unsigned char>(c);
  }

  std::uint32_t parse_hexadecimal(std::size_t length, std::size_t begin) {
    std::string_view number = text_.substr(at_, length);
    if (take("{")) {
      number = text_.substr(at_, text_.substr(at_).find('}'));
      at_ += 1;
      length = number.size();
    }
    at_ += number.size();
    std::uint32_t c = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), c, 16);
    const bool is_complete =
        !number.empty() && number.size() == length && end == number.data() + number.size() && at_ <= text_.size();
    if (!is_complete || error != std::errc() || c > last_code_point || (c >= first_surrogate && c < after_surrogates))
      refuse("has a malformed code point", begin);
    return c;
  }

  node parse_set(const flags& now, std::size_t begin) {
    node set{.is = kind::set, .negated = take("^"), .fold = now.fold};
    bool is_first = true;
    for (; is_first || !sees("]"); is_first = false) {
      if (at_end()) refuse("has a [ without ]", begin);
      if (sees("&&") || sees("--") || sees("~~"))
        refuse("has an operation on sets, which is not supported; \\ before the character makes it literal", at_);
      parse_set_item(set, is_first);
    }
    ++at_;
    normalize(set.set);
    return set;
  }

  void parse_set_item(node& into, bool is_first) {
    const std::size_t begin = at_;
    if (sees("[:")) return add(into.set, parse_ascii_class(begin));
    if (sees("[")) refuse("has a set within a set, which is not supported; \\[ is a literal bracket", begin);
    std::uint32_t first = 0;
    if (take("\\")) {
      if (parse_named_set(into, begin)) {
        if (sees("-") && !text_.substr(at_).starts_with("-]")) refuse("has a range that begins with a set", begin);
        return;
      }
      if (sees("b")) refuse("has \\b in a set, which is not supported", begin);
      first = parse_escaped_character(begin);
    } else {
      first = take_code_point();
    }
    std::uint32_t last = first;
    const bool literal_dash = is_first && first == '-' && text_[begin] == '-';
    if (sees("-") && !text_.substr(at_).starts_with("-]") && !sees("--") && !literal_dash)
      last = parse_range_end(begin);
    if (last < first) refuse("has a range with its ends reversed", begin);
    into.set.push_back({.first = first, .last = last});
  }

  std::uint32_t parse_range_end(std::size_t begin) {
    ++at_;
    if (at_end()) refuse("has a [ without ]", begin);
    if (sees("[")) refuse("has a set within a set, which is not supported; \\[ is a literal bracket", at_);
    const std::size_t escape = at_;
    if (!take("\\")) return take_code_point();
    node ignored;
    if (parse_named_set(ignored, escape)) refuse("has a range that ends with a set", begin);
    return parse_escaped_character(escape);
  }

  ranges parse_ascii_class(std::size_t begin) {
    at_ += 2;
    const bool negated = take("^");
    const std::size_t end = text_.find(":]", at_);
    const std::string_view name = text_.substr(at_, end == std::string_view::npos ? end : end - at_);
    const auto* const found = std::ranges::find(ascii_classes, name, &ascii_class::name);
    if (end == std::string_view::npos || found == ascii_classes.end())
      refuse("has an unknown class of characters", begin);
    at_ = end + 2;
    const ranges all(found->all.begin(), found->all.begin() + static_cast<std::ptrdiff_t>(found->count));
    return negated ? complement(all) : all;
  }

  std::string_view name_;
  std::string_view text_;
  flags flags_;
  std::size_t at_ = 0;
  unsigned depth_ = 0;
};

// An expression as Vectorscan reads it.

/// The text that a database is for.
struct dialect {
  bool unicode = false;  ///< any valid UTF-8, without \b; or else ASCII
  bool batch = false;    ///< lines in sequence, each with '\n'; or else one line
  char delimiter = '\n';
};

/// Nothing if the node cannot match.
std::optional<std::string> text_of(const node& of, const dialect& as);

/// The text of a set, with the names of those parts that have one.
std::string with_names(ranges all, bool negated, std::span<const std::string> named) {
  std::string names;
  for (const std::string& each : named) {
    const ranges part = *members(each);
    if (!minus(part, all).empty()) continue;
    names += each;
    all = minus(all, part);
  }
  return set_text(all, negated, names);
}

std::optional<std::string> text_of_set(const node& of, const dialect& as) {
  const auto delimiter = static_cast<unsigned char>(as.delimiter);
  const ranges all = as.unicode ? of.set : ascii_part(of.set, of.fold);
  const ranges inside = without(of.negated ? complement(all) : all, delimiter);
  if (inside.empty()) return std::nullopt;
  if (!as.unicode) return of.negated ? set_text(complement(inside), true) : set_text(inside, false);
  if (of.fold) {  // the cases are added before the set is negated
    ranges typed = of.set;
    if (of.negated) typed.push_back({.first = delimiter, .last = delimiter});
    normalize(typed);
    return "(?i:" + with_names(of.negated ? typed : inside, of.negated, of.named) + ")";
  }
  std::string plain = with_names(inside, false, of.named);
  std::string inverse = with_names(complement(inside), true, of.named);
  return plain.size() < inverse.size() ? plain : inverse;
}

std::optional<std::string> text_of_sequence(const node& of, const dialect& as) {
  std::string out;
  for (const node& part : of.parts) {
    const std::optional<std::string> one = text_of(part, as);
    if (!one.has_value()) return std::nullopt;
    out += *one;
  }
  return out;
}

std::optional<std::string> text_of_choice(const node& of, const dialect& as) {
  std::optional<std::string> out;
  for (const node& part : of.parts) {
    const std::optional<std::string> one = text_of(part, as);
    if (one.has_value()) out = (out.has_value() ? *out + "|" : "(?:") + *one;
  }
  return out.has_value() ? std::optional(*out + ")") : std::nullopt;
}

std::optional<std::string> text_of_repeat(const node& of, const dialect& as) {
  if (of.max == 0) return "";
  const node& operand = of.parts[0];
  const std::optional<std::string> one = text_of(operand, as);
  if (!one.has_value()) return of.min == 0 ? std::optional<std::string>("") : std::nullopt;
  if (is_assertion(operand)) return of.min == 0 ? "" : *one;
  if (one->empty()) return "";
  const std::string upper = of.max == unlimited ? "" : std::to_string(of.max);
  return "(?:" + *one + "){" + std::to_string(of.min) + "," + upper + "}";
}

std::optional<std::string> text_of(const node& of, const dialect& as) {
  switch (of.is) {
    case kind::set:
      return text_of_set(of, as);
    case kind::line_begin:
      return as.batch ? "^" : "\\A";
    case kind::line_end:
      return as.batch ? "$" : "\\z";
    case kind::boundary:
      return as.unicode ? "" : "\\b";
    case kind::no_boundary:
      return as.unicode ? "" : "\\B";
    case kind::sequence:
      return text_of_sequence(of, as);
    case kind::choice:
      return text_of_choice(of, as);
    case kind::repeat:
      return text_of_repeat(of, as);
  }
  return std::nullopt;
}

// Confirmation of an expression with \b in a line.

struct instruction {
  enum class operation : std::uint8_t { set, split, jump, line_begin, line_end, boundary, no_boundary, match };

  operation what = operation::match;
  std::size_t to = 0;     ///< of split, jump; of a set: its index
  std::size_t other = 0;  ///< of split
};

using operation = instruction::operation;

constexpr std::size_t max_instructions = std::size_t{1} << 16U;

/// Instructions that a node needs, at most.
std::size_t instructions_of(const node& of) {
  std::size_t sum = 1;
  for (const node& part : of.parts) sum = std::min(sum + instructions_of(part) + 2, max_instructions + 1);
  if (of.is != kind::repeat) return sum;
  const std::size_t copies = of.max == unlimited ? std::size_t{of.min} + 1 : of.max;
  return std::min(sum * std::max<std::size_t>(copies, 1), max_instructions + 1);
}

struct program {
  std::vector<instruction> code;
  std::vector<ranges> sets;

  /// `delimiter`: no set contains it.
  program(const node& of, char delimiter) : delimiter_(delimiter) {
    append(of);
    code.push_back({.what = operation::match});
  }

 private:
  void append(const node& of) {
    switch (of.is) {
      case kind::set:
        append_set(of);
        break;
      case kind::line_begin:
        code.push_back({.what = operation::line_begin});
        break;
      case kind::line_end:
        code.push_back({.what = operation::line_end});
        break;
      case kind::boundary:
        code.push_back({.what = operation::boundary});
        break;
      case kind::no_boundary:
        code.push_back({.what = operation::no_boundary});
        break;
      case kind::sequence:
        for (const node& part : of.parts) append(part);
        break;
      case kind::choice:
        append_choice(of);
        break;
      case kind::repeat:
        append_repeat(of);
        break;
    }
  }

  void append_set(const node& of) {
    const std::optional<std::string> text = text_of_set(of, {.unicode = true, .delimiter = delimiter_});
    const auto [known, is_new] = indices_.emplace(text.value_or(""), sets.size());
    if (is_new) {
      const bool has_cases = of.fold && text.has_value();
      sets.push_back(has_cases ? scan_for_members(*text).value_or(ranges())
                               : without(of.negated ? complement(of.set) : of.set, delimiter_byte()));
    }
    code.push_back({.what = operation::set, .to = known->second});
  }

  [[nodiscard]] std::uint32_t delimiter_byte() const { return static_cast<unsigned char>(delimiter_); }

  void append_choice(const node& of) {
    std::vector<std::size_t> jumps;
    for (const node& part : of.parts) {
      const bool is_last = &part == &of.parts.back();
      const std::size_t split = code.size();
      if (!is_last) code.push_back({.what = operation::split, .to = split + 1});
      append(part);
      jumps.push_back(code.size());
      code.push_back({.what = operation::jump});
      if (!is_last) code[split].other = code.size();
    }
    for (const std::size_t jump : jumps) code[jump].to = code.size();
  }

  void append_repeat(const node& of) {
    for (unsigned i = 0; i < of.min; ++i) append(of.parts[0]);
    if (of.max == unlimited) {
      const std::size_t split = code.size();
      code.push_back({.what = operation::split, .to = split + 1});
      append(of.parts[0]);
      code.push_back({.what = operation::jump, .to = split});
      code[split].other = code.size();
      return;
    }
    std::vector<std::size_t> splits;
    for (unsigned i = of.min; i < of.max; ++i) {
      splits.push_back(code.size());
      code.push_back({.what = operation::split, .to = code.size() + 1});
      append(of.parts[0]);
    }
    for (const std::size_t split : splits) code[split].other = code.size();
  }

  char delimiter_;
  std::map<std::string, std::size_t> indices_;  // of sets, by their text
};

/// Without branches per byte: the compiler vectorizes it.
bool is_ascii(std::string_view text) {
  unsigned char all = 0;
  for (const char c : text) all = static_cast<unsigned char>(all | static_cast<unsigned char>(c));
  return all < 0x80;
}

constexpr std::uint32_t no_character = ~0U;  // a byte of invalid UTF-8, and the place before and after the line

struct decoded {
  std::uint32_t character = no_character;
  std::size_t bytes = 0;
};

decoded decode(std::string_view text) {
  const std::size_t length = config::utf8_sequence(text);
  if (length == 0) return {.bytes = std::min<std::size_t>(text.size(), 1)};
  const auto lead = static_cast<unsigned char>(text[0]);
  std::uint32_t c = length == 1 ? lead : lead & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) c = (c << 6U) | (static_cast<unsigned char>(text[i]) & 0x3fU);
  return {.character = c, .bytes = length};
}

/// Runs programs on lines; keeps its buffers.
class simulation {
 public:
  bool matches(const program& of, std::string_view line, const ranges& words) {
    now_.clear();
    seen_.assign(of.code.size(), 0);
    step_ = 0;
    std::uint32_t before = no_character;
    for (std::size_t at = 0;;) {
      const decoded next = decode(line.substr(at));
      const bool word_before = before != no_character && contains(words, before);
      const bool word_after = next.character != no_character && contains(words, next.character);
      place_ = {.is_begin = at == 0, .is_end = at == line.size(), .is_boundary = word_before != word_after};
      if (follow(of)) return true;
      if (at == line.size()) return false;
      advance(of, next.character);
      before = next.character;
      at += next.bytes;
    }
  }

 private:
  struct place {
    bool is_begin = false;
    bool is_end = false;
    bool is_boundary = false;
  };

  /// Adds the begin and all states that are reached without a character. True at a match.
  bool follow(const program& of) {
    ++step_;
    waiting_.assign(now_.begin(), now_.end());
    waiting_.push_back(0);
    now_.clear();
    while (!waiting_.empty()) {
      const std::size_t at = waiting_.back();
      waiting_.pop_back();
      if (std::exchange(seen_[at], step_) == step_) continue;
      const instruction& code = of.code[at];
      if (code.what == operation::match) return true;
      if (code.what == operation::set) now_.push_back(at);
      if (code.what == operation::split) waiting_.push_back(code.other);
      if (code.what == operation::split || code.what == operation::jump) waiting_.push_back(code.to);
      if (holds(code.what)) waiting_.push_back(at + 1);
    }
    return false;
  }

  [[nodiscard]] bool holds(operation what) const {
    return (what == operation::line_begin && place_.is_begin) || (what == operation::line_end && place_.is_end) ||
           (what == operation::boundary && place_.is_boundary) ||
           (what == operation::no_boundary && !place_.is_boundary);
  }

  void advance(const program& of, std::uint32_t character) {
    std::erase_if(now_, [&](std::size_t at) {
      return character == no_character || !contains(of.sets[of.code[at].to], character);
    });
    for (std::size_t& at : now_) ++at;
  }

  place place_;
  std::vector<std::size_t> now_;  // instructions that wait for a character
  std::vector<std::size_t> waiting_;
  std::vector<std::size_t> seen_;  // by instruction: the last step that reached it
  std::size_t step_ = 0;
};

// What users type.

bool is_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  });
}

std::string described(const match_expression& of, std::string_view error) {
  return "the expression of " + config::quote(of.name) + " " + std::string(error) + "\n    " +
         config::on_one_line(of.pattern);
}

std::string cause_for_users(std::string_view cause) {
  if (cause.find("mbedded") != std::string_view::npos) return "has ^ or $ at a place where it cannot match";
  if (cause.find("too large") != std::string_view::npos || cause.find("bytecode") != std::string_view::npos)
    return "is too large for Vectorscan; a shorter repetition, or [0-9A-Za-z_] instead of \\w, may help";
  return "is not supported by Vectorscan: " + config::on_one_line(cause);
}

}  // namespace

match_expression parse_match(std::string_view typed) {
  const std::size_t equals = typed.find('=');
  if (equals == std::string_view::npos)
    throw config::usage_error(config::quote(typed) + " has no name; write NAME=REGEX");
  const std::string_view name = typed.substr(0, equals);
  if (!is_name(name))
    throw config::usage_error(config::quote(name) + " is not a name; use letters, digits, _, - and . before the =");
  return {.name = std::string(name), .pattern = std::string(typed.substr(equals + 1))};
}

std::vector<match_expression> parse_match_file(std::string_view text, std::string_view where) {
  std::vector<match_expression> all;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos || line.starts_with('#')) continue;
    try {
      all.push_back(parse_match(line));
    } catch (const config::usage_error& error) {
      throw config::usage_error(std::string(where) + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  return all;
}

/// The databases, for each kind of text.
class match_set::databases {
 public:
  struct family {
    database ascii;    ///< null: no expression can match
    database unicode;  ///< null: as `ascii`
    char delimiter = '\n';
  };

  databases(const std::vector<match_expression>& typed, bool ignore_case)
      : typed_(typed), words_((typed.size() + 63) / 64) {
    always_.resize(words_);
    for (std::size_t i = 0; i < typed.size(); ++i) {
      parsed_.push_back(parser(typed[i], ignore_case).parse());
      node& all = parsed_.back();
      const std::uint64_t bit = std::uint64_t{1} << (i % 64);
      if (is_nullable(all)) {
        always_[i / 64] |= bit;
        continue;
      }
      shorten(all, side::front);
      shorten(all, side::back);
      is_plain_ = is_plain_ && is_plain_node(all);
      if (instructions_of(all) > max_instructions) throw config::usage_error(described(typed[i], "is too large"));
    }
    batch_ = make({.batch = true});
  }

  [[nodiscard]] std::size_t words() const { return words_; }
  [[nodiscard]] std::span<const std::uint64_t> always() const { return always_; }
  /// The database for ASCII serves for all bytes.
  [[nodiscard]] bool is_plain() const { return is_plain_; }
  [[nodiscard]] const family& batch() const { return batch_; }

  /// For one line.
  const family& single(char delimiter) {
    const std::lock_guard lock(guard_);
    const auto found = singles_.find(delimiter);
    return found != singles_.end() ? found->second
                                   : singles_.emplace(delimiter, make({.delimiter = delimiter})).first->second;
  }

  const program& confirmation(std::size_t expression, char delimiter) {
    const std::lock_guard lock(guard_);
    const std::pair key(expression, delimiter);
    const auto found = programs_.find(key);
    return found != programs_.end() ? found->second
                                    : programs_.emplace(key, program(parsed_[expression], delimiter)).first->second;
  }

 private:
  family make(dialect as) {
    family made;
    made.delimiter = as.delimiter;
    made.ascii = make_one(as);
    as.unicode = true;
    if (!is_plain_) made.unicode = make_one(as);
    return made;
  }

  database make_one(const dialect& as) {
    std::vector<written> texts;
    for (std::size_t i = 0; i < parsed_.size(); ++i) {
      if (((always_[i / 64] >> (i % 64)) & 1U) != 0) continue;
      std::optional<std::string> text = text_of(parsed_[i], as);
      if (text.has_value() && text->empty()) text = as.batch ? "^" : "\\A";  // each line
      if (text.has_value()) texts.push_back({.text = std::move(*text), .expression = static_cast<unsigned>(i)});
    }
    if (texts.empty()) return nullptr;
    const unsigned flags = HS_FLAG_ALLOWEMPTY | (as.batch ? HS_FLAG_MULTILINE : 0U) | (as.unicode ? unicode_flags : 0U);
    std::optional<compile_failure> failure;
    database made = compile(texts, flags, failure);
    while (failure.has_value() && failure->expression.has_value() &&
           failure->cause.find("never match") != std::string::npos) {
      std::erase_if(texts, [&](const written& each) { return each.expression == *failure->expression; });
      if (texts.empty()) return nullptr;
      failure.reset();
      made = compile(texts, flags, failure);
    }
    if (!failure.has_value()) return made;
    if (!failure->expression.has_value())
      throw config::usage_error("the expressions are too large together: Vectorscan: " +
                                config::on_one_line(failure->cause));
    throw config::usage_error(described(typed_[*failure->expression], cause_for_users(failure->cause)));
  }

  std::vector<match_expression> typed_;
  std::size_t words_;
  std::vector<node> parsed_;
  std::vector<std::uint64_t> always_;
  bool is_plain_ = true;
  family batch_;
  std::mutex guard_;  // of the members below; their values do not move
  std::map<char, family> singles_;
  std::map<std::pair<std::size_t, char>, program> programs_;
};

match_set::match_set(std::vector<match_expression> typed, bool ignore_case) : typed_(std::move(typed)) {
  if (typed_.size() > max_expressions)
    throw config::usage_error(config::grouped(typed_.size()) + " expressions are too many; at most 4,096 are possible");
  [[maybe_unused]] static const bool is_checked = (check_vectorscan(), true);
  std::set<std::string_view> names;
  for (const match_expression& each : typed_) {
    if (!names.insert(each.name).second)
      throw config::usage_error("the name " + config::quote(each.name) + " occurs twice; give each expression its own");
    if (each.pattern.size() > max_pattern)
      throw config::usage_error("the expression of " + config::quote(each.name) + " is longer than 8 KiB");
  }
  databases_ = std::make_unique<databases>(typed_, ignore_case);
}

match_set::~match_set() = default;
match_set::match_set(match_set&&) noexcept = default;
match_set& match_set::operator=(match_set&&) noexcept = default;

class match_reader::scanner {
 public:
  explicit scanner(match_set::databases& all) : all_(all) { reserve_for(all_.batch()); }

  [[nodiscard]] std::size_t words() const { return all_.words(); }

  void read(std::string_view text, std::span<const std::uint32_t> ends, char delimiter,
            std::span<std::uint64_t> matched) {
    for (std::size_t i = 0; i < ends.size(); ++i)
      std::ranges::copy(all_.always(), matched.subspan(i * words()).begin());
    if (ends.empty() || words() == 0) return;
    const batch lines{.text = text.substr(0, ends.back()), .ends = ends, .matched = matched, .delimiter = delimiter};
    if (delimiter != '\n' || !is_regular(lines)) {
      for (std::size_t i = 0; i < ends.size(); ++i) read_alone(lines, i);
    } else if (all_.is_plain() || is_ascii(lines.text)) {
      scan(all_.batch().ascii.get(), lines, 0, ends.size());
    } else {
      read_parts(lines);
    }
  }

 private:
  struct batch {
    std::string_view text;
    std::span<const std::uint32_t> ends;
    std::span<std::uint64_t> matched;
    char delimiter = '\n';

    [[nodiscard]] std::size_t begin_of(std::size_t line) const { return line == 0 ? 0 : ends[line - 1]; }
    [[nodiscard]] std::string_view with_end(std::size_t line) const {
      return text.substr(begin_of(line), ends[line] - begin_of(line));
    }
    [[nodiscard]] std::string_view content(std::size_t line) const {
      const std::string_view all = with_end(line);
      return all.ends_with(delimiter) ? all.substr(0, all.size() - 1) : all;
    }
  };

  /// Receives the end offsets of one scan.
  struct receiver {
    std::span<const std::uint32_t> ends;  ///< of the lines scanned
    std::uint64_t* matched;
    std::size_t words;
    std::uint64_t base;   ///< offset of the scanned text
    std::uint64_t limit;  ///< first offset that is in no line
    std::size_t line = 0;

    void note(unsigned expression, std::uint64_t offset) {
      const std::uint64_t to = offset + base;
      if (to >= limit) return;
      if (to >= ends[line] || (line > 0 && to < ends[line - 1])) {
        const auto from = to >= ends[line] ? ends.begin() + static_cast<std::ptrdiff_t>(line) : ends.begin();
        line =
            std::min(static_cast<std::size_t>(std::upper_bound(from, ends.end(), to) - ends.begin()), ends.size() - 1);
      }
      matched[line * words + expression / 64] |= std::uint64_t{1} << (expression % 64);
    }
  };

  static int receive(unsigned id, unsigned long long /*from*/, unsigned long long to, unsigned /*flags*/,
                     void* context) {
    static_cast<receiver*>(context)->note(id, to);
    return 0;
  }

  /// All lines but the last end in '\n', and the last one is not empty: ^ and $ of a batch are those of the lines.
  static bool is_regular(const batch& lines) {
    for (std::size_t i = 0; i < lines.ends.size(); ++i) {
      const std::string_view line = lines.with_end(i);
      if (line.empty() || (line.back() != '\n' && i + 1 < lines.ends.size())) return false;
    }
    return true;
  }

  void reserve_for(const match_set::databases::family& databases) {
    if (databases.ascii != nullptr) reserve(scratch_, databases.ascii.get());
    if (databases.unicode != nullptr) reserve(scratch_, databases.unicode.get());
  }

  const match_set::databases::family& single(char delimiter) {
    if (single_ == nullptr || single_->delimiter != delimiter) {
      single_ = &all_.single(delimiter);
      reserve_for(*single_);
    }
    return *single_;
  }

  void scan(const hs_database_t* database, const batch& lines, std::size_t first, std::size_t after) {
    if (database == nullptr) return;
    const std::size_t begin = lines.begin_of(first);
    const std::string_view text = lines.text.substr(begin, lines.ends[after - 1] - begin);
    const std::uint64_t limit = begin + text.size() + (text.ends_with('\n') ? 0 : 1);
    receiver into{.ends = lines.ends.subspan(first, after - first),
                  .matched = lines.matched.data() + first * words(),
                  .words = words(),
                  .base = begin,
                  .limit = limit};
    check(scan_text(database, text, scratch_.get(), receive, &into));
  }

  void scan_unicode(const batch& lines, std::size_t first, std::size_t after) {
    scan(all_.batch().unicode.get(), lines, first, after);
    for (std::size_t i = first; i < after; ++i) confirm(lines, i);
  }

  enum class content : std::uint8_t { ascii, utf8, other };

  static content content_of(std::string_view text) {
    if (is_ascii(text)) return content::ascii;
    return simdjson::validate_utf8(text) ? content::utf8 : content::other;
  }

  /// Scans neighbours of one kind together.
  void read_parts(const batch& lines) {
    for (std::size_t first = 0; first < lines.ends.size();) {
      const content kind_of_part = content_of(lines.with_end(first));
      std::size_t after = first + 1;
      while (after < lines.ends.size() && content_of(lines.with_end(after)) == kind_of_part) ++after;
      if (kind_of_part == content::ascii) {
        scan(all_.batch().ascii.get(), lines, first, after);
      } else if (kind_of_part == content::utf8) {
        scan_unicode(lines, first, after);
      } else {
        for (std::size_t i = first; i < after; ++i) read_alone(lines, i);
      }
      first = after;
    }
  }

  void read_alone(const batch& lines, std::size_t line) {
    const match_set::databases::family& databases = single(lines.delimiter);
    std::string_view text = lines.content(line);
    if (all_.is_plain() || is_ascii(text)) return scan_alone(databases.ascii.get(), text, lines, line);
    if (!simdjson::validate_utf8(text)) text = without_invalid(text, lines.delimiter);
    scan_alone(databases.unicode.get(), text, lines, line);
    confirm(lines, line);
  }

  void scan_alone(const hs_database_t* database, std::string_view text, const batch& lines, std::size_t line) {
    if (database == nullptr) return;
    const auto end = static_cast<std::uint32_t>(text.size());
    receiver into{.ends = {&end, 1},
                  .matched = lines.matched.data() + line * words(),
                  .words = words(),
                  .base = 0,
                  .limit = std::uint64_t{end} + 1};
    check(scan_text(database, text, scratch_.get(), receive, &into));
  }

  /// Each invalid byte is replaced by the delimiter, which no expression matches.
  std::string_view without_invalid(std::string_view text, char delimiter) {
    repaired_.assign(text);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t length = config::utf8_sequence(text.substr(at));
      if (length == 0) repaired_[at] = delimiter;
      at += std::max<std::size_t>(length, 1);
    }
    return repaired_;
  }

  void confirm(const batch& lines, std::size_t line) {
    for (std::size_t word = 0; word < words(); ++word) {
      std::uint64_t& bits = lines.matched[line * words() + word];
      for (std::uint64_t rest = bits & ~all_.always()[word]; rest != 0; rest &= rest - 1) {
        const auto bit = static_cast<std::size_t>(std::countr_zero(rest));
        if (words_.empty()) words_ = *members(word_characters);
        const program& of = all_.confirmation(word * 64 + bit, lines.delimiter);
        if (!simulation_.matches(of, lines.content(line), words_)) bits &= ~(std::uint64_t{1} << bit);
      }
    }
  }

  match_set::databases& all_;
  scratch scratch_;
  const match_set::databases::family* single_ = nullptr;
  std::string repaired_;
  ranges words_;
  simulation simulation_;
};

match_reader::match_reader(const match_set& set) : scanner_(std::make_unique<scanner>(*set.databases_)) {}
match_reader::~match_reader() = default;
match_reader::match_reader(match_reader&&) noexcept = default;
match_reader& match_reader::operator=(match_reader&&) noexcept = default;

void match_reader::read(std::string_view text, std::span<const std::uint32_t> ends, char delimiter,
                        std::span<std::uint64_t> matched) {
  scanner_->read(text, ends, delimiter, matched);
}

std::size_t match_reader::words_per_line() const { return scanner_->words(); }

}  // namespace gpuhist::report::lines
