#include "pipeline/report/conditions/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gpuhist::pipeline::gates {
namespace {

using operation = config::expression::operation;
using std::size_t;

double finite(double result) { return std::isfinite(result) ? result : unknown(); }

double truth(double a, double b, bool holds) { return is_unknown(a) || is_unknown(b) ? unknown() : holds ? 1.0 : 0.0; }

double both(double a, double b) {
  if (a == 0.0 || b == 0.0) return 0.0;
  return is_unknown(a) || is_unknown(b) ? unknown() : 1.0;
}

double either(double a, double b) {
  if (a == 1.0 || b == 1.0) return 1.0;
  return is_unknown(a) || is_unknown(b) ? unknown() : 0.0;
}

/// Replaces each a[i] by the result of a[i] and b[i].
template <class Function>
void combine(double* a, const double* b, size_t units, Function function) {
  for (size_t i = 0; i < units; ++i) a[i] = function(a[i], b[i]);
}

void apply(operation applied, double* a, const double* b, size_t units) {
  switch (applied) {
    case operation::multiply:
      return combine(a, b, units, [](double x, double y) { return finite(x * y); });
    case operation::divide:
      return combine(a, b, units, [](double x, double y) { return finite(x / y); });
    case operation::add:
      return combine(a, b, units, [](double x, double y) { return finite(x + y); });
    case operation::subtract:
      return combine(a, b, units, [](double x, double y) { return finite(x - y); });
    case operation::less:
      return combine(a, b, units, [](double x, double y) { return truth(x, y, x < y); });
    case operation::at_most:
      return combine(a, b, units, [](double x, double y) { return truth(x, y, x <= y); });
    case operation::greater:
      return combine(a, b, units, [](double x, double y) { return truth(x, y, x > y); });
    case operation::at_least:
      return combine(a, b, units, [](double x, double y) { return truth(x, y, x >= y); });
    case operation::equal:
      return combine(a, b, units, [](double x, double y) { return truth(x, y, x == y); });
    case operation::unequal:
      return combine(a, b, units, [](double x, double y) { return truth(x, y, x != y); });
    case operation::both:
      return combine(a, b, units, both);
    default:
      return combine(a, b, units, either);
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

double unknown() { return std::numeric_limits<double>::quiet_NaN(); }

bool is_unknown(double value) { return std::isnan(value); }

evaluation::evaluation(const config::expression& typed) : typed_(typed), stack_(depth_of(typed) * max_units) {}

std::span<const double> evaluation::values(std::span<const double* const> names, size_t units) {
  double* top = stack_.data() - max_units;  // of no operand
  for (const config::expression::step& each : typed_.steps) {
    switch (each.what) {
      case operation::constant:
        top += max_units;
        std::fill_n(top, units, each.constant);
        break;
      case operation::name:
        top += max_units;
        std::copy_n(names[each.reference], units, top);
        break;
      case operation::negate:
        std::transform(top, top + units, top, [](double x) { return -x; });
        break;
      case operation::invert:
        std::transform(top, top + units, top, [](double x) { return is_unknown(x) ? x : x == 0.0 ? 1.0 : 0.0; });
        break;
      default:
        top -= max_units;
        apply(each.what, top, top + max_units, units);
        break;
    }
  }
  return {top, units};
}

}  // namespace gpuhist::pipeline::gates
