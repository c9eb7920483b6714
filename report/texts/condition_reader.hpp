// Evaluates a condition for the elements of a text.
#pragma once

#include "report/conditions/evaluation.hpp"
#include "report/texts/elements.hpp"
#include "report/texts/text_fact.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::report::texts {

/// How often a string occurs in a text, as Python's str.count(), and the sum for several strings.
std::uint64_t occurrences(std::string_view text, std::string_view searched);
std::uint64_t occurrences(std::string_view text, const std::vector<std::string>& searched);

/// Whether one of the strings occurs in a text.
bool contains(std::string_view text, const std::vector<std::string>& searched);

/// One thread at a time; keeps its buffers.
class condition_reader {
 public:
  /// Borrows the condition.
  explicit condition_reader(const element_condition& condition);

  /// The most elements of one call of holds().
  static constexpr std::size_t room = gates::evaluation::max_units;

  /// For each of up to `room` elements 1 if the condition holds, else another value; valid until the next call.
  std::span<const double> holds(std::string_view text, std::span<const element> elements);

  struct outcome {
    std::uint64_t elements = 0;
    std::uint64_t characters = 0;
  };

  /// Those for which it holds.
  outcome read(std::string_view text, std::span<const element> elements);

 private:
  void fill(const element_condition::name& name, std::string_view text, std::span<const element> elements, double* to);

  const element_condition& condition_;
  gates::evaluation evaluation_;
  std::vector<double> numbers_;  // by name: `room` elements
  std::vector<const double*> columns_;
  bool has_lower_ = false;
  std::string lower_;  // of the elements and what is between them
};

}  // namespace gpuhist::report::texts
