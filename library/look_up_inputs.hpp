// The list of the inputs of a run, before the run.
#pragma once

#include "library/counting_plan.hpp"

namespace gpuhist::pipeline {

/// Looks up all inputs of the plan: directories are walked, and the list of names is read, which may block. Memory: all
/// names. Throws config::usage_error if an input is an output of the plan.
looked_up_inputs look_up_inputs(const counting_plan& planned);

}  // namespace gpuhist::pipeline
