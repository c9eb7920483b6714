#include "report/conditions/formula.hpp"

#include "config/suggest.hpp"
#include "config/text.hpp"
#include "config/text_functions.hpp"
#include "config/usage_error.hpp"
#include "pipeline/counts/partitioning.hpp"
#include "report/measures/measure.hpp"
#include "report/measures/pair_measures.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>

namespace gpuhist::report::gates {

using config::expression;
using config::reference;
using std::size_t;

namespace {

constexpr std::string_view conditional_entropy_name = "conditional_entropy";
constexpr std::string_view words_name = "words";
constexpr std::string_view malformed_name = "malformed";

}  // namespace

/// Resolves names.
class formula::resolver {
 public:
  resolver(const expression& typed, std::span<const config::scheme> schemes,
           const std::vector<std::string_view>& possible, line_names* lines)
      : typed_(typed), schemes_(schemes), possible_(possible), lines_(lines) {}

  [[nodiscard]] meaning resolve(const reference& name) const {
    if (name.is_of_values()) return of_values(name);
    if (name.as == reference::form::match || name.as == reference::form::number) return fact(name);
    if (name.as == reference::form::text)
      return of_text(name, name.function, name.at + name.operand_at, name.parts.front());
    if (name.parts.size() == 1 && name.as == reference::form::plain) {
      const std::string& word = name.parts.front();
      if (word == "bytes") return {.type = meaning::kind::bytes};
      if (word == "lines") return {.type = meaning::kind::lines};
      if (word == words_name) return {.type = meaning::kind::words};
      if (word == malformed_name && !is_bucket(name)) return {.type = meaning::kind::malformed};
      if (const measures::measure* const found = measures::find_measure(word)) {
        return {.type = meaning::kind::measure, .measure = found};
      }
      if (config::find_text_function(word, config::text_function::scope::unit) != nullptr && !is_bucket(name)) {
        return of_text(name, word, name.at, {});
      }
    }
    if (name.parts.back() == conditional_entropy_name && name.as == reference::form::plain && !is_bucket(name)) {
      return {.type = meaning::kind::conditional_entropy, .scheme = scheme_of(name)};
    }
    return {.type = name.as == reference::form::count ? meaning::kind::count : meaning::kind::share,
            .bytes = bucket(name)};
  }

 private:
  [[nodiscard]] meaning fact(const reference& name) const {
    if (lines_ == nullptr || (name.as == reference::form::number && !lines_->has_numbers)) refuse_unless_of_lines(name);
    const std::string& wanted = name.parts.front();
    const bool is_match = name.as == reference::form::match;
    if (is_match && std::ranges::find(lines_->matches, wanted) == lines_->matches.end()) {
      const std::vector<std::string_view> known(lines_->matches.begin(), lines_->matches.end());
      const auto meant = config::likely_name(wanted, known);
      refuse("there is no --match of this name; " +
                 (meant ? "did you mean " + std::string(*meant) + "?" : "give one, as in --match " + wanted + "=REGEX"),
             name);
    }
    const line_fact read{.type = is_match ? line_fact::kind::match : line_fact::kind::number, .of = wanted};
    return {.type = meaning::kind::fact, .fact = lines_->index_of(read)};
  }

  [[nodiscard]] meaning of_text(const reference& name, const std::string& function, std::size_t at,
                                const std::string& operand) const {
    if (lines_ == nullptr || lines_->check_text == nullptr) refuse_unless_of_lines(name);
    lines_->check_text(function, {.whole = typed_.text, .at = at, .bytes = operand.size()});
    return {.type = meaning::kind::fact,
            .fact = lines_->index_of({.type = line_fact::kind::text, .of = operand, .function = function})};
  }

  [[noreturn]] void refuse_unless_of_lines(const reference& name) const {
    refuse(name.typed +
               " is read of lines, records and whole inputs; it is known to --where, --top N:FORMULA and "
               "--distribution-of with --each line, record or input, and to gpuhist filter",
           name);
  }

  // Its formula is resolved with those of units.
  [[nodiscard]] meaning of_values(const reference& name) const {
    if (lines_ == nullptr || !lines_->has_values) {
      refuse(name.typed +
                 " is of the values of many units; it is known to --fail-if and --alert-if with --each line, record or "
                 "a size, and to --columns and --sort in a run with --group-by or --event-time",
             name);
    }
    line_fact read{.type = line_fact::kind::quantile, .of = name.parts.front(), .percent = name.percent};
    if (name.as == reference::form::sum) read.type = line_fact::kind::sum;
    if (name.as == reference::form::mean) read.type = line_fact::kind::mean;
    return {.type = meaning::kind::fact, .fact = lines_->index_of(read)};
  }

