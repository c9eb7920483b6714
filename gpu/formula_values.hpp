// Arithmetic and logic of formulas, with the same bits on host and device. A number that is not known is NaN, and so is
// a result that is not finite. Truth values are 1 and 0, by Kleene's logic: !unknown is unknown, false && unknown is
// false, true || unknown is true. There are no branches, so that loops over units are vectorized.
#pragma once

#include "gpu/host_device.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gpuhist::gpu::formula_values {

inline constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
inline constexpr double largest = std::numeric_limits<double>::max();

GPUHIST_HOST_DEVICE inline bool is_unknown(double value) { return value != value; }

GPUHIST_HOST_DEVICE inline double finite(double result) { return fabs(result) <= largest ? result : unknown; }

// On a device a product and a sum would be joined to one operation, which rounds once.
GPUHIST_HOST_DEVICE inline double multiply(double a, double b) {
#if defined(__CUDA_ARCH__)
  return finite(__dmul_rn(a, b));
#else
  return finite(a * b);
#endif
}

GPUHIST_HOST_DEVICE inline double add(double a, double b) {
#if defined(__CUDA_ARCH__)
  return finite(__dadd_rn(a, b));
#else
  return finite(a + b);
#endif
}

GPUHIST_HOST_DEVICE inline double subtract(double a, double b) { return add(a, -b); }

GPUHIST_HOST_DEVICE inline double divide(double a, double b) {
#if defined(__CUDA_ARCH__)
  return finite(__ddiv_rn(a, b));
#else
  return finite(a / b);
#endif
}

/// The value of a comparison.
GPUHIST_HOST_DEVICE inline double truth(double a, double b, bool holds) {
  const double known = holds ? 1.0 : 0.0;
  const double if_a_is_known = is_unknown(b) ? unknown : known;
  return is_unknown(a) ? unknown : if_a_is_known;
}

GPUHIST_HOST_DEVICE inline double invert(double a) {
  const double known = a == 0.0 ? 1.0 : 0.0;
  return is_unknown(a) ? a : known;
}

GPUHIST_HOST_DEVICE inline double both(double a, double b) {
  const double unless_false = truth(a, b, true);
  const double if_a_holds = b == 0.0 ? 0.0 : unless_false;
  return a == 0.0 ? 0.0 : if_a_holds;
}

GPUHIST_HOST_DEVICE inline double either(double a, double b) {
  const double unless_true = truth(a, b, false);
  const double if_a_fails = b == 1.0 ? 1.0 : unless_true;
  return a == 1.0 ? 1.0 : if_a_fails;
}

/// The operands that a step takes. Steps without operands are named before `negate`.
template <class Operation>
GPUHIST_HOST_DEVICE constexpr unsigned operands_of(Operation what) {
  if (what < Operation::negate) return 0;
  return what == Operation::negate || what == Operation::invert ? 1 : 2;
}

/// The most operands on the stack.
template <class Steps>
unsigned depth_of(const Steps& steps) {
  unsigned depth = 0;
  unsigned deepest = 0;
  for (const auto& each : steps) {
    depth = depth + 1 - operands_of(each.what);
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

/// Calls `use` with the function of an operator, of two operands. That of one operand ignores the second.
template <class Operation, class Use>
GPUHIST_HOST_DEVICE inline auto with_operator(Operation what, Use use) {
  switch (what) {
    case Operation::negate:
      return use([](double a, double) { return -a; });
    case Operation::invert:
      return use([](double a, double) { return invert(a); });
    case Operation::multiply:
      return use([](double a, double b) { return multiply(a, b); });
    case Operation::divide:
      return use([](double a, double b) { return divide(a, b); });
    case Operation::add:
      return use([](double a, double b) { return add(a, b); });
    case Operation::subtract:
      return use([](double a, double b) { return subtract(a, b); });
    case Operation::less:
      return use([](double a, double b) { return truth(a, b, a < b); });
    case Operation::at_most:
      return use([](double a, double b) { return truth(a, b, a <= b); });
    case Operation::greater:
      return use([](double a, double b) { return truth(a, b, a > b); });
    case Operation::at_least:
      return use([](double a, double b) { return truth(a, b, a >= b); });
    case Operation::equal:
      return use([](double a, double b) { return truth(a, b, a == b); });
    case Operation::unequal:
      return use([](double a, double b) { return truth(a, b, a != b); });
    case Operation::both:
      return use([](double a, double b) { return both(a, b); });
    default:
      return use([](double a, double b) { return either(a, b); });
  }
}

}  // namespace gpuhist::gpu::formula_values
