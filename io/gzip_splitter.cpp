#include "io/gzip_splitter.hpp"

#include "io/gzip_header.hpp"

#include <algorithm>
#include <cstdint>

namespace gpuhist::io {
namespace {

class gzip_splitter final : public splitter {
 public:
  split_step advance(std::span<const std::byte> bytes) override;
  [[nodiscard]] bool counts_frame() const override { return true; }
  [[nodiscard]] bool is_lost() const override { return phase_ == phase::lost; }
  [[nodiscard]] std::string_view manner() const override;

 private:
  enum class phase { header, rest, lost };

  std::size_t walk(std::span<const std::byte> bytes);
  void leave_header();

  phase phase_ = phase::header;
  gzip_header header_;
  std::uint64_t left_ = 0;  // bytes of the block behind its header
  bool found_any_ = false;
};

split_step gzip_splitter::advance(std::span<const std::byte> bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    taken += walk(bytes.subspan(taken));
    if (phase_ != phase::rest || left_ != 0) continue;
    phase_ = phase::header;
    header_ = {};
    found_any_ = true;
    return {.taken = taken, .frame_ends = true};
  }
  return {.taken = taken};
}

std::size_t gzip_splitter::walk(std::span<const std::byte> bytes) {
  std::size_t taken = bytes.size();
  if (phase_ == phase::header) {
    taken = header_.advance(bytes);
    leave_header();
  } else if (phase_ == phase::rest) {
    taken = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    left_ -= taken;
  }
  return taken;
}

void gzip_splitter::leave_header() {
  if (header_.status() == gzip_header_status::needs_more) return;
  const std::size_t bytes = header_.bgzf_bytes().value_or(0);
  const bool is_block = header_.status() == gzip_header_status::complete && bytes > header_.size();
  phase_ = is_block ? phase::rest : phase::lost;
  if (is_block) left_ = bytes - header_.size();
}

std::string_view gzip_splitter::manner() const {
  if (phase_ != phase::lost) return "BGZF blocks found by their sizes";
  return found_any_ ? "BGZF blocks found by their sizes, up to what is none"
                    : "members cannot be found without decoding them";
}

}  // namespace

std::unique_ptr<splitter> make_gzip_splitter() { return std::make_unique<gzip_splitter>(); }

}  // namespace gpuhist::io
