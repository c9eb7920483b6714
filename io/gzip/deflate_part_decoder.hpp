// Decodes a part of a gzip member before the text ahead of it is known (Kerbiriou and Chikhi 2019; Knespel and Brunst
// 2023).
#pragma once

#include "io/part_decoder.hpp"

#include <memory>

namespace gpuhist::io {

/// A decoder of parts of gzip data. The unit is a block of deflate, with the header of a member before it. Allocates no
/// memory until it decodes.
std::unique_ptr<part_decoder> make_gzip_part_decoder();

}  // namespace gpuhist::io