  [[nodiscard]] bool is_bucket(const reference& name) const {
    return std::ranges::any_of(schemes_, [&](const config::scheme& each) {
      return (name.parts.size() == 1 || each.name == name.parts.front()) &&
             (config::find_bucket(each, name.parts.back()) || config::find_formerly_named(each, name.parts.back()));
    });
  }

  /// The scheme of a measure of pairs.
  [[nodiscard]] std::string scheme_of(const reference& name) const {
    if (name.parts.size() == 1 && schemes_.size() == 1) return schemes_.front().name;
    if (name.parts.size() == 1) {
      refuse("every scheme has it; name the scheme, as in " + schemes_.front().name + "." + name.parts.front(), name);
    }
    if (std::ranges::find(schemes_, name.parts.front(), &config::scheme::name) == schemes_.end()) refuse_unknown(name);
    return name.parts.front();
  }

  [[nodiscard]] std::bitset<256> bucket(const reference& name) const {
    std::optional<std::bitset<256>> found = bucket(name, config::find_bucket);
    if (!found) found = bucket(name, config::find_formerly_named);
    if (!found) refuse_unknown(name);
    return *found;
  }

  using lookup = std::optional<std::size_t>(const config::scheme&, std::string_view);

  /// The byte values of a bucket. Nothing: no scheme has it by this kind of name.
  [[nodiscard]] std::optional<std::bitset<256>> bucket(const reference& name, lookup& find) const {
    const config::scheme* owner = nullptr;
    std::bitset<256> bytes;
    for (const config::scheme& each : schemes_) {
      if (name.parts.size() == 2 && each.name != name.parts.front()) continue;
      const std::optional<std::size_t> index = find(each, name.parts.back());
      if (!index) continue;
      if (owner != nullptr) {
        refuse("both " + owner->name + " and " + each.name + " have this bucket; name the scheme, as in " +
                   owner->name + "." + name.parts.back(),
               name);
      }
      owner = &each;
      for (std::size_t byte = 0; byte < bytes.size(); ++byte) bytes[byte] = each.bucket_of[byte] == *index;
    }
    if (owner == nullptr) return std::nullopt;
    return bytes;
  }

  [[noreturn]] void refuse_unknown(const reference& name) const {
    const std::string wanted = name.parts.size() == 2 ? name.parts[0] + "." + name.parts[1] : name.parts[0];
    const std::vector<std::string> known = known_names(name);
    const std::vector<std::string_view> views(known.begin(), known.end());
    std::string message = "there is no " + config::quote(wanted);
    if (const auto meant = config::likely_name(wanted, views)) {
      message += "; did you mean " + std::string(*meant) + "?";
    } else {
      message += "; names are bytes, lines";
      for (const std::string_view each : possible_) message += ", " + std::string(each);
      message += ", measures (--measures) and the buckets of";
      for (const config::scheme& each : schemes_) message += (&each == schemes_.data() ? " " : ", ") + each.name;
      message += "; other names are quoted, as in \"a b\"";
    }
    refuse(message, name);
  }

  /// All names of the same form.
  [[nodiscard]] std::vector<std::string> known_names(const reference& unknown) const {
    std::vector<std::string> known;
    if (unknown.parts.size() == 1 && unknown.as == reference::form::plain) {
      known = {"bytes", "lines", std::string(conditional_entropy_name)};
      known.insert(known.end(), possible_.begin(), possible_.end());
      for (const measures::measure& each : measures::all_measures()) known.emplace_back(each.name);
      if (lines_ != nullptr && lines_->check_text != nullptr) {
        for (const config::text_function& each : config::text_functions()) {
          if (each.known_in == config::text_function::scope::unit) known.push_back(each.name);
        }
      }
    }
    for (const config::scheme& each : schemes_) {
      const std::string before = unknown.parts.size() == 2 ? each.name + "." : "";
      for (const std::string& bucket : each.buckets) known.push_back(before + bucket);
    }
    return known;
  }

  [[noreturn]] void refuse(std::string_view message, const reference& at) const {
    throw config::usage_error(config::pointing_at(message, typed_.text, at.at));
  }

