#include "io/zstd_splitter.hpp"

#include "io/zstd_blocks.hpp"
#include "io/zstd_frame.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace gpuhist::io {
namespace {

class zstd_splitter final : public splitter {
 public:
  split_step advance(std::span<const std::byte> bytes) override;
  [[nodiscard]] bool counts_frame() const override { return !skippable_; }
  [[nodiscard]] bool is_lost() const override { return phase_ == phase::lost; }
  [[nodiscard]] std::string_view manner() const override;

 private:
  enum class phase { header, skipping, blocks, lost };

  std::size_t take_header(std::span<const std::byte> bytes);
  std::size_t walk(std::span<const std::byte> bytes);
  bool end_frame();

  phase phase_ = phase::header;
  std::array<std::byte, zstd_max_header_bytes> header_{};
  std::size_t header_size_ = 0;
  std::uint64_t skip_left_ = 0;
  zstd_blocks blocks_;
  bool skippable_ = false;
};

split_step zstd_splitter::advance(std::span<const std::byte> bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    const std::span<const std::byte> rest = bytes.subspan(taken);
    taken += phase_ == phase::header ? take_header(rest) : walk(rest);
    if (end_frame()) return {.taken = taken, .frame_ends = true};
  }
  return {.taken = taken};
}

std::size_t zstd_splitter::take_header(std::span<const std::byte> bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    header_[header_size_++] = bytes[taken++];
    const zstd_header_result parsed = parse_zstd_header(std::span(header_).first(header_size_));
    if (parsed.status == header_status::needs_more) continue;
    if (parsed.status == header_status::complete) {
      skippable_ = parsed.header.skippable;
      skip_left_ = parsed.header.skip_bytes;
      blocks_ = zstd_blocks(parsed.header.has_checksum);
      phase_ = skippable_ ? phase::skipping : phase::blocks;
    } else {
      phase_ = phase::lost;
    }
    break;
  }
  return taken;
}

std::size_t zstd_splitter::walk(std::span<const std::byte> bytes) {
  std::size_t taken = bytes.size();
  if (phase_ == phase::skipping) {
    taken = static_cast<std::size_t>(std::min<std::uint64_t>(skip_left_, bytes.size()));
    skip_left_ -= taken;
  } else if (phase_ == phase::blocks) {
    taken = std::min(blocks_.left(), bytes.size());
    blocks_.advance(bytes.first(taken));
    if (blocks_.is_damaged()) phase_ = phase::lost;
  }
  return taken;
}

bool zstd_splitter::end_frame() {
  const bool ends = (phase_ == phase::skipping && skip_left_ == 0) || (phase_ == phase::blocks && blocks_.left() == 0);
  if (ends) {
    phase_ = phase::header;
    header_size_ = 0;
  }
  return ends;
}

std::string_view zstd_splitter::manner() const {
  return phase_ == phase::lost ? "no frame can be found behind what is no zstd frame"
                               : "frames found by the sizes of their blocks";
}

}  // namespace

std::unique_ptr<splitter> make_zstd_splitter() { return std::make_unique<zstd_splitter>(); }

}  // namespace gpuhist::io
