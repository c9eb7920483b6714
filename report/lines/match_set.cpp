// The strings to search for ("needles") are from the atoms of re2::FilteredRE2 (Cox 2012), which gives strings and a
// condition on them that holds in each text that matches. From them, a few needles are chosen so that a line with none
// of them cannot match. Needles are of ASCII only: letters are compared without regard to case, and the cases of other
// letters differ in more than one bit.
#include "report/lines/match_set.hpp"

#include "config/expression.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"

#include <re2/filtered_re2.h>
#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace gpuhist::report::lines {
namespace {

constexpr std::size_t min_second = 4;   // bytes of a second needle: shorter ones are in too many lines
constexpr std::size_t most_atoms = 64;  // of an expression whose needles are chosen; all are used if it has more
constexpr std::int64_t max_bytes = std::int64_t{8} << 20U;  // of the automata of an expression

// Expressions without needles are searched by one automaton for several: 1.8 times as fast for 3, 5 times for 8. More
// of them have too many combinations of states.
constexpr std::size_t least_together = 3;
constexpr std::size_t most_together = 8;

re2::StringPiece piece_of(std::string_view text) {
  // for RE2, null is no text rather than an empty one
  return text.empty() ? re2::StringPiece("") : re2::StringPiece(text.data(), text.size());
}

RE2::Options options_of(bool ignore_case, std::size_t expressions = 1) {
  RE2::Options options(RE2::Quiet);
  options.set_case_sensitive(!ignore_case);
  options.set_max_mem(max_bytes * static_cast<std::int64_t>(expressions));
  return options;
}

// Errors of expressions.

struct unsupported {
  std::string_view begin;  // of the construct
  std::string_view name;
};

constexpr std::array constructs = {
    unsupported{"(?=", "look-ahead"},       unsupported{"(?!", "look-ahead"},      unsupported{"(?<=", "look-behind"},
    unsupported{"(?<!", "look-behind"},     unsupported{"(?>", "an atomic group"}, unsupported{"(?#", "a comment"},
    unsupported{"(?(", "a condition"},      unsupported{"(?R", "a recursion"},     unsupported{"(?x", "the flag x"},
    unsupported{"\\k", "a back-reference"},
};

std::optional<std::string_view> unsupported_at(std::string_view construct) {
  if (construct.size() > 1 && construct[0] == '\\' && construct[1] >= '1' && construct[1] <= '9')
    return "a back-reference";
  const auto known =
      std::ranges::find_if(constructs, [&](const unsupported& each) { return construct.starts_with(each.begin); });
  if (known == constructs.end()) return std::nullopt;
  return known->name;
}

[[noreturn]] void refuse(const match_expression& typed, const RE2& made) {
  const std::string_view pattern = typed.pattern;
  const std::string noun = "the expression of " + config::quote(typed.name) + " ";
  const std::string& argument = made.error_arg();
  const std::size_t at = argument.empty() ? std::string_view::npos : pattern.find(argument);
  std::string message = noun + "is not valid: " + config::on_one_line(made.error());
  if (made.error_code() == RE2::ErrorPatternTooLarge) {
    message = noun + "is too large; shorten its repetitions";
  } else if (made.error_code() == RE2::ErrorBadUTF8) {
    message = noun + "is not valid UTF-8";
  } else if (made.error_code() == RE2::ErrorRepeatSize) {
    message = noun + "repeats more than 1,000 times or in reverse order: " + config::on_one_line(argument);
  } else if (made.error_code() == RE2::ErrorBadPerlOp && argument == "(?<" && !unsupported_at(pattern.substr(at))) {
    message = noun + "has a named group that RE2 does not know; write (?P<name>...)";
  } else if (at != std::string_view::npos) {
    const auto construct = unsupported_at(pattern.substr(at));
    if (construct) message = noun + "has " + std::string(*construct) + ", which is not supported";
  }
  if (at == std::string_view::npos) throw config::usage_error(message + "\n    " + config::on_one_line(pattern));
  throw config::usage_error(config::pointing_at(message, pattern, at));
}

// Needles.

/// Whether the expression may match U+212A or U+017F, which are cases of k and s, where its atoms have k or s.
bool may_match_other_cases(std::string_view pattern, bool ignore_case) {
  if (ignore_case) return true;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const std::string_view rest = pattern.substr(at);
    if (static_cast<unsigned char>(rest[0]) >= 0x80) return true;
    if (rest.starts_with("\\x") || rest.starts_with("\\p") || rest.starts_with("\\P")) return true;
    if (!rest.starts_with("(?")) continue;
    const std::string_view flags = rest.substr(2, rest.find_first_not_of("imsU-", 2) - 2);
    if (flags.find('i') != std::string_view::npos) return true;
  }
  return false;
}

