#include "io/gzip/gzip_splitter.hpp"

#include "io/frame_magic.hpp"
#include "io/gzip/gzip_header.hpp"
#include "io/magic_search.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::io {
namespace {

constexpr std::uint64_t largest_block_bytes = std::uint64_t{1} << 16U;  // the size is stated in 16 bits

// The end of a member that states no size, and the begin of the next one:
//
//     ... | CRC-32 | length of the text (4) | 1F 8B | 8 | flags | time (4) | extra flags | system | ...
namespace guess {

constexpr std::size_t length_bytes = 4;
constexpr std::size_t header_bytes = 10;
constexpr std::size_t seen_bytes = length_bytes + header_bytes - 1;  // that can decide with the next byte
constexpr std::string_view magic = "\x1F\x8B\x08";

// Whether these bytes, of which there may be fewer than a header has, are what writers begin a member with. 1 of 2^37
// random places is taken for one.
bool may_be_header(std::span<const std::byte> bytes) {
  constexpr unsigned reserved_flags = 0xE0;
  constexpr unsigned last_system = 19;  // Darwin; RFC 1952 has 13
  constexpr unsigned unknown_system = 255;
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  for (std::size_t i = 0; i < std::min(bytes.size(), magic.size()); ++i) {
    if (static_cast<char>(bytes[i]) != magic[i]) return false;
  }
  if (bytes.size() > 3 && (at(3) & reserved_flags) != 0) return false;
  if (bytes.size() > 8 && at(8) != 0 && at(8) != 2 && at(8) != 4) return false;
  return bytes.size() <= 9 || at(9) <= last_system || at(9) == unknown_system;
}

// Whether a member of so many bytes may have so much text.
bool is_possible(std::uint64_t text_bytes, std::uint64_t member_bytes) {
  constexpr std::uint64_t longest_without_text = 1024;
  return text_bytes == 0 ? member_bytes <= longest_without_text : text_bytes <= highest_deflate_ratio * member_bytes;
}

// Whether a member of so many bytes ends before bytes[at]; `bytes` may end in the header after it.
bool may_end(std::span<const std::byte> bytes, std::size_t at, std::uint64_t member_bytes) {
  return may_be_header(bytes.subspan(at, std::min(header_bytes, bytes.size() - at))) &&
         is_possible(little_endian(bytes.subspan(at - length_bytes, length_bytes)), member_bytes);
}

}  // namespace guess

class gzip_splitter final : public splitter {
 public:
  void permit_guesses(std::uint64_t longest_frame) override { longest_member_ = longest_frame; }
  [[nodiscard]] std::string_view sought() const override {
    const bool are_blocks = found_blocks_ && !found_members_;  // they state their sizes
    return longest_member_ > 0 && phase_ != phase::lost && !are_blocks ? guess::magic : "";
  }
  void note_places(std::span<const std::byte> block, const std::vector<std::uint32_t>* places) override {
    block_ = block.data();
    places_ = places;
    next_place_ = 0;
  }
  split_step advance(std::span<const std::byte> bytes) override;
  [[nodiscard]] std::size_t held_back() const override;
  [[nodiscard]] bool counts_frame() const override { return true; }
  [[nodiscard]] bool is_lost() const override { return phase_ == phase::lost; }
  [[nodiscard]] std::string_view manner() const override;

 private:
  enum class phase { header, rest, searching, lost };

  std::size_t walk(std::span<const std::byte> bytes);
  std::size_t take_header(std::span<const std::byte> bytes);
  split_step search(std::span<const std::byte> bytes);
  [[nodiscard]] std::optional<std::size_t> find_at_seam(std::span<const std::byte> bytes) const;
  [[nodiscard]] std::optional<std::size_t> find_within(std::span<const std::byte> bytes);
  [[nodiscard]] std::size_t find_magic(std::span<const std::byte> bytes, std::size_t at);
  [[nodiscard]] std::size_t first_undecided() const;

  std::uint64_t longest_member_ = 0;  // 0: no guesses
  phase phase_ = phase::header;
  gzip_header header_;
  std::uint64_t remaining_ = 0;  // bytes of the block after its header
  bool end_is_claimed_ = false;  // the block before this header stated its end here; this header confirms it or not
  bool found_blocks_ = false;
  bool found_members_ = false;
  // while searching:
  std::uint64_t member_bytes_ = 0;
  std::vector<std::byte> seam_;                         // the last bytes of the member, at most guess::seen_bytes
  const std::vector<std::uint32_t>* places_ = nullptr;  // of note_places(); null: none were noted
  const std::byte* block_ = nullptr;                    // what they are places in
  std::size_t next_place_ = 0;
};

split_step gzip_splitter::advance(std::span<const std::byte> bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    if (phase_ == phase::header) {
      taken += take_header(bytes.subspan(taken));
      const bool begins_member = phase_ == phase::rest || phase_ == phase::searching;
      if (!begins_member || !std::exchange(end_is_claimed_, false)) continue;
      found_blocks_ = true;
      return {.taken = taken,
              .frame_ends = true,
              .is_guess = phase_ == phase::searching,
              .beyond = static_cast<std::size_t>(header_.size())};
    }
    if (phase_ == phase::searching) {
      split_step found = search(bytes.subspan(taken));
      taken += found.taken;
      found.taken = taken;
      if (found.frame_ends) return found;
    } else {
      taken += walk(bytes.subspan(taken));
    }
  }
  return {.taken = taken};
}

