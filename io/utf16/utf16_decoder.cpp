#include "io/utf16/utf16_decoder.hpp"

#include "io/frame_decoder.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::io {
namespace {

constexpr std::size_t unit_bytes = 2;
constexpr std::uint32_t byte_order_mark = 0xFEFF;
constexpr std::uint32_t replacement = 0xFFFD;

bool is_high(std::uint32_t unit) { return unit >> 10U == 0xD800U >> 10U; }
bool is_low(std::uint32_t unit) { return unit >> 10U == 0xDC00U >> 10U; }

// The text of one input, in pieces.
class utf16_text {
 public:
  explicit utf16_text(bool big_endian) : big_endian_(big_endian) {}

  /// `at_start`: a byte order mark may follow.
  void begin(bool at_start) {
    at_start_ = at_start;
    has_odd_ = false;
    high_ = 0;
    at_ = replaced_ = first_ = 0;
  }

  /// Appends the text of `in` to `out`, but an incomplete character.
  void convert(std::span<const std::byte> in, std::vector<std::byte>& out);

  /// Appends U+FFFD in the place of an incomplete character.
  void end(std::vector<std::byte>& out);

  [[nodiscard]] bool is_within_character() const { return has_odd_ || high_ != 0; }
  [[nodiscard]] std::uint64_t replaced() const { return replaced_; }
  [[nodiscard]] std::uint64_t first_replaced() const { return first_; }

 private:
  [[nodiscard]] std::uint32_t unit(std::byte first, std::byte second) const {
    if (big_endian_) std::swap(first, second);
    return std::to_integer<std::uint32_t>(first) | std::to_integer<std::uint32_t>(second) << 8U;
  }
  std::size_t convert_ascii(std::span<const std::byte> in, std::vector<std::byte>& out);
  void add_unit(std::uint32_t unit, std::vector<std::byte>& out);
  void replace(std::uint64_t at, std::vector<std::byte>& out);
  static void add(std::uint32_t character, std::vector<std::byte>& out);

  const bool big_endian_;
  bool at_start_ = true;
  bool has_odd_ = false;
  std::byte odd_{};         // the first byte of a unit
  std::uint32_t high_ = 0;  // a high surrogate, without its low one; 0: none
  std::uint64_t at_ = 0;    // offset of the next unit
  std::uint64_t replaced_ = 0;
  std::uint64_t first_ = 0;  // offset of the first that was replaced
};

void utf16_text::convert(std::span<const std::byte> in, std::vector<std::byte>& out) {
  if (has_odd_ && !in.empty()) {
    has_odd_ = false;
    add_unit(unit(odd_, in.front()), out);
    in = in.subspan(1);
  }
  while (in.size() >= unit_bytes) {
    if (high_ == 0) in = in.subspan(convert_ascii(in, out));
    if (in.size() < unit_bytes) break;
    add_unit(unit(in[0], in[1]), out);
    in = in.subspan(unit_bytes);
  }
  if (in.empty()) return;
  odd_ = in.front();
  has_odd_ = true;
}

// Four units at once, as long as they are ASCII. Returns the number of bytes.
std::size_t utf16_text::convert_ascii(std::span<const std::byte> in, std::vector<std::byte>& out) {
  constexpr std::size_t step = sizeof(std::uint64_t);
  const std::uint64_t others = big_endian_ ? 0x80FF80FF80FF80FFU : 0xFF80FF80FF80FF80U;  // in a little endian word
  const std::size_t first = big_endian_ ? 1 : 0;
  std::size_t taken = 0;
  for (; in.size() - taken >= step; taken += step) {
    std::uint64_t word = 0;
    std::memcpy(&word, in.data() + taken, step);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    if ((word & others) != 0) break;
    const std::byte* const four = in.data() + taken + first;
    const std::array<std::byte, 4> characters{four[0], four[2], four[4], four[6]};
    out.insert(out.end(), characters.begin(), characters.end());
  }
  if (taken > 0) at_start_ = false;
  at_ += taken;
  return taken;
}

void utf16_text::add_unit(std::uint32_t unit, std::vector<std::byte>& out) {
  const std::uint64_t here = std::exchange(at_, at_ + unit_bytes);
  if (std::exchange(at_start_, false) && unit == byte_order_mark) return;
  if (const std::uint32_t high = std::exchange(high_, 0); high != 0) {
    constexpr std::uint32_t supplementary = 0x10000;
    if (is_low(unit)) return add(supplementary + ((high - 0xD800U) << 10U) + (unit - 0xDC00U), out);
    replace(here - unit_bytes, out);
  }
  if (is_high(unit)) {
    high_ = unit;
  } else if (is_low(unit)) {
    replace(here, out);
  } else {
    add(unit, out);
  }
}

void utf16_text::end(std::vector<std::byte>& out) {
  if (!is_within_character()) return;
  replace(high_ != 0 ? at_ - unit_bytes : at_, out);
  high_ = 0;
  has_odd_ = false;
}

void utf16_text::replace(std::uint64_t at, std::vector<std::byte>& out) {
  if (replaced_++ == 0) first_ = at;
  add(replacement, out);
}

void utf16_text::add(std::uint32_t character, std::vector<std::byte>& out) {
  constexpr std::uint32_t continuation = 0x80;
  constexpr std::uint32_t six_bits = 0x3F;
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<std::byte>(byte)); };
  if (character < 0x80) return put(character);
  if (character < 0x800) {
    put(0xC0U | character >> 6U);
  } else if (character < 0x10000) {
    put(0xE0U | character >> 12U);
    put(continuation | (character >> 6U & six_bits));
  } else {
    put(0xF0U | character >> 18U);
    put(continuation | (character >> 12U & six_bits));
    put(continuation | (character >> 6U & six_bits));
  }
  put(continuation | (character & six_bits));
}

