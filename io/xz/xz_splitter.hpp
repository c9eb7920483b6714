// Finds the blocks of xz streams without decoding them.
#pragma once

#include "io/splitter.hpp"

#include <memory>

namespace gpuhist::io {

/// A splitter of xz, by the sizes in the headers of blocks, which encoders with several threads write. The end of a
/// block without them is known only after decoding it: from the first such block on, all data is one frame. The ends of
/// streams are reported as well; they are not counted.
std::unique_ptr<splitter> make_xz_splitter();

}  // namespace gpuhist::io
