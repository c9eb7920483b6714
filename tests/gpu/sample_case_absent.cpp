// Without CUDA there is no device.
#include "sample_case.hpp"

namespace gpuhist::test {

bool has_device() { return false; }
case_result run_on_device(const sample_case&) { return {}; }

}  // namespace gpuhist::test
