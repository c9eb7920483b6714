#include "report/texts/condition_reader.hpp"

#include "report/texts/characters.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gpuhist::report::texts {
namespace {

using config::text_measure;

constexpr std::size_t kept_bytes = std::size_t{1} << 20U;  // of buffers

std::uint64_t runs(std::string_view text, std::string_view searched) {
  std::uint64_t found = 0;
  for (std::size_t at = text.find(searched); at != std::string_view::npos; at = text.find(searched, at)) {
    ++found;
    while (text.substr(at).starts_with(searched)) at += searched.size();
  }
  return found;
}

bool has_suffix(std::string_view text, const std::vector<std::string>& searched) {
  return std::ranges::any_of(searched, [&](const std::string& each) { return text.ends_with(each); });
}

bool ends(std::string_view text, const std::vector<std::string>& searched) {
  return has_suffix(without_trailing_space(text), searched);
}

std::string lower_case_of(std::string_view text) {
  std::string made;
  append_lower(text, made);
  return made;
}

// Numbers of elements, one for each.
template <class Number>
void fill(std::span<const element> elements, double* to, Number number) {
  for (std::size_t i = 0; i < elements.size(); ++i) to[i] = static_cast<double>(number(elements[i]));
}

void fill(const element_condition::name& name, std::span<const element> elements, std::string_view text, double* to) {
  const std::vector<std::string>& strings = name.strings;
  const auto fill_texts = [&](auto number) {
    fill(elements, to, [&](const element& each) { return number(each.in(text)); });
  };
  switch (name.what) {
    case text_measure::bytes:
      return fill(elements, to, [](const element& each) { return each.bytes; });
    case text_measure::characters:
      return fill(elements, to, [](const element& each) { return each.characters; });
    case text_measure::letters:
      return fill(elements, to, [](const element& each) { return each.letters; });
    case text_measure::punctuation:
      return fill(elements, to, [](const element& each) { return each.punctuation; });
    case text_measure::words:
      return fill_texts([](std::string_view own) { return number_of_elements(own, config::text_part::word); });
    case text_measure::longest_word:
      return fill_texts([](std::string_view own) { return longest_word_in(own); });
    case text_measure::has_suffix:
      return fill_texts([&](std::string_view own) { return has_suffix(own, strings); });
    case text_measure::ends_with_punctuation:
      return fill_texts(
          [](std::string_view own) { return !own.empty() && (last_character_of(own).traits & trait::end_mark) != 0; });
    case text_measure::starts:
      return fill_texts([&](std::string_view own) {
        const std::string_view stripped = without_leading_space(own);
        return std::ranges::any_of(strings, [&](const std::string& each) { return stripped.starts_with(each); });
      });
    case text_measure::ends:
      return fill_texts([&](std::string_view own) { return ends(own, strings); });
    case text_measure::lower_ends:
      return fill_texts([&](std::string_view own) { return ends(lower_case_of(own), strings); });
    case text_measure::contains:
      return fill_texts([&](std::string_view own) { return contains(own, strings); });
    case text_measure::lower_contains:
      return fill_texts([&](std::string_view own) { return contains(lower_case_of(own), strings); });
    case text_measure::equals:
      return fill_texts([&](std::string_view own) { return std::ranges::find(strings, own) != strings.end(); });
    case text_measure::occurrences:
      return fill_texts([&](std::string_view own) { return occurrences(own, strings); });
    case text_measure::runs:
      return fill_texts([&](std::string_view own) {
        std::uint64_t sum = 0;
        for (const std::string& each : strings) sum += runs(own, each);
        return sum;
      });
    default:
      return fill(elements, to, [](const element&) { return gates::unknown; });
  }
}

}  // namespace

// The search takes linear time: memmem() of glibc.
std::uint64_t occurrences(std::string_view text, std::string_view searched) {
  if (searched.size() == 1) return count_of(searched.front(), text);
  std::uint64_t found = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const void* const next = ::memmem(rest.data(), rest.size(), searched.data(), searched.size());
    if (next == nullptr) break;
    ++found;
    rest.remove_prefix(static_cast<std::size_t>(static_cast<const char*>(next) - rest.data()) + searched.size());
  }
  return found;
}

std::uint64_t occurrences(std::string_view text, const std::vector<std::string>& searched) {
  std::uint64_t sum = 0;
  for (const std::string& each : searched) sum += occurrences(text, each);
  return sum;
}

bool contains(std::string_view text, const std::vector<std::string>& searched) {
  return std::ranges::any_of(searched, [&](const std::string& each) {
    return ::memmem(text.data(), text.size(), each.data(), each.size()) != nullptr;
  });
}

condition_reader::condition_reader(const element_condition& condition)
    : condition_(condition), evaluation_(condition.typed), numbers_(condition.names.size() * room) {
  for (std::size_t i = 0; i < condition.names.size(); ++i) columns_.push_back(&numbers_[i * room]);
}

std::span<const double> condition_reader::holds(std::string_view text, std::span<const element> elements) {
  has_lower_ = false;
  if (lower_.capacity() > kept_bytes) std::string().swap(lower_);
  for (std::size_t name = 0; name < columns_.size(); ++name) {
    fill(condition_.names[name], text, elements, &numbers_[name * room]);
  }
  return evaluation_.values(columns_, elements.size());
}

// Most strings are in no element: all elements are searched at once first.
void condition_reader::fill(const element_condition::name& name, std::string_view text,
                            std::span<const element> elements, double* to) {
  const bool searches_lower = name.what == text_measure::lower_contains;
  if ((searches_lower || name.what == text_measure::contains) && elements.size() > 1) {
    const element& last = elements.back();
    const std::size_t begin = elements.front().begin;
    std::string_view all = text.substr(begin, last.begin + last.bytes - begin);
    if (searches_lower) {
      if (!std::exchange(has_lower_, true)) {
        lower_.clear();
        append_lower(all, lower_);
      }
      all = lower_;
    }
    if (!contains(all, name.strings)) return static_cast<void>(std::fill_n(to, elements.size(), 0.0));
  }
  texts::fill(name, elements, text, to);
}

condition_reader::outcome condition_reader::read(std::string_view text, std::span<const element> elements) {
  outcome made;
  for (std::size_t first = 0; first < elements.size(); first += room) {
    const auto batch = elements.subspan(first, std::min(room, elements.size() - first));
    const std::span<const double> found = holds(text, batch);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (found[i] != 1.0) continue;
      ++made.elements;
      made.characters += batch[i].characters;
    }
  }
  return made;
}

}  // namespace gpuhist::report::texts
