#include "io/xz/xz_listed_blocks.hpp"

#include "io/failure.hpp"
#include "io/xz/lzma_coder.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <span>

namespace gpuhist::io {
namespace {

struct index_deleter {
  void operator()(lzma_index* index) const { lzma_index_end(index, nullptr); }
};
using index_pointer = std::unique_ptr<lzma_index, index_deleter>;

constexpr std::uint64_t seek_buffer = 8192;  // of liblzma: it reads this much before the end of a stream

// Whether liblzma has found so many streams, all of them shorter than about its buffer, that to add the next one takes
// more time than to decode it: the list is copied for each stream.
bool has_many_short_streams(lzma_coder& coder, std::uint64_t longest_step) {
  constexpr lzma_vli most_streams = 1000;
  return longest_step <= 2 * seek_buffer &&
         lzma_memusage(&coder.stream()) > lzma_index_memusage(most_streams, most_streams);
}

// liblzma asks for the bytes that it needs: the header and the end of each stream. Null if they do not fit together.
index_pointer read_indexes(byte_reader& file, std::uint64_t file_bytes) {
  constexpr std::uint64_t most_memory = std::uint64_t{2} << 20U;  // of liblzma, until the list was made
  constexpr std::uint64_t most_read = std::uint64_t{4} << 20U;    // padding, or many streams
  std::array<std::byte, seek_buffer> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): the reader writes it
  lzma_coder coder;
  lzma_index* found = nullptr;
  if (checked(lzma_file_info_decoder(&coder.stream(), &found, most_memory, file_bytes)) != LZMA_OK) return nullptr;
  lzma_ret code = LZMA_SEEK_NEEDED;
  coder.stream().seek_pos = 0;
  std::uint64_t position = file_bytes;
  std::uint64_t longest_step = 0;  // back
  for (std::uint64_t read = 0; read < most_read;) {
    if (code == LZMA_SEEK_NEEDED) {
      const std::uint64_t next = coder.stream().seek_pos;
      if (next > 0 && next < position) longest_step = std::max(longest_step, position - next);
      position = next > 0 ? next : position;
      if (has_many_short_streams(coder, longest_step)) return nullptr;
      file.seek(next);
    }
    const std::size_t size = file.read(buffer);
    if (size == 0) return nullptr;
    read += size;
    code = coder.run(std::span(buffer).first(size), {}).code;
    if (code == LZMA_STREAM_END) return index_pointer(found);
    if (code != LZMA_OK && code != LZMA_SEEK_NEEDED) return nullptr;
  }
  return nullptr;
}

}  // namespace

std::vector<xz_listed_block> list_xz_blocks(byte_reader& file) {
  std::vector<xz_listed_block> blocks;
  try {
    const index_pointer index = read_indexes(file, file.seekable_bytes().value_or(0));
    if (!index || lzma_index_block_count(index.get()) > xz_most_listed_blocks) return blocks;
    lzma_index_iter each{};
    lzma_index_iter_init(&each, index.get());
    blocks.reserve(static_cast<std::size_t>(lzma_index_block_count(index.get())));
    while (!lzma_index_iter_next(&each, LZMA_INDEX_ITER_BLOCK)) {
      if (each.stream.flags == nullptr) continue;
      blocks.push_back({.begin = each.block.compressed_file_offset,
                        .bytes = each.block.total_size,
                        .text = each.block.uncompressed_size,
                        .check = each.stream.flags->check});
    }
  } catch (const input_error&) {
    blocks.clear();  // the decoder meets the error, too
  }
  return blocks;
}

}  // namespace gpuhist::io