class utf16_decoder final : public decoder {
 public:
  utf16_decoder(std::unique_ptr<decoder> compression, bool big_endian)
      : inner_(std::move(compression)), text_(big_endian) {}

  fill_result fill(std::span<const std::byte> in, std::span<std::byte> out) override;
  void offer(const std::shared_ptr<const decoded_part>& part) override { inner_->offer(part); }
  [[nodiscard]] bool may_take_parts() const override { return inner_->may_take_parts(); }
  void restart(const decode_start& start) override;
  [[nodiscard]] std::shared_ptr<const frame_context> head() const override { return inner_->head(); }
  [[nodiscard]] std::uint64_t window_wanted() const override { return inner_->window_wanted(); }
  void grant_window(std::uint64_t bytes) override { inner_->grant_window(bytes); }
  [[nodiscard]] std::string fault(std::uint64_t text_before) const override { return inner_->fault(text_before); }
  [[nodiscard]] failure_kind fault_kind() const override { return inner_->fault_kind(); }
  [[nodiscard]] std::string fault_cause() const override { return inner_->fault_cause(); }
  [[nodiscard]] bool end_input() override;
  [[nodiscard]] std::string missing_at_end(std::uint64_t text_before) const override {
    return inner_->missing_at_end(text_before);
  }
  [[nodiscard]] bool lacks_end() const override { return inner_->lacks_end(); }
  [[nodiscard]] std::optional<notice> notice_at_end() const override;
  [[nodiscard]] bool verifies_whole(std::uint64_t frames) const override { return inner_->verifies_whole(frames); }
  [[nodiscard]] std::string missing_at_frame_end(std::uint64_t text_before) const override {
    return inner_->missing_at_frame_end(text_before);
  }
  [[nodiscard]] std::string missing_cause_at_end() const override { return inner_->missing_cause_at_end(); }
  [[nodiscard]] std::string missing_cause_at_frame_end() const override { return inner_->missing_cause_at_frame_end(); }
  [[nodiscard]] bool in_frame() const override {
    return inner_->in_frame() || ended_within_character_ || written_ < converted_.size();
  }
  [[nodiscard]] std::uint64_t frameless_to() const override { return inner_->frameless_to(); }
  [[nodiscard]] std::uint64_t consumed_total() const override { return inner_->consumed_total(); }
  [[nodiscard]] std::uint64_t produced_total() const override { return produced_; }

 private:
  std::size_t write(std::span<std::byte> out);
  void decode(std::span<const std::byte>& in);

  static constexpr std::size_t buffer_bytes = std::size_t{16} << 10U;

  const std::unique_ptr<decoder> inner_;
  utf16_text text_;
  std::array<std::byte, buffer_bytes> decoded_{};
  std::vector<std::byte> converted_;
  std::size_t written_ = 0;                       // of converted_
  fill_status after_ = fill_status::output_full;  // reported when converted_ is written; output_full: nothing
  bool ended_within_character_ = false;           // a frame of the compression, which is not reported yet
  std::uint64_t produced_ = 0;
};

void utf16_decoder::restart(const decode_start& start) {
  inner_->restart(start);
  text_.begin(start.compressed_bytes == 0);
  converted_.clear();
  written_ = 0;
  after_ = fill_status::output_full;
  ended_within_character_ = false;
  produced_ = 0;
}

