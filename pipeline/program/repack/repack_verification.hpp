// Reads an archive again that was just written, and holds it against what was meant to be in it.
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

namespace gpuhist::pipeline {

/// What is in the archive, and how it is to be read.
struct repack_verification {
  std::filesystem::path file;
  std::span<const io::seekable_frame> frames;
  std::span<const std::byte> table;  ///< that stands behind them, to the last byte
  unsigned tasks = 1;                ///< frames that are decoded at once
  std::size_t frame_bytes = 0;       ///< compressed, of the largest one
};

/// Decodes every frame by itself, where the table says that it begins, and compares its length and its checksum with
/// those in the table; then the table with the one in the file. Ends early after a stop. On `pool`, whose threads
/// decode. Throws std::runtime_error, which names the first frame that differs, and io::input_error.
async::task<> verify(const repack_verification& what, async::event_loop& streams, async::executor& pool,
                     std::stop_token stop);

}  // namespace gpuhist::pipeline
