// The counts behind gpuhist::results.
#pragma once

#include "gpuhist/results.hpp"
#include "pipeline/report/formats/report.hpp"

#include <string>

namespace gpuhist {

struct [[gnu::visibility("hidden")]] results::state {
  pipeline::report content;
  std::string error;  ///< why counting failed; empty: it did not
};

}  // namespace gpuhist
