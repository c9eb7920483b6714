#include "pipeline/report/conditions/evaluation.hpp"

#include "gpu/formula_values.hpp"

#include <algorithm>

namespace gpuhist::pipeline::gates {
namespace {

namespace values = gpu::formula_values;
using operation = config::expression::operation;
using std::size_t;

template <class Function>
void combine(const double* a, const double* b, double* result, size_t units, Function function) {
#if !defined(__clang__)
#pragma GCC ivdep
#endif
  for (size_t i = 0; i < units; ++i) result[i] = function(a[i], b[i]);
}

/// `b`: null if there is one operand. `result` may be `a`.
void apply(operation applied, const double* a, const double* b, double* result, size_t units) {
  const auto each = [&](auto function) { combine(a, b, result, units, function); };
  switch (applied) {
    case operation::negate:
      return combine(a, a, result, units, [](double x, double) { return -x; });
    case operation::invert:
      return combine(a, a, result, units, [](double x, double) { return values::invert(x); });
    case operation::multiply:
      return each([](double x, double y) { return values::multiply(x, y); });
    case operation::divide:
      return each([](double x, double y) { return values::divide(x, y); });
    case operation::add:
      return each([](double x, double y) { return values::add(x, y); });
    case operation::subtract:
      return each([](double x, double y) { return values::subtract(x, y); });
    case operation::less:
      return each([](double x, double y) { return values::truth(x, y, x < y); });
    case operation::at_most:
      return each([](double x, double y) { return values::truth(x, y, x <= y); });
    case operation::greater:
      return each([](double x, double y) { return values::truth(x, y, x > y); });
    case operation::at_least:
      return each([](double x, double y) { return values::truth(x, y, x >= y); });
    case operation::equal:
      return each([](double x, double y) { return values::truth(x, y, x == y); });
    case operation::unequal:
      return each([](double x, double y) { return values::truth(x, y, x != y); });
    case operation::both:
      return each([](double x, double y) { return values::both(x, y); });
    default:
      return each([](double x, double y) { return values::either(x, y); });
  }
}

// Operands that are on the stack after a step, compared with before.
int growth_of(operation step) {
  switch (step) {
    case operation::constant:
    case operation::name:
      return 1;
    case operation::negate:
    case operation::invert:
      return 0;
    default:
      return -1;
  }
}

size_t depth_of(const config::expression& typed) {
  int depth = 0;
  int deepest = 1;
  for (const config::expression::step& each : typed.steps) {
    depth += growth_of(each.what);
    deepest = std::max(deepest, depth);
  }
  return static_cast<size_t>(deepest);
}

}  // namespace

evaluation::evaluation(const config::expression& typed, size_t room)
    : typed_(typed), room_(room), operands_(depth_of(typed)), results_(operands_.size() * room) {
  for (const config::expression::step& each : typed.steps) {
    if (each.what == operation::constant) constants_.insert(constants_.end(), room, each.constant);
  }
}

std::span<const double> evaluation::values(std::span<const double* const> names, size_t units) {
  const double* constant = constants_.data();
  size_t depth = 0;  // operands
  for (const config::expression::step& each : typed_.steps) {
    switch (each.what) {
      case operation::constant:
        operands_[depth++] = constant;
        constant += room_;
        break;
      case operation::name:
        operands_[depth++] = names[each.reference];
        break;
      default: {
        const double* const second = growth_of(each.what) < 0 ? operands_[--depth] : nullptr;
        double* const result = &results_[(depth - 1) * room_];
        apply(each.what, operands_[depth - 1], second, result, units);
        operands_[depth - 1] = result;
        break;
      }
    }
  }
  return {operands_.front(), units};
}

}  // namespace gpuhist::pipeline::gates