/// The longest part of an atom that is in each text with the atom.
std::string needle_of(std::string_view atom, bool other_cases) {
  const auto differs = [&](char c) {
    return static_cast<unsigned char>(c) >= 0x80 || (other_cases && (c == 'k' || c == 's'));
  };
  std::string_view longest;
  for (std::size_t begin = 0; begin < atom.size();) {
    std::size_t end = begin;
    while (end < atom.size() && !differs(atom[end])) ++end;
    if (end - begin > longest.size()) longest = atom.substr(begin, end - begin);
    begin = end + 1;
  }
  return std::string(longest);
}

/// A text without any of `first` does not match, nor does one without any of `second`. Empty: there are no such
/// needles.
struct chosen_needles {
  std::vector<std::string> first{};
  std::vector<std::string> second{};
};

/// Chooses needles of one expression.
class needle_choice {
 public:
  /// `filtered` has one expression, for which it gave the atoms.
  needle_choice(const re2::FilteredRE2& filtered, std::vector<std::string> needles)
      : filtered_(filtered), needles_(std::move(needles)), is_chosen_(needles_.size()) {}

  chosen_needles choose() {
    chosen_needles made;
    std::vector<bool> allowed;
    for (const std::string& each : needles_) allowed.push_back(each.size() >= gpu::host::literal::min_size);
    made.first = choose_among(allowed);
    if (made.first.empty() || needles_.size() > most_atoms) return made;
    for (std::size_t i = 0; i < allowed.size(); ++i) allowed[i] = !is_chosen_[i] && needles_[i].size() >= min_second;
    made.second = choose_among(allowed);
    return made;
  }

 private:
  std::vector<std::string> choose_among(const std::vector<bool>& allowed) {
    is_chosen_ = allowed;
    if (may_match_without_chosen()) return {};
    if (needles_.size() <= most_atoms) drop_short_ones();
    std::vector<std::string> chosen;
    for (std::size_t i = 0; i < needles_.size(); ++i) {
      if (is_chosen_[i]) chosen.push_back(needles_[i]);
    }
    return chosen;
  }

  void drop_short_ones() {
    std::vector<std::size_t> order(needles_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(needles_[i].size(), i); });
    for (const std::size_t i : order) {
      if (!is_chosen_[i]) continue;
      is_chosen_[i] = false;
      if (may_match_without_chosen()) is_chosen_[i] = true;
    }
  }

  bool may_match_without_chosen() {
    std::vector<int> present;
    for (std::size_t i = 0; i < is_chosen_.size(); ++i) {
      if (!is_chosen_[i]) present.push_back(static_cast<int>(i));
    }
    std::vector<int> potential;
    filtered_.AllPotentials(present, &potential);
    return !potential.empty();
  }

  const re2::FilteredRE2& filtered_;
  std::vector<std::string> needles_;  // one for each atom
  std::vector<bool> is_chosen_;
};

/// Throws config::usage_error if RE2 refuses the expression.
chosen_needles needles_of(const match_expression& typed, bool ignore_case) {
  const RE2::Options options = options_of(ignore_case);
  re2::FilteredRE2 filtered(static_cast<int>(gpu::host::literal::min_size));
  int id = 0;
  if (filtered.Add(piece_of(typed.pattern), options, &id) != RE2::NoError)
    refuse(typed, RE2(piece_of(typed.pattern), options));
  std::vector<std::string> atoms;
  filtered.Compile(&atoms);
  const bool other_cases = may_match_other_cases(typed.pattern, ignore_case);
  for (std::string& each : atoms) each = needle_of(each, other_cases);
  return needle_choice(filtered, std::move(atoms)).choose();
}

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_escapable(char c) { return c > ' ' && c < 0x7f && !is_letter(c) && !is_digit(c) && c != '_'; }

// Of an expression without operators, or with (?i) only, which RE2 is not needed to find.
std::optional<gpu::cuda::units::searched_string> string_in(std::string_view pattern, bool ignore_case) {
  constexpr std::string_view ignores_case = "(?i)";
  gpu::cuda::units::searched_string made{.text = {}, .ignores_case = ignore_case};
  if (pattern.starts_with(ignores_case)) {
    made.ignores_case = true;
    pattern.remove_prefix(ignores_case.size());
  }
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const bool is_escaped = pattern[at] == '\\';
    if (is_escaped) ++at;
    if (is_escaped && (at == pattern.size() || !is_escapable(pattern[at]))) return std::nullopt;
    if (!is_escaped && std::string_view("^$.[]|()?*+{}").find(pattern[at]) != std::string_view::npos)
      return std::nullopt;
    made.text += pattern[at];
  }
  if (made.text.empty() || (made.ignores_case && !std::ranges::all_of(made.text, is_ascii))) return std::nullopt;
  return made;
}