  const expression& typed_;
  std::span<const config::scheme> schemes_;
  const std::vector<std::string_view>& possible_;
  line_names* lines_;
};

std::size_t line_names::index_of(const line_fact& fact) {
  const auto found = std::ranges::find(used, fact);
  if (found != used.end()) return static_cast<std::size_t>(found - used.begin());
  used.push_back(fact);
  return used.size() - 1;
}

namespace {

/// The count of a bucket. The partition separates the bucket from the other byte values.
double count_of(const meaning& bucket, const watched_counts& checked) {
  if (checked.counts.counts.empty()) return 0;
  std::bitset<256> summed;
  double sum = 0;
  for (const std::uint8_t value : bucket.values) {
    const std::uint8_t its_class = checked.partition.class_of[value];
    if (summed[its_class]) continue;
    summed.set(its_class);
    sum += static_cast<double>(checked.counts.counts[its_class]);
  }
  return sum;
}

std::vector<std::uint8_t> values_in(const std::bitset<256>& bytes) {
  std::vector<std::uint8_t> all;
  for (size_t value = 0; value < bytes.size(); ++value) {
    if (bytes[value]) all.push_back(static_cast<std::uint8_t>(value));
  }
  return all;
}

std::optional<double> conditional_entropy_of(const std::string& scheme, const watched_counts& checked) {
  const auto found =
      std::ranges::find(checked.schemes, scheme, [](const pipeline::scheme_view& each) { return each.scheme.name; });
  if (found == checked.schemes.end()) return std::nullopt;
  return measures::conditional_entropy(found->fold_pairs(checked.counts)).value;
}

// The value of a count; nothing: not counted.
std::optional<double> as_value(std::optional<std::uint64_t> count) {
  return count ? std::optional(static_cast<double>(*count)) : std::nullopt;
}

/// Nothing: unknown.
std::optional<double> known(double result) { return std::isfinite(result) ? std::optional(result) : std::nullopt; }

}  // namespace

formula::formula(expression typed, std::span<const config::scheme> schemes,
                 const std::vector<std::string_view>& possible, line_names* lines)
    : typed_(std::move(typed)) {
  const resolver names(typed_, schemes, possible, lines);
  for (const reference& each : typed_.references) {
    meanings_.push_back(names.resolve(each));
    meanings_.back().values = values_in(meanings_.back().bytes);
  }
}

bool formula::needs_byte_counts() const {
  return std::ranges::any_of(meanings_, [](const meaning& each) { return each.type == meaning::kind::measure; });
}

const reference* formula::needs_baseline() const {
  const auto compares = [](const meaning& each) { return each.measure != nullptr && each.measure->compares; };
  const auto found = std::ranges::find_if(meanings_, compares);
  return found == meanings_.end() ? nullptr : &typed_.references[static_cast<size_t>(found - meanings_.begin())];
}

const reference* formula::first_of(meaning::kind type) const {
  const auto found = std::ranges::find(meanings_, type, &meaning::type);
  return found == meanings_.end() ? nullptr : &typed_.references[static_cast<size_t>(found - meanings_.begin())];
}

const reference* formula::needs_pairs() const { return first_of(meaning::kind::conditional_entropy); }

const reference* formula::needs_words() const { return first_of(meaning::kind::words); }

const reference* formula::needs_malformed() const { return first_of(meaning::kind::malformed); }

std::vector<std::optional<double>> formula::values_of_references(const watched_counts& checked) const {
  std::optional<measures::byte_counts> by_byte;
  if (needs_byte_counts()) by_byte = measures::counts_of(checked.counts);
  const auto bytes = static_cast<double>(checked.counts.bytes());
  std::vector<std::optional<double>> all;
  for (const meaning& each : meanings_) {
    switch (each.type) {
      case meaning::kind::bytes:
        all.emplace_back(bytes);
        break;
      case meaning::kind::lines:
        all.emplace_back(
            static_cast<double>(checked.lines.value_or(pipeline::lines_in(checked.counts, checked.partition))));
        break;
      case meaning::kind::words:
        all.push_back(as_value(checked.words));
        break;
      case meaning::kind::malformed:
        all.push_back(as_value(checked.malformed));
        break;
      case meaning::kind::measure:
        all.push_back(
            measures::take_measure(*each.measure, {.counts = *by_byte, .baseline = checked.baseline}).found.value);
        break;
      case meaning::kind::conditional_entropy:
        all.push_back(conditional_entropy_of(each.scheme, checked));
        break;
      case meaning::kind::share:
        all.push_back(known(count_of(each, checked) / bytes));
        break;
      case meaning::kind::count:
        all.emplace_back(count_of(each, checked));
        break;
      case meaning::kind::fact:
        all.push_back(each.fact < checked.facts.size() ? known(checked.facts[each.fact]) : std::nullopt);
        break;
    }
  }
  return all;
}

std::optional<double> formula::value(const watched_counts& checked) const {
  std::vector<double> values;
  for (const std::optional<double>& each : values_of_references(checked)) values.push_back(each.value_or(unknown));
  std::vector<const double*> names;
  for (const double& each : values) names.push_back(&each);
  const double found = evaluation(typed_, 1).values(names, 1).front();
  return is_unknown(found) ? std::nullopt : std::optional(found);
}

std::vector<named_value> formula::values(const watched_counts& checked) const {
  const std::vector<std::optional<double>> found = values_of_references(checked);
  std::vector<named_value> all;
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string& name = typed_.references[i].typed;
    if (std::ranges::find(all, name, &named_value::name) == all.end()) all.push_back({.name = name, .value = found[i]});
  }
  return all;
}

}  // namespace gpuhist::report::gates
