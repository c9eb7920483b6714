// A condition that a device evaluates for units of one piece, so that the rows of most units need not be copied.
#pragma once

#include "gpu/formula_values.hpp"
#include "gpu/host_device.hpp"

#include <cstdint>

namespace gpuhist::gpu::cuda::units {

/// A step in postfix order: takes its operands from a stack and leaves its value there. Operators follow the steps
/// without operands.
struct condition_step {
  enum class operation : std::uint8_t {
    constant,
    bytes,  ///< of the unit
    count,  ///< of the bytes of some classes
    share,  ///< the same, divided by the bytes of the unit
    negate,
    multiply,
    divide,
    add,
    subtract,
    less,
    at_most,
    greater,
    at_least,
    equal,
    unequal,
    invert,
    both,
    either,
  };

  operation what = operation::constant;
  std::uint32_t classes = 0;  ///< of a count or share: the classes, as bits
  double constant = 0;
};

/// Plain data, which is passed to kernels. Its arithmetic is that of formula_values.hpp.
struct piece_condition {
  static constexpr unsigned max_steps = 32;
  static constexpr unsigned max_operands = 8;  ///< on the stack

  condition_step steps[max_steps]{};
  unsigned size = 0;  ///< steps

  GPUHIST_HOST_DEVICE bool exists() const { return size > 0; }
};

/// A row of a piece (piece_classes.hpp), as numbers.
struct piece_numbers {
  const std::uint32_t* words;
  unsigned counters;

  static constexpr unsigned end_flag = 1U << 15U;

  GPUHIST_HOST_DEVICE std::uint32_t at(unsigned i) const { return words[i / 2] >> (16 * (i % 2)) & 0xffffU; }
  GPUHIST_HOST_DEVICE bool ends_unit() const { return (at(0) & end_flag) != 0; }
  GPUHIST_HOST_DEVICE std::uint32_t bytes() const { return at(0) & (end_flag - 1); }

  /// The bytes of some classes. Of a class without a number, those of all other classes are subtracted from the bytes.
  /// Precondition: ends_unit().
  GPUHIST_HOST_DEVICE std::uint32_t count(std::uint32_t classes) const {
    const bool subtracts = classes >> counters != 0;
    const std::uint32_t added = subtracts ? ~classes : classes;
    std::uint32_t sum = added & 1U;
    for (unsigned i = 1; i < counters; ++i) sum += (added >> i & 1U) != 0 ? at(i) : 0U;
    return subtracts ? bytes() - sum : sum;
  }
};

GPUHIST_HOST_DEVICE inline double value_of(const condition_step& step, const piece_numbers& row, double a, double b) {
  using operation = condition_step::operation;
  switch (step.what) {
    case operation::constant:
      return step.constant;
    case operation::bytes:
      return row.bytes();
    case operation::count:
      return row.count(step.classes);
    case operation::share:
      return formula_values::divide(row.count(step.classes), row.bytes());
    default:
      return formula_values::with_operator(step.what, [a, b](auto function) { return function(a, b); });
  }
}

/// Whether the value of the condition is 1 for a unit that is one piece. Precondition: row.ends_unit(), and the
/// condition exists.
GPUHIST_HOST_DEVICE inline bool holds(const piece_condition& condition, const piece_numbers& row) {
  double stack[piece_condition::max_operands];
  unsigned depth = 0;
  for (unsigned i = 0; i < condition.size; ++i) {
    const condition_step& step = condition.steps[i];
    const unsigned operands = formula_values::operands_of(step.what);
    depth -= operands;
    stack[depth] = value_of(step, row, operands > 0 ? stack[depth] : 0, operands > 1 ? stack[depth + 1] : 0);
    ++depth;
  }
  return stack[0] == 1.0;
}

}  // namespace gpuhist::gpu::cuda::units
