// `gpuhist report`: renders kept counts of earlier results.
#include "config/usage_error.hpp"
#include "pipeline/commands.hpp"

namespace gpuhist::pipeline {

ending report_results(const config::options& /*typed*/) { throw config::usage_error("report: being written"); }

}  // namespace gpuhist::pipeline
