// `gpuhist filter --output-dir DIR`: one output for each input.
#pragma once

#include "command/commands.hpp"
#include "config/options.hpp"
#include "io/open_descriptors.hpp"

namespace gpuhist::pipeline {

/// As the commands of commands.hpp. Precondition: --output-dir is given.
ending filter_into_folder(const config::options& typed, const io::open_descriptors& open_descriptors);

}  // namespace gpuhist::pipeline
