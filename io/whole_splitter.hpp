// The splitter for formats whose frames cannot be found without decoding them.
#pragma once

#include "io/splitter.hpp"

#include <memory>

namespace gpuhist::io {

/// A splitter that is lost from the first byte: the whole input is one frame.
std::unique_ptr<splitter> make_whole_splitter();

}  // namespace gpuhist::io
