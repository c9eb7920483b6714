#include "io/xz/lzip_splitter.hpp"

#include "io/frame_magic.hpp"
#include "io/xz/lzip_header.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace gpuhist::io {
namespace {

constexpr std::size_t trailer_bytes = 20;    // CRC-32, size of the text (8), size of the member (8)
constexpr std::size_t size_field_bytes = 8;  // the end of the trailer
constexpr std::size_t shortest_member_bytes = lzip_header_bytes + trailer_bytes;

class lzip_splitter final : public splitter {
 public:
  split_step advance(std::span<const std::byte> bytes) override;
  [[nodiscard]] std::size_t held_back() const override;
  [[nodiscard]] bool counts_frame() const override { return true; }
  [[nodiscard]] bool is_lost() const override { return passed_header_; }
  [[nodiscard]] std::string_view manner() const override {
    return passed_header_ ? "the end of a member whose trailer does not state its size cannot be found without decoding"
                          : "members found by their headers and trailers";
  }

 private:
  // A trailer, and a header that may be incomplete.
  static constexpr std::size_t tail_bytes = trailer_bytes + lzip_header_bytes - 1;

  std::optional<std::size_t> find_end(std::span<const std::byte> window, std::size_t from, std::uint64_t before);
  void remember(std::span<const std::byte> bytes);

  // The most recent bytes, also of earlier members. No complete header that was not examined is in them.
  std::array<std::byte, tail_bytes> tail_{};
  std::size_t tail_size_ = 0;
  std::uint64_t member_bytes_ = 0;  // bytes of the member that were taken
  bool passed_header_ = false;      // of another member, as it seems, in this member
};

bool is_header(std::span<const std::byte> bytes) {
  return bytes[lzip_magic.size()] == std::byte{1} && lzip_dictionary_bytes(bytes[lzip_magic.size() + 1]);
}

// Whether the bytes before `at` end in a trailer that states this size.
bool ends_member(std::span<const std::byte> window, std::size_t at, std::uint64_t member_bytes) {
  return member_bytes >= shortest_member_bytes && at >= size_field_bytes &&
         little_endian(window.subspan(at - size_field_bytes, size_field_bytes)) == member_bytes;
}

// The offset in `window` of the first header after the end of the member. Headers before `from` are not searched.
// `before`: bytes of the member before the window, modulo 2^64.
std::optional<std::size_t> lzip_splitter::find_end(std::span<const std::byte> window, std::size_t from,
                                                   std::uint64_t before) {
  const std::string_view text(reinterpret_cast<const char*>(window.data()), window.size());
  for (std::size_t at = text.find(lzip_magic, from); at != std::string_view::npos; at = text.find(lzip_magic, at + 1)) {
    if (window.size() - at < lzip_header_bytes) break;
    if (!is_header(window.subspan(at))) continue;
    if (ends_member(window, at, before + at)) return at;
    // at the start of a member is its own header
    passed_header_ = passed_header_ || before + at != 0;
  }
  return std::nullopt;
}

// Headers with their trailer within `bytes` are searched there, those before in a copy of the bytes around the seam:
//
//     tail_ (25 bytes) | bytes
//     [ trailer ][ header ]           header begins in tail_
//            [ trailer ][ header ]    trailer begins in tail_
//                      [ trailer ][ header ]
split_step lzip_splitter::advance(std::span<const std::byte> bytes) {
  std::array<std::byte, 2 * tail_bytes> around{};
  const std::size_t after = std::min(bytes.size(), tail_bytes);
  std::ranges::copy(std::span(tail_).first(tail_size_), around.begin());
  std::ranges::copy(bytes.first(after), around.begin() + static_cast<std::ptrdiff_t>(tail_size_));
  const std::span<const std::byte> seam = std::span(around).first(tail_size_ + after);
  const std::size_t unexamined = tail_size_ - std::min(tail_size_, lzip_header_bytes - 1);

  std::optional<std::size_t> end;
  if (const auto at = find_end(seam, unexamined, member_bytes_ - tail_size_)) {
    end = *at + lzip_header_bytes - tail_size_;
  } else if (const auto later = find_end(bytes, std::min(trailer_bytes, bytes.size()), member_bytes_)) {
    end = *later + lzip_header_bytes;
  }
  const std::size_t taken = end.value_or(bytes.size());
  remember(bytes.first(taken));
  if (!end) return {.taken = taken};
  member_bytes_ = lzip_header_bytes;
  passed_header_ = false;
  return {.taken = taken, .frame_ends = true, .beyond = lzip_header_bytes};
}

void lzip_splitter::remember(std::span<const std::byte> bytes) {
  member_bytes_ += bytes.size();
  if (bytes.size() >= tail_bytes) {
    std::ranges::copy(bytes.last(tail_bytes), tail_.begin());
    tail_size_ = tail_bytes;
    return;
  }
  const std::size_t kept = std::min(tail_size_, tail_bytes - bytes.size());
  std::ranges::copy(std::span(tail_).subspan(tail_size_ - kept, kept), tail_.begin());
  std::ranges::copy(bytes, tail_.begin() + static_cast<std::ptrdiff_t>(kept));
  tail_size_ = kept + bytes.size();
}

// The length of an incomplete header after the end of the member.
std::size_t lzip_splitter::held_back() const {
  constexpr std::string_view start("LZIP\1");
  const std::span<const std::byte> seen = std::span(tail_).first(tail_size_);
  for (std::size_t length = std::min(start.size(), tail_size_); length > 0; --length) {
    const std::size_t at = tail_size_ - length;
    const auto prefix = std::as_bytes(std::span(start)).first(length);
    if (std::ranges::equal(seen.subspan(at), prefix) && ends_member(seen, at, member_bytes_ - length)) return length;
  }
  return 0;
}

}  // namespace

std::unique_ptr<splitter> make_lzip_splitter() { return std::make_unique<lzip_splitter>(); }

}  // namespace gpuhist::io
