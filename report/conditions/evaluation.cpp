#include "report/conditions/evaluation.hpp"

namespace gpuhist::report::gates {
namespace {

using std::size_t;
namespace values = gpu::formula_values;
using operation = config::expression::operation;

// `result` may be `a`.
template <class Function>
void combine(const double* a, const double* b, double* result, size_t units, Function function) {
#if !defined(__clang__)
#pragma GCC ivdep
#endif
  for (size_t i = 0; i < units; ++i) result[i] = function(a[i], b[i]);
}

}  // namespace

evaluation::evaluation(const config::expression& typed, size_t room)
    : typed_(typed), room_(room), operands_(values::depth_of(typed.steps)), results_(operands_.size() * room) {
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
        const double* const last = operands_[depth - 1];
        depth -= values::operands_of(each.what);
        const double* const first = operands_[depth];
        double* const result = &results_[depth * room_];
        values::with_operator(each.what, [&](auto function) { combine(first, last, result, units, function); });
        operands_[depth++] = result;
        break;
      }
    }
  }
  return {operands_.front(), units};
}

}  // namespace gpuhist::report::gates
