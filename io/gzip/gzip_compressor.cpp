#include "io/gzip/gzip_compressor.hpp"

#include <isa-l/igzip_lib.h>

#include <array>
#include <cstdint>
#include <stdexcept>

namespace gpuhist::io {
namespace {

// The highest level of ISA-L with a rate near that of reading: 1 compresses logs 3 % worse, 3 is slower by a half.
constexpr std::uint32_t compression_level = 2;
constexpr std::size_t table_bytes = ISAL_DEF_LVL2_DEFAULT;

}  // namespace

gzip_compressor::gzip_compressor() : stream_(std::make_unique<isal_zstream>()), tables_(table_bytes) {
  isal_deflate_init(stream_.get());
  stream_->gzip_flag = IGZIP_GZIP;
  stream_->level = compression_level;
  stream_->level_buf = reinterpret_cast<std::uint8_t*>(tables_.data());
  stream_->level_buf_size = static_cast<std::uint32_t>(tables_.size());
}

gzip_compressor::~gzip_compressor() = default;

void gzip_compressor::compress(std::span<const std::byte> text, bool last, std::string& out) {
  std::array<char, std::size_t{64} * 1024> room;  // NOLINT(cppcoreguidelines-pro-type-member-init): is written first
  // ISA-L does not write to the text
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  stream_->next_in = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
  stream_->avail_in = static_cast<std::uint32_t>(text.size());
  stream_->end_of_stream = last ? 1 : 0;
  do {
    stream_->next_out = reinterpret_cast<std::uint8_t*>(room.data());
    stream_->avail_out = static_cast<std::uint32_t>(room.size());
    if (isal_deflate(stream_.get()) != COMP_OK) throw std::runtime_error("compressing to gzip failed");
    out.append(room.data(), room.size() - stream_->avail_out);
  } while (stream_->avail_out == 0 || stream_->avail_in > 0);
}

std::size_t gzip_compressor::memory() { return sizeof(isal_zstream) + table_bytes; }

}  // namespace gpuhist::io
