// Reads an archive again after it was written, and compares it with the expected frames and seek table.
#pragma once

#include "async/event_loop.hpp"
#include "async/task.hpp"
#include "io/decoder.hpp"
#include "io/zstd/zstd_seek_table.hpp"

#include <cstddef>
#include <filesystem>
#include <span>
#include <stop_token>
#include <string>

namespace gpuhist::command {

/// The expected contents of an archive, and how it is verified.
struct repack_verification {
  std::filesystem::path file;
  std::span<const io::seekable_frame> frames;
  std::span<const std::byte> table;  ///< the seek table after the frames; the file ends with it
  unsigned tasks = 1;                ///< number of frames that are decoded at once
  std::size_t frame_bytes = 0;       ///< upper bound of the compressed size of a frame
};

/// Decodes every frame by itself at its offset in the table, and compares its length and its checksum with those in the
/// table. Then compares the table with the one in the file. Ends early after a stop. Must run on `pool`, whose threads
/// decode. Throws std::runtime_error that names the first differing frame, and io::input_error.
async::task<> verify(const repack_verification& expected, async::event_loop& streams, async::executor& pool,
                     std::stop_token stop);

}  // namespace gpuhist::command
