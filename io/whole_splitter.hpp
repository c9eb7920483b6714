// For formats whose frames cannot be found without decoding them.
#pragma once

#include "io/splitter.hpp"

#include <memory>

namespace gpuhist::io {

/// Lost from the first byte: the whole input is one frame.
std::unique_ptr<splitter> make_whole_splitter();

}  // namespace gpuhist::io