bool is_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  });
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

match_set::match_set(std::vector<match_expression> typed, bool ignore_case)
    : typed_(std::move(typed)), ignores_case_(ignore_case), needles_({}) {
  if (typed_.size() > max_expressions)
    throw config::usage_error(config::grouped(typed_.size()) + " expressions are too many; at most 4,096 are possible");
  std::set<std::string_view> names;
  using letters = gpu::host::literal::letters;
  std::map<std::pair<std::string, letters>, std::vector<candidate>> by_needle;
  for (const match_expression& each : typed_) {
    if (!names.insert(each.name).second)
      throw config::usage_error("the name " + config::quote(each.name) + " occurs twice; give each expression its own");
    if (each.pattern.size() > max_pattern)
      throw config::usage_error("the expression of " + config::quote(each.name) + " is longer than 8 KiB");
    const auto expression = static_cast<std::uint32_t>(&each - typed_.data());
    strings_.push_back(string_in(each.pattern, ignore_case));
    const chosen_needles needles = needles_of(each, ignore_case);
    if (is_needle(expression)) {
      by_needle[{strings_.back()->text, letters::exact}].push_back({.expression = expression});
      continue;
    }
    if (needles.first.empty()) without_needles_.push_back(expression);
    const auto add = [&](const std::string& needle, bool is_of_second) {
      by_needle[{needle, letters::either_case}].push_back({.expression = expression, .is_of_second = is_of_second});
    };
    for (const std::string& needle : needles.first) add(needle, false);
    for (const std::string& needle : needles.second) add(needle, true);
  }
  std::vector<gpu::host::literal> needles;
  for (auto& [needle, expressions] : by_needle) {
    needles.emplace_back(needle.first, needle.second);
    candidates_.push_back(std::move(expressions));
  }
  needles_ = gpu::host::literal_set(std::move(needles));
}

std::vector<gpu::cuda::units::searched_string> match_set::strings() const {
  std::vector<gpu::cuda::units::searched_string> all;
  for (const auto& each : strings_) {
    if (!each) return {};
    all.push_back(*each);
  }
  return all;
}

class match_reader::searcher {
 public:
  explicit searcher(const match_set& set)
      : set_(set),
        words_((set.size() + 63) / 64),
        uncertain_(words_, ~std::uint64_t{0}),
        has_second_(words_),
        expressions_(set.size()) {
    for (std::size_t i = 0; i < set.size(); ++i) {
      if (set.is_needle(i)) uncertain_[i / 64] &= ~bit_of(i);
    }
    for (std::size_t needle = 0; needle < set.needles().size(); ++needle) {
      for (const match_set::candidate& each : set.candidates(needle)) {
        if (each.is_of_second) has_second_[each.expression / 64] |= bit_of(each.expression);
      }
    }
    std::span<const std::uint32_t> rest = set.without_needles();
    while (rest.size() >= least_together) {
      const std::size_t size = std::min(rest.size(), most_together);
      add_group(rest.first(size));
      rest = rest.subspan(size);
    }
    for (const std::uint32_t each : rest) groups_.push_back({.members = {each}});
  }

  [[nodiscard]] std::size_t words() const { return words_; }

  void read(std::string_view text, std::span<const std::uint32_t> ends, char delimiter,
            std::span<std::uint64_t> matched) {
    lines_ = {.text = text, .ends = ends, .delimiter = delimiter};
    matched_ = matched.first(ends.size() * words_);
    std::ranges::fill(matched_, 0U);
    second_.assign(matched_.size(), 0U);
    if (matched_.empty()) return;
    mark_candidates();
    confirm_candidates();
    for (const group& each : groups_) search_all_lines(each);
  }

 private:
  struct batch {
    std::string_view text;
    std::span<const std::uint32_t> ends;
    char delimiter = '\n';

    [[nodiscard]] std::size_t begin_of(std::size_t line) const { return line == 0 ? 0 : ends[line - 1]; }
    /// Without its delimiter.
    [[nodiscard]] std::string_view content(std::size_t line) const {
      const std::string_view all = text.substr(begin_of(line), ends[line] - begin_of(line));
      return all.ends_with(delimiter) ? all.substr(0, all.size() - 1) : all;
    }
    /// The line of this offset, which is often that of the search before, or one of the next.
    [[nodiscard]] std::size_t line_of(std::size_t at, std::size_t before) const {
      if (at < begin_of(before)) return static_cast<std::size_t>(std::ranges::upper_bound(ends, at) - ends.begin());
      while (at >= ends[before]) ++before;
      return before;
    }
  };

