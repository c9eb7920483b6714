#include "io/lz4_splitter.hpp"

#include "io/lz4_frame.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace gpuhist::io {
namespace {

class lz4_splitter final : public splitter {
 public:
  split_step advance(std::span<const std::byte> bytes) override;
  [[nodiscard]] bool counts_frame() const override { return !skippable_; }
  [[nodiscard]] bool is_lost() const override { return phase_ == phase::lost; }
  [[nodiscard]] std::string_view manner() const override;

 private:
  enum class phase { header, skipping, blocks, lost };

  std::size_t take_header(std::span<const std::byte> bytes);
  void leave_header(const lz4_header_result& parsed);
  std::size_t walk(std::span<const std::byte> bytes);
  bool end_frame();

  phase phase_ = phase::header;
  std::array<std::byte, lz4_max_header_bytes> header_{};
  std::size_t header_size_ = 0;
  std::uint64_t skip_left_ = 0;
  lz4_blocks blocks_;
  bool skippable_ = false;
  bool legacy_ = false;
};

split_step lz4_splitter::advance(std::span<const std::byte> bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    const std::span<const std::byte> rest = bytes.subspan(taken);
    taken += phase_ == phase::header ? take_header(rest) : walk(rest);
    if (end_frame()) return {.taken = taken, .frame_ends = true};
  }
  return {.taken = taken};
}

std::size_t lz4_splitter::take_header(std::span<const std::byte> bytes) {
  std::size_t taken = 0;
  while (phase_ == phase::header && taken < bytes.size()) {
    header_[header_size_++] = bytes[taken++];
    leave_header(parse_lz4_header(std::span(header_).first(header_size_)));
  }
  return taken;
}

void lz4_splitter::leave_header(const lz4_header_result& parsed) {
  if (parsed.status == lz4_header_status::needs_more) return;
  phase_ = phase::lost;
  if (parsed.status != lz4_header_status::complete) return;
  skippable_ = parsed.header.kind == lz4_kind::skippable;
  legacy_ = parsed.header.kind == lz4_kind::legacy;
  if (legacy_) return;
  skip_left_ = parsed.header.skip_bytes;
  blocks_ = lz4_blocks(parsed.header);
  phase_ = skippable_ ? phase::skipping : phase::blocks;
}

std::size_t lz4_splitter::walk(std::span<const std::byte> bytes) {
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

bool lz4_splitter::end_frame() {
  const bool ends = (phase_ == phase::skipping && skip_left_ == 0) || (phase_ == phase::blocks && blocks_.left() == 0);
  if (ends) {
    phase_ = phase::header;
    header_size_ = 0;
  }
  return ends;
}

std::string_view lz4_splitter::manner() const {
  if (phase_ != phase::lost) return "frames found by the sizes of their blocks";
  return legacy_ ? "legacy frames have no end that could be found"
                 : "no frame can be found behind what is no lz4 frame";
}

}  // namespace

std::unique_ptr<splitter> make_lz4_splitter() { return std::make_unique<lz4_splitter>(); }

}  // namespace gpuhist::io
