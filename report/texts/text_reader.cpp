#include "report/texts/text_reader.hpp"

#include "report/texts/characters.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::report::texts {
namespace {

using config::text_measure;
using config::text_part;

// Frees its memory, which an assignment may keep.
template <class Container>
void release(Container& of) {
  Container().swap(of);
}

bool is_one_of(std::string_view text, const std::vector<std::string>& strings) {
  return std::ranges::find(strings, text) != strings.end();
}

double language_share(const detected_languages& found, const std::vector<std::string>& codes) {
  int percent = 0;
  for (const detected_languages::part& each : found.parts) percent += is_one_of(each.code, codes) ? each.percent : 0;
  return percent / 100.0;
}

double quotient(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? gates::unknown : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

text_reader::text_reader(std::span<const text_fact> facts, bool finds_language)
    : facts_(facts), finds_language_(finds_language), values_(facts.size()) {
  for (const text_fact& each : facts) {
    const element_condition* const condition = each.condition();
    conditions_.push_back(condition != nullptr ? std::make_unique<condition_reader>(*condition) : nullptr);
    const bool compares = each.what() == text_measure::among || each.what() == text_measure::distinct_among;
    sets_.emplace_back(compares ? each.strings() : std::vector<std::string>());
  }
  note_needs();
}

void text_reader::note_needs() {
  for (const text_fact& each : facts_) {
    division& of = divisions_[static_cast<std::size_t>(each.of())];
    if (each.what() != text_measure::count || each.condition() != nullptr) of.is_counted_only = false;
    if (each.condition() != nullptr && each.condition()->needed() == detail::traits) of.needed = detail::traits;
  }
}

text_reader::~text_reader() = default;

std::span<const double> text_reader::read(std::string_view text, encoding known) {
  text_ = known == encoding::utf8 ? text : as_utf8(text, room_);
  languages_.reset();
  if (text_.size() > max_bytes) {
    std::ranges::fill(values_, gates::unknown);
    release(room_);
    return values_;
  }
  for (division& each : divisions_) each.is_made = false;
  for (joined_text& each : with_blanks_) each.is_made = false;
  for (joined_text& each : without_blanks_) each.is_made = false;
  has_lower_ = false;
  for (std::size_t i = 0; i < facts_.size(); ++i) values_[i] = value_of(facts_[i], i);
  if (finds_language_) static_cast<void>(languages());
  if (text.size() > kept_bytes) {
    for (division& each : divisions_) release(each.elements);
    for (auto* const all : {&with_blanks_, &without_blanks_}) {
      for (joined_text& each : *all) {
        release(each.text);
        release(each.begins);
      }
    }
    release(room_);
    release(lower_);
    release(counts_);
    equals_.clear(0);
  }
  return values_;
}

double text_reader::value_of(const text_fact& fact, std::size_t index) {
  if (fact.of() != text_part::text) return value_of_elements(fact, index);
  switch (fact.what()) {
    case text_measure::characters:
      return static_cast<double>(characters_in(text_));
    case text_measure::occurrences:
      return static_cast<double>(occurrences(text_, fact.strings()));
    case text_measure::contains:
      return contains(text_, fact.strings()) ? 1 : 0;
    case text_measure::lower_contains:
      return contains(lower(), fact.strings()) ? 1 : 0;
    case text_measure::language:
      return is_one_of(languages().first(), fact.strings()) ? 1 : 0;
    case text_measure::language_share:
      return language_share(languages(), fact.strings());
    case text_measure::language_reliable:
      return languages().is_reliable ? 1 : 0;
    case text_measure::known_characters:
      return fact.table()->share_of(text_);
    default:
      return gates::unknown;
  }
}

double text_reader::value_of_elements(const text_fact& fact, std::size_t index) {
  if (divisions_[static_cast<std::size_t>(fact.of())].is_counted_only) {
    return static_cast<double>(number_of_elements(text_, fact.of()));
  }
  const division& of = divided(fact.of());
  condition_reader::outcome found{.elements = of.elements.size(), .characters = of.characters};
  if (conditions_[index]) found = conditions_[index]->read(text_, of.elements);
  if (of.elements.size() < fact.number()) return 0;  // there is no sequence
  switch (fact.what()) {
    case text_measure::count:
      return static_cast<double>(found.elements);
    case text_measure::share:
      return quotient(found.elements, of.elements.size());
    case text_measure::sum_of_characters:
      return static_cast<double>(found.characters);
    case text_measure::longest:
      return of.elements.empty() ? 0 : std::ranges::max(of.elements, {}, &element::characters).characters;
    case text_measure::duplicates:
      return static_cast<double>(with_duplicates(fact.of()).duplicates);
    case text_measure::duplicate_characters:
      return static_cast<double>(with_duplicates(fact.of()).duplicate_characters);
    case text_measure::among:
      return among(fact, sets_[index]);
    case text_measure::distinct_among:
      return distinct_among(fact, sets_[index]);
    case text_measure::top_characters:
      return top_characters(fact);
    case text_measure::repeated_characters:
      return repeated_characters(fact);
    case text_measure::top_covered:
      return top_covered(fact);
    case text_measure::repeated_covered:
      return repeated_covered(fact);
    default:
      return gates::unknown;
  }
}

text_reader::division& text_reader::divided(text_part kind) {
  division& made = divisions_[static_cast<std::size_t>(kind)];
  if (made.is_made) return made;
  divide(text_, kind, made.needed, made.elements);
  made.characters = 0;
  for (const element& each : made.elements) made.characters += each.characters;
  made.has_duplicates = false;
  made.is_made = true;
  return made;
}

const text_reader::division& text_reader::with_duplicates(text_part kind) {
  division& made = divided(kind);
  if (made.has_duplicates) return made;
  made.duplicates = 0;
  made.duplicate_characters = 0;
  equals_.clear(made.elements.size());
  const auto string_of = [&](std::uint32_t number) { return made.elements[number].in(text_); };
  for (std::uint32_t number = 0; number < made.elements.size(); ++number) {
    if (equals_.first_equal(number, string_of) == number) continue;
    ++made.duplicates;
    made.duplicate_characters += made.elements[number].characters;
  }
  made.has_duplicates = true;
  return made;
}

const text_reader::joined_text& text_reader::joined(text_part kind, std::string_view separator) {
  joined_text& made = (separator.empty() ? without_blanks_ : with_blanks_)[static_cast<std::size_t>(kind)];
  if (made.is_made) return made;
  made.text.clear();
  made.begins.clear();
  for (const element& each : divided(kind).elements) {
    made.begins.push_back(static_cast<std::uint32_t>(made.text.size()));
    made.text += each.in(text_);
    made.text += separator;
  }
  made.begins.push_back(static_cast<std::uint32_t>(made.text.size()));
  made.is_made = true;
  return made;
}

std::string_view text_reader::lower() {
  if (!std::exchange(has_lower_, true)) {
    lower_.clear();
    append_lower(text_, lower_);
  }
  return lower_;
}

const detected_languages& text_reader::languages() {
  if (!languages_) languages_ = detect_languages(text_);
  return *languages_;
}

double text_reader::among(const text_fact& fact, const string_set& strings) {
  std::uint64_t found = 0;
  for (const element& each : divided(fact.of()).elements) found += strings.find(each.in(text_)) ? 1 : 0;
  return static_cast<double>(found);
}

double text_reader::distinct_among(const text_fact& fact, const string_set& strings) {
  std::vector<bool> found(fact.strings().size());
  for (const element& each : divided(fact.of()).elements) {
    if (const std::optional<std::size_t> at = strings.find(each.in(text_))) found[*at] = true;
  }
  return static_cast<double>(std::ranges::count(found, true));
}

// Of equals, the first. Precondition: there are at least `number` elements.
text_reader::frequent_sequence text_reader::most_frequent(const joined_text& of, std::size_t number) {
  const std::size_t sequences = of.begins.size() - number;
  const auto string_of = [&](std::uint32_t first) { return of.sequence(first, number); };
  equals_.clear(sequences);
  counts_.assign(sequences, 0);
  for (std::uint32_t first = 0; first < sequences; ++first) ++counts_[equals_.first_equal(first, string_of)];
  const auto most = std::ranges::max_element(counts_);
  return {.first = static_cast<std::size_t>(most - counts_.begin()), .times = *most};
}

namespace {

std::uint64_t characters_of(std::span<const element> elements) {
  std::uint64_t sum = 0;
  for (const element& each : elements) sum += each.characters;
  return sum;
}

}  // namespace

double text_reader::top_characters(const text_fact& fact) {
  const std::size_t number = fact.number();
  const std::span<const element> elements = divided(fact.of()).elements;
  const frequent_sequence top = most_frequent(joined(fact.of(), " "), number);
  const std::uint64_t length = characters_of(elements.subspan(top.first, number)) + number - 1;
  return static_cast<double>(length * top.times);
}

// Sequences are equal if their elements are, written without separators. A repeated one is passed as a whole.
double text_reader::repeated_characters(const text_fact& fact) {
  const std::size_t number = fact.number();
  const std::span<const element> elements = divided(fact.of()).elements;
  const joined_text& all = joined(fact.of(), "");
  const auto string_of = [&](std::uint32_t first) { return all.sequence(first, number); };
  equals_.clear(elements.size());
  std::uint64_t sum = 0;
  for (std::size_t first = 0; first + number <= elements.size();) {
    const auto own = static_cast<std::uint32_t>(first);
    if (equals_.first_equal(own, string_of) == own) {
      ++first;
    } else {
      sum += characters_of(elements.subspan(first, number));
      first += number;
    }
  }
  return static_cast<double>(sum);
}

// Where it occurs in the text, its words with one blank between them.
double text_reader::top_covered(const text_fact& fact) {
  const std::size_t number = fact.number();
  const joined_text& all = joined(fact.of(), " ");
  const frequent_sequence top = most_frequent(all, number);
  std::string_view sequence = all.sequence(top.first, number);
  sequence.remove_suffix(1);  // the blank after it
  return static_cast<double>(occurrences(text_, sequence) * characters_in(sequence));
}

// Each word that a repeated sequence covers is counted once, with the blank before the next one.
double text_reader::repeated_covered(const text_fact& fact) {
  const std::size_t number = fact.number();
  const std::span<const element> elements = divided(fact.of()).elements;
  const joined_text& all = joined(fact.of(), " ");
  const auto string_of = [&](std::uint32_t first) { return all.sequence(first, number); };
  equals_.clear(elements.size());
  std::uint64_t sum = 0;
  std::size_t covered = 0;  // of the words of the sequence, by an earlier one
  for (std::size_t first = 0; first + number <= elements.size(); ++first) {
    const auto own = static_cast<std::uint32_t>(first);
    if (equals_.first_equal(own, string_of) != own) {
      sum += characters_of(elements.subspan(first + covered, number - covered));
      sum += std::min(number - covered, number - 1);
      covered = number;
    }
    covered = covered == 0 ? 0 : covered - 1;
  }
  return static_cast<double>(sum);
}

}  // namespace gpuhist::report::texts