  /// Expressions without needles: one, or several with an automaton for all of them.
  struct group {
    std::vector<std::uint32_t> members;
    std::unique_ptr<RE2::Set> together{};  // null: they are searched one by one
  };

  void add_group(std::span<const std::uint32_t> members) {
    const RE2::Options options = options_of(set_.ignores_case(), members.size());
    auto together = std::make_unique<RE2::Set>(options, RE2::UNANCHORED);
    for (const std::uint32_t each : members) together->Add(piece_of(set_.expressions()[each].pattern), nullptr);
    if (!together->Compile()) together.reset();
    groups_.push_back({.members = {members.begin(), members.end()}, .together = std::move(together)});
  }

  [[nodiscard]] static std::uint64_t bit_of(std::size_t expression) { return std::uint64_t{1} << expression % 64; }
  std::uint64_t& word_of(std::size_t line, std::size_t expression) { return matched_[line * words_ + expression / 64]; }

  /// Sets the bits of expressions that may match: those with a needle in the line.
  void mark_candidates() {
    std::size_t line = 0;
    set_.needles().search(lines_.text.substr(0, lines_.ends.back()), [&](std::size_t needle, std::size_t at) {
      line = lines_.line_of(at, line);
      const std::size_t end = lines_.begin_of(line) + lines_.content(line).size();
      if (at + set_.needles()[needle].size() > end) return at + 1;
      for (const auto [expression, is_of_second] : set_.candidates(needle)) {
        const std::span<std::uint64_t> marked = is_of_second ? std::span(second_) : matched_;
        marked[line * words_ + expression / 64] |= bit_of(expression);
      }
      return std::size_t{lines_.ends[line]};
    });
  }

  void confirm_candidates() {
    for (std::size_t i = 0; i < matched_.size(); ++i) {
      matched_[i] &= second_[i] | ~has_second_[i % words_];
      for (std::uint64_t rest = matched_[i] & uncertain_[i % words_]; rest != 0; rest &= rest - 1) {
        const std::size_t expression = i % words_ * 64 + static_cast<std::size_t>(std::countr_zero(rest));
        if (!matches(expression, i / words_)) matched_[i] &= ~bit_of(expression);
      }
    }
  }

  void search_all_lines(const group& searched) {
    for (std::size_t line = 0; line < lines_.ends.size(); ++line) {
      if (searched.together != nullptr && search_together(searched, line)) continue;
      for (const std::uint32_t each : searched.members) {
        if (matches(each, line)) word_of(line, each) |= bit_of(each);
      }
    }
  }

  /// False if the memory of the automaton is insufficient.
  bool search_together(const group& searched, std::size_t line) {
    RE2::Set::ErrorInfo error{};
    if (!searched.together->Match(piece_of(lines_.content(line)), &found_, &error))
      return error.kind == RE2::Set::kNoError;
    for (const int each : found_) {
      const std::uint32_t expression = searched.members[static_cast<std::size_t>(each)];
      word_of(line, expression) |= bit_of(expression);
    }
    return true;
  }

  bool matches(std::size_t expression, std::size_t line) {
    const std::string& pattern = set_.expressions()[expression].pattern;
    const std::string_view text = lines_.content(line);
    const auto& string = set_.string_of(expression);
    if (string && !string->ignores_case) return text.find(string->text) != std::string_view::npos;
    std::unique_ptr<RE2>& compiled = expressions_[expression];
    if (compiled == nullptr) compiled = std::make_unique<RE2>(piece_of(pattern), options_of(set_.ignores_case()));
    return compiled->Match(piece_of(text), 0, text.size(), RE2::UNANCHORED, nullptr, 0);
  }

  const match_set& set_;
  std::size_t words_;
  std::vector<std::uint64_t> uncertain_;           // bit e: expression e need not match where a needle of it is
  std::vector<std::uint64_t> has_second_;          // bit e: it has second needles
  std::vector<std::unique_ptr<RE2>> expressions_;  // null: not used so far
  std::vector<group> groups_;
  std::vector<int> found_;
  batch lines_{};  // those that are read
  std::span<std::uint64_t> matched_;
  std::vector<std::uint64_t> second_;  // as matched_: bit e of line i: it has a second needle of expression e
};

match_reader::match_reader(const match_set& set) : searcher_(std::make_unique<searcher>(set)) {}
match_reader::~match_reader() = default;
match_reader::match_reader(match_reader&&) noexcept = default;
match_reader& match_reader::operator=(match_reader&&) noexcept = default;

void match_reader::read(std::string_view text, std::span<const std::uint32_t> ends, char delimiter,
                        std::span<std::uint64_t> matched) {
  searcher_->read(text, ends, delimiter, matched);
}

std::size_t match_reader::words_per_line() const { return searcher_->words(); }

}  // namespace gpuhist::report::lines
