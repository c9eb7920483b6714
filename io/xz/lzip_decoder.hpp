// Decodes lzip members, and streams of the older format .lzma ("LZMA alone"); finds the ends of members.
#pragma once

#include "io/decoder.hpp"
#include "io/splitter.hpp"

#include <memory>

namespace gpuhist::io {

/// A frame is a member. From `limits` it uses the windows: the dictionary that the header of a member states.
std::unique_ptr<decoder> make_lzip_decoder(const decoder_limits& limits);

/// A frame is the only stream of such a file. It has no checksum: it is verified if it ends cleanly. The format has no
/// magic number: data with a header that no encoder writes is treated as another format, as in xz.
std::unique_ptr<decoder> make_lzma_decoder(const decoder_limits& limits);

// Finds lzip members by their headers, without decoding them.

/// A splitter of lzip. A member ends where the next header begins (magic number, version 1, a defined dictionary code),
/// if the 20 bytes before that header are the trailer of the member: it states the size of the member, which is the
/// distance to its start. The end is reported when the header has been read. The end of the last member is not
/// reported, because no header follows it.
///
/// A header without such a trailer is either part of the data of the member, or follows a member that does not state
/// its size (version 0, or damage). The search continues, and the splitter is lost until it finds an end again.
///
/// Data made for the purpose may contain a trailer and a header that fit. The decoder then reports that the member does
/// not end where the sizes in headers say, and no text is counted wrongly.
std::unique_ptr<splitter> make_lzip_splitter();

}  // namespace gpuhist::io
