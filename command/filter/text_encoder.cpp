#include "command/filter/text_encoder.hpp"

#include "io/gzip/gzip_compressor.hpp"
#include "io/zstd/zstd_compressor.hpp"
#include "io/zstd/zstd_seek_table.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::command {
namespace {

using compression_kind = config::output_compression::kind;

// Frames that several cores can decompress; smaller than those of repack, because several outputs are open at once.
constexpr std::size_t frame_bytes = std::size_t{2} << 20U;
constexpr std::size_t block_bytes = std::size_t{256} << 10U;

std::string_view characters_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Collects text in blocks of a fixed size, except the last one.
class block_encoder : public text_encoder {
 public:
  explicit block_encoder(std::size_t bytes) : bytes_(bytes) {}

  void add(std::span<const std::byte> text) final {
    while (!text.empty()) {
      if (block_.size() == bytes_) flush(false);
      const std::size_t size = std::min(text.size(), bytes_ - block_.size());
      block_.insert(block_.end(), text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size));
      text = text.subspan(size);
    }
  }

  void end() final { flush(true); }

 protected:
  /// The last block may be empty.
  virtual void encode(std::span<const std::byte> block, bool is_last) = 0;

 private:
  void flush(bool is_last) {
    encode(block_, is_last);
    block_.clear();
  }

  const std::size_t bytes_;
  std::vector<std::byte> block_;
};

class plain_encoder final : public block_encoder {
 public:
  explicit plain_encoder(sink out) : block_encoder(block_bytes), out_(std::move(out)) {}

 private:
  void encode(std::span<const std::byte> block, bool /*is_last*/) override { out_(characters_of(block)); }

  sink out_;
};

class gzip_encoder final : public block_encoder {
 public:
  explicit gzip_encoder(sink out) : block_encoder(block_bytes), out_(std::move(out)) {}

 private:
  void encode(std::span<const std::byte> block, bool is_last) override {
    packed_.clear();
    compressor_.compress(block, is_last, packed_);
    out_(packed_);
  }

  sink out_;
  io::gzip_compressor compressor_;
  std::string packed_;
};

// As an archive of `gpuhist repack`: frames with checksums, then a seek table.
class zstd_encoder final : public block_encoder {
 public:
  zstd_encoder(int level, sink out) : block_encoder(frame_bytes), out_(std::move(out)), compressor_(level) {}

 private:
  void encode(std::span<const std::byte> block, bool is_last) override {
    if (!block.empty() || frames_.empty()) write_frame(block);
    if (is_last) out_(characters_of(io::zstd_seek_table(frames_)));
  }

  void write_frame(std::span<const std::byte> block) {
    packed_.resize(std::max(packed_.size(), io::zstd_compressor::bound(block.size())));
    const auto frame = std::span(packed_).first(compressor_.compress(block, packed_));
    out_(characters_of(frame));
    frames_.push_back({.compressed_bytes = static_cast<std::uint32_t>(frame.size()),
                       .text_bytes = static_cast<std::uint32_t>(block.size()),
                       .checksum = io::zstd_checksum_of(frame)});
  }

  sink out_;
  io::zstd_compressor compressor_;
  std::vector<std::byte> packed_;
  std::vector<io::seekable_frame> frames_;
};

}  // namespace

std::unique_ptr<text_encoder> make_text_encoder(const config::output_compression& how, text_encoder::sink out) {
  if (how.type == compression_kind::zstd) return std::make_unique<zstd_encoder>(how.level, std::move(out));
  if (how.type == compression_kind::gzip) return std::make_unique<gzip_encoder>(std::move(out));
  return std::make_unique<plain_encoder>(std::move(out));
}

std::size_t memory_of_encoder(const config::output_compression& how) {
  if (how.type == compression_kind::none) return 2 * block_bytes;
  if (how.type == compression_kind::gzip) return io::gzip_compressor::memory() + 2 * block_bytes;
  return frame_bytes + io::zstd_compressor::bound(frame_bytes) +
         io::zstd_compressor::memory_for(how.level, frame_bytes);
}

}  // namespace gpuhist::command