std::size_t gzip_splitter::held_back() const {
  if (phase_ == phase::header) return end_is_claimed_ ? static_cast<std::size_t>(header_.size()) : 0;
  if (phase_ != phase::searching) return 0;
  for (std::size_t at = first_undecided(); at < seam_.size(); ++at) {
    if (guess::may_end(seam_, at, member_bytes_ - (seam_.size() - at))) return seam_.size() - at;
  }
  return 0;
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
  const bool is_complete = header_.status() == gzip_header_status::complete;
  const std::size_t size = header_.bgzf_bytes().value_or(0);
  if (is_complete && size > header_.size()) {
    phase_ = phase::rest;
    remaining_ = size - header_.size();
  } else if (is_complete && longest_member_ > 0) {
    phase_ = phase::searching;
    member_bytes_ = header_.size();
    seam_.clear();
  } else {
    phase_ = phase::lost;
  }
  return taken;
}

// Up to the header of the next member, or all.
split_step gzip_splitter::search(std::span<const std::byte> bytes) {
  const std::uint64_t wanted = longest_member_ - std::min(longest_member_, member_bytes_) + guess::header_bytes;
  bytes = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), wanted)));
  std::optional<std::size_t> end = find_at_seam(bytes);
  if (!end) end = find_within(bytes);
  if (end) {
    header_ = {};
    const std::size_t before = guess::header_bytes - std::min(guess::header_bytes, *end);  // of the header, in the seam
    header_.advance(std::span(seam_).last(before));
    header_.advance(bytes.first(*end).last(guess::header_bytes - before));
    phase_ = phase::header;
    found_members_ = true;
    return {.taken = *end, .frame_ends = true, .is_guess = true, .beyond = guess::header_bytes};
  }
  member_bytes_ += bytes.size();
  const std::span<const std::byte> last = bytes.last(std::min(bytes.size(), guess::seen_bytes));
  seam_.insert(seam_.end(), last.begin(), last.end());
  if (seam_.size() > guess::seen_bytes) {
    seam_.erase(seam_.begin(), seam_.end() - static_cast<std::ptrdiff_t>(guess::seen_bytes));
  }
  if (bytes.size() == wanted) phase_ = phase::lost;
  return {.taken = bytes.size()};
}

// In the seam: places before it have been decided.
std::size_t gzip_splitter::first_undecided() const {
  const std::size_t decided = seam_.size() - std::min(seam_.size(), guess::header_bytes - 1);
  return std::max(guess::length_bytes, decided);
}

// The end, in `bytes`, of a header that begins in the seam or so soon that the length before it does. A frame cannot
// end within bytes that were held back, or after them: they looked like a header that is none.
std::optional<std::size_t> gzip_splitter::find_at_seam(std::span<const std::byte> bytes) const {
  if (seam_.empty()) return std::nullopt;
  std::vector<std::byte> joined = seam_;
  const auto next = bytes.first(std::min(bytes.size(), guess::seen_bytes));
  joined.insert(joined.end(), next.begin(), next.end());
  const std::size_t end = seam_.size() + guess::length_bytes;
  const std::size_t held = held_back();
  for (std::size_t at = first_undecided(); at < end && at + guess::header_bytes <= joined.size(); ++at) {
    if (held > 0 && at <= seam_.size() && at + held != seam_.size()) continue;
    if (guess::may_end(joined, at, member_bytes_ + at - seam_.size())) return at + guess::header_bytes - seam_.size();
  }
  return std::nullopt;
}

// The same of a header after these.
std::optional<std::size_t> gzip_splitter::find_within(std::span<const std::byte> bytes) {
  std::size_t at = find_magic(bytes, guess::length_bytes);
  for (; at + guess::header_bytes <= bytes.size(); at = find_magic(bytes, at + 1)) {
    if (guess::may_end(bytes, at, member_bytes_ + at)) return at + guess::header_bytes;
  }
  return std::nullopt;
}

// As io::find_magic().
std::size_t gzip_splitter::find_magic(std::span<const std::byte> bytes, std::size_t at) {
  if (places_ == nullptr) return io::find_magic(bytes, guess::magic, at);
  constexpr std::size_t ahead = 8;  // the headers are in the cache of the core that read them
  const auto begin = static_cast<std::size_t>(bytes.data() - block_);
  while (next_place_ < places_->size() && (*places_)[next_place_] < begin + at) ++next_place_;
  if (next_place_ + ahead < places_->size()) __builtin_prefetch(block_ + (*places_)[next_place_ + ahead]);
  return next_place_ < places_->size() ? std::min((*places_)[next_place_] - begin, bytes.size()) : bytes.size();
}

std::string_view gzip_splitter::manner() const {
  if (phase_ != phase::lost) {
    return found_members_ ? "members found by their headers" : "BGZF blocks found by their sizes";
  }
  if (found_members_) return "members found by their headers, up to a long member";
  return found_blocks_ ? "BGZF blocks found by their sizes, up to a member without a size"
                       : "members cannot be found without decoding them";
}

}  // namespace

std::unique_ptr<splitter> make_gzip_splitter() { return std::make_unique<gzip_splitter>(); }

}  // namespace gpuhist::io
