#include "io/gzip/gzip_splitter.hpp"

#include "io/gzip/gzip_header.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace gpuhist::io {
namespace {

constexpr std::uint64_t largest_block_bytes = std::uint64_t{1} << 16U;  // the size is stated in 16 bits

class gzip_splitter final : public splitter {
 public:
  split_step advance(std::span<const std::byte> bytes) override;
  [[nodiscard]] std::size_t held_back() const override;
  [[nodiscard]] bool counts_frame() const override { return true; }
  [[nodiscard]] bool is_lost() const override { return phase_ == phase::lost; }
  [[nodiscard]] std::string_view manner() const override;

 private:
  enum class phase { header, rest, lost };

  std::size_t walk(std::span<const std::byte> bytes);
  std::size_t take_header(std::span<const std::byte> bytes);

  phase phase_ = phase::header;
  gzip_header header_;
  std::uint64_t remaining_ = 0;  // bytes of the block after its header
  bool end_is_claimed_ = false;  // the block before this header stated its end here; this header confirms it or not
  bool found_any_ = false;
};

split_step gzip_splitter::advance(std::span<const std::byte> bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    if (phase_ == phase::header) {
      taken += take_header(bytes.subspan(taken));
      if (phase_ != phase::rest || !std::exchange(end_is_claimed_, false)) continue;
      found_any_ = true;
      return {.taken = taken, .frame_ends = true, .beyond = static_cast<std::size_t>(header_.size())};
    }
    taken += walk(bytes.subspan(taken));
  }
  return {.taken = taken};
}

std::size_t gzip_splitter::held_back() const {
  return phase_ == phase::header && end_is_claimed_ ? static_cast<std::size_t>(header_.size()) : 0;
}

// Takes the rest of a block, or of the input.
std::size_t gzip_splitter::walk(std::span<const std::byte> bytes) {
  if (phase_ == phase::lost) return bytes.size();
  const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, bytes.size()));
  remaining_ -= taken;
  if (remaining_ == 0) {
    phase_ = phase::header;
    header_ = {};
    end_is_claimed_ = true;
  }
  return taken;
}

// A name or comment may have any length in general, but not in a BGZF block: held-back bytes are kept in memory.
std::size_t gzip_splitter::take_header(std::span<const std::byte> bytes) {
  const auto wanted = static_cast<std::size_t>(largest_block_bytes - header_.size());
  const std::size_t taken = header_.advance(bytes.first(std::min(bytes.size(), wanted)));
  if (header_.status() == gzip_header_status::needs_more && header_.size() < largest_block_bytes) return taken;
  const std::size_t size = header_.bgzf_bytes().value_or(0);
  const bool is_block = header_.status() == gzip_header_status::complete && size > header_.size();
  phase_ = is_block ? phase::rest : phase::lost;
  if (is_block) remaining_ = size - header_.size();
  return taken;
}

std::string_view gzip_splitter::manner() const {
  if (phase_ != phase::lost) return "BGZF blocks found by their sizes";
  return found_any_ ? "BGZF blocks found by their sizes, up to a member without a size"
                    : "members cannot be found without decoding them";
}

}  // namespace

std::unique_ptr<splitter> make_gzip_splitter() { return std::make_unique<gzip_splitter>(); }

}  // namespace gpuhist::io