fill_result utf16_decoder::fill(std::span<const std::byte> in, std::span<std::byte> out) {
  const std::size_t all = in.size();
  std::size_t produced = 0;
  for (;;) {
    produced += write(out.subspan(produced));
    fill_status status = fill_status::output_full;
    if (written_ == converted_.size()) status = std::exchange(after_, fill_status::output_full);
    const bool has_more_input = status == fill_status::needs_input && !in.empty();  // it came with a later call
    if (has_more_input) status = fill_status::output_full;
    if (written_ < converted_.size() || status != fill_status::output_full) {
      produced_ += produced;
      return {.status = status, .consumed = all - in.size(), .produced = produced};
    }
    decode(in);
  }
}

std::size_t utf16_decoder::write(std::span<std::byte> out) {
  const std::size_t bytes = std::min(out.size(), converted_.size() - written_);
  if (bytes != 0) std::memcpy(out.data(), converted_.data() + written_, bytes);
  written_ += bytes;
  return bytes;
}

void utf16_decoder::decode(std::span<const std::byte>& in) {
  const fill_result got = inner_->fill(in, decoded_);
  in = in.subspan(got.consumed);
  converted_.clear();
  written_ = 0;
  text_.convert(std::span(decoded_).first(got.produced), converted_);
  after_ = got.status;
  if (got.produced > 0) ended_within_character_ = false;
  if (got.status != fill_status::frame_verified) return;
  ended_within_character_ = text_.is_within_character();
  if (ended_within_character_) after_ = fill_status::output_full;
}

bool utf16_decoder::end_input() {
  if (!text_.is_within_character() || !inner_->missing_cause_at_end().empty()) return false;
  converted_.clear();
  written_ = 0;
  text_.end(converted_);
  after_ = std::exchange(ended_within_character_, false) ? fill_status::frame_verified : fill_status::needs_input;
  return true;
}

std::optional<notice> utf16_decoder::notice_at_end() const {
  if (text_.replaced() == 0) return inner_->notice_at_end();
  return notice{
      .kind = notice_kind::replaced_characters,
      .text = "is not valid UTF-16: U+FFFD is counted in the place of " +
              (text_.replaced() == 1 ? std::string("1 surrogate or incomplete character")
                                     : std::to_string(text_.replaced()) + " surrogates or incomplete characters") +
              ", the first at byte " + std::to_string(text_.first_replaced()) + " of the text in UTF-16"};
}

class stored_decoder final : public frame_decoder {
 public:
  explicit stored_decoder(const decoder_limits& limits)
      : frame_decoder(limits, {.format = "UTF-16", .frame = "part"}) {}

  [[nodiscard]] bool verifies_whole(std::uint64_t /*frames*/) const override { return false; }
  [[nodiscard]] bool in_frame() const override { return false; }  // the input may end anywhere

 private:
  step_result step(cursor& at) override;
  void reset_frame() override { taken_ = 0; }
  void free_memory() noexcept override {}

  std::size_t taken_ = 0;  // of the frame
};

frame_decoder::step_result stored_decoder::step(cursor& at) {
  constexpr std::size_t frame_bytes = std::size_t{64} << 10U;
  if (taken_ == frame_bytes) {
    taken_ = 0;
    return end_frame();
  }
  if (at.in.empty()) return fill_status::needs_input;
  if (at.out.empty()) return fill_status::output_full;
  auto text = at.in.first(std::min({at.in.size(), at.out.size(), frame_bytes - taken_}));
  const std::size_t bytes = text.size();
  write_front(at, text);
  take(at, bytes);
  taken_ += bytes;
  return std::nullopt;
}

}  // namespace

// The mark of UTF-32 in little endian begins with that of UTF-16.
text_encoding encoding_of(std::span<const std::byte> head, text_encoding wanted) {
  const auto begins_with_bytes = [head](std::initializer_list<std::byte> mark) {
    return head.size() >= mark.size() && std::ranges::equal(head.first(mark.size()), mark);
  };
  const bool may_have_mark = wanted == text_encoding::by_mark || wanted == text_encoding::utf16;
  constexpr std::byte first{0xFF};
  constexpr std::byte second{0xFE};
  constexpr std::byte zero{0};
  if (head.empty()) return text_encoding::utf8;
  if (may_have_mark && begins_with_bytes({second, first})) return text_encoding::utf16be;
  if (may_have_mark && begins_with_bytes({first, second}) && !begins_with_bytes({first, second, zero, zero})) {
    return text_encoding::utf16le;
  }
  if (wanted == text_encoding::by_mark) return text_encoding::utf8;
  return wanted == text_encoding::utf16 ? text_encoding::utf16le : wanted;
}

std::unique_ptr<decoder> make_utf16_decoder(std::unique_ptr<decoder> compression, text_encoding order) {
  return std::make_unique<utf16_decoder>(std::move(compression), order == text_encoding::utf16be);
}

std::unique_ptr<decoder> make_stored_decoder(const decoder_limits& limits) {
  return std::make_unique<stored_decoder>(limits);
}

}  // namespace gpuhist::io
