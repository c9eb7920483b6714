// Members of gzip, where their headers say how long they are.
#pragma once

#include "io/splitter.hpp"

#include <memory>

namespace gpuhist::io {

/// A splitter of BGZF, whose blocks are members with their size in an extra field (SAM/BAM format specification, 4.1).
/// Where another member ends is known only to who decodes it: from the first such member on, all is one frame.
std::unique_ptr<splitter> make_gzip_splitter();

}  // namespace gpuhist::io
