#include "report/measures/chi_squared_tail.hpp"

#include <boost/math/policies/policy.hpp>
#include <boost/math/special_functions/gamma.hpp>

namespace gpuhist::pipeline::measures {

double chi_squared_tail(double statistic, double freedom) {
  namespace policies = boost::math::policies;
  using quiet =
      policies::policy<policies::domain_error<policies::ignore_error>, policies::overflow_error<policies::ignore_error>,
                       policies::evaluation_error<policies::ignore_error>>;
  return boost::math::gamma_q(freedom / 2, statistic / 2, quiet());
}

}  // namespace gpuhist::pipeline::measures
