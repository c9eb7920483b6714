// Text in UTF-16 as UTF-8: a decoder around the decoder of the compression, or around none.
#pragma once

#include "io/decoder.hpp"
#include "io/text_encoding.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace gpuhist::io {

/// The encoding of a text that begins with `head`: utf8, utf16le or utf16be. `wanted`: as the user stated it.
text_encoding encoding_of(std::span<const std::byte> head, text_encoding wanted);

/// Converts the text of `compression`: `order` is utf16le or utf16be. A byte order mark at the start of the input is
/// dropped. Each unpaired surrogate, and an incomplete character at the end of the input, become U+FFFD, and
/// notice_at_end() states their number. A frame of the compression ends with a whole character: one that ends within a
/// character ends with the next frame. Offsets in error texts are those of the text in UTF-16.
std::unique_ptr<decoder> make_utf16_decoder(std::unique_ptr<decoder> compression, text_encoding order);

/// For text that is not compressed: 64 KiB are a frame. There is no checksum.
std::unique_ptr<decoder> make_stored_decoder(const decoder_limits& limits);

}  // namespace gpuhist::io
