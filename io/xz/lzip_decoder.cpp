#include "io/xz/lzip_decoder.hpp"

#include "io/frame_decoder.hpp"
#include "io/frame_magic.hpp"
#include "io/xz/lzma_coder.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace gpuhist::io {

// Both formats consist of a header that states the size of the dictionary, and data for one coder of liblzma.

namespace {

// The header of an lzip member: "LZIP", the version, and the code of the dictionary size.
constexpr std::string_view lzip_magic("LZIP");
constexpr std::size_t lzip_header_bytes = 6;

// The dictionary size of a code: 4 KiB to 512 MiB. Nothing for a code that the format does not define.
std::optional<std::uint64_t> lzip_dictionary_bytes(std::byte code) {
  const unsigned log = std::to_integer<unsigned>(code) & 0x1FU;
  const unsigned sixteenths = std::to_integer<unsigned>(code) >> 5U;
  if (log < 12 || log > 29 || (log == 12 && sixteenths != 0)) return std::nullopt;
  const std::uint64_t base = std::uint64_t{1} << log;
  return base - base / 16 * sixteenths;
}

class headed_decoder : public frame_decoder {
 public:
  [[nodiscard]] bool in_frame() const final { return phase_ != phase::header || !collected().empty(); }

 protected:
  using frame_decoder::frame_decoder;

  /// Parses the collected header. Returns nothing when it is complete and dictionary_ is set.
  virtual step_result read_header(cursor& at) = 0;
  virtual lzma_ret make(lzma_stream& coder) = 0;

  /// What follows the header in a frame without text: the coder need not be set up for it. Empty: it is not known.
  [[nodiscard]] virtual std::string_view end_without_text() const { return {}; }
  [[nodiscard]] virtual std::string_view cause_of(lzma_ret code) const = 0;

  void set_dictionary(std::uint64_t bytes) { dictionary_ = bytes; }

 private:
  enum class phase { header, window, text, end };

  step_result step(cursor& at) final;
  void reset_frame() final { phase_ = phase::header; }
  void free_memory() noexcept final { coder_.free_memory(); }

  step_result begin(cursor& at);
  bool take_end_without_text(cursor& at);
  step_result decode(cursor& at);

  lzma_coder coder_;
  std::uint64_t dictionary_ = 0;
  phase phase_ = phase::header;
};

frame_decoder::step_result headed_decoder::step(cursor& at) {
  switch (phase_) {
    case phase::header:
      if (const step_result ended = read_header(at)) return ended;
      phase_ = phase::window;
      return std::nullopt;
    case phase::window:
      return begin(at);
    case phase::text:
      return decode(at);
    case phase::end:
      phase_ = phase::header;
      return end_frame();
  }
  return std::nullopt;
}

bool headed_decoder::take_end_without_text(cursor& at) {
  const auto end = std::as_bytes(std::span(end_without_text()));
  if (end.empty() || at.in.size() < end.size() || !std::ranges::equal(at.in.first(end.size()), end)) return false;
  drop_collected();
  advance(at, end.size(), 0);
  return true;
}

frame_decoder::step_result headed_decoder::begin(cursor& at) {
  if (const step_result asked = request_window(dictionary_)) return asked;
  if (take_end_without_text(at)) {
    phase_ = phase::end;
    return std::nullopt;
  }
  std::byte none{};
  lzma_ret code = checked(make(coder_.stream()));
  if (code == LZMA_OK) code = coder_.run(collected(), {&none, 1}).code;
  if (code != LZMA_OK) return fail_damaged(cause_of(code));
  drop_collected();
  phase_ = phase::text;
  return std::nullopt;
}

frame_decoder::step_result headed_decoder::decode(cursor& at) {
  const lzma_progress got = coder_.run(at.in, room(at));
  if (got.code == LZMA_OK) return continue_after(at, got.consumed, got.written);
  advance(at, got.consumed, got.written);
  if (got.code != LZMA_STREAM_END) return fail_damaged(cause_of(got.code));
  phase_ = phase::end;
  return std::nullopt;
}

class lzip_decoder final : public headed_decoder {
 public:
  explicit lzip_decoder(const decoder_limits& limits) : headed_decoder(limits, {.format = "lzip", .frame = "member"}) {}

 private:
  step_result read_header(cursor& at) override;
  lzma_ret make(lzma_stream& coder) override {
    return lzma_lzip_decoder(&coder, UINT64_MAX, 0);  // no memory limit: it is enforced here
  }
  // the end marker of LZMA; CRC-32 (4), size of the text (8), and since version 1 size of the member (8)
  [[nodiscard]] std::string_view end_without_text() const override {
    if (collected()[4] != std::byte{1}) return {};
    return {
        "\x00\x83\xff\xfb\xff\xff\xc0\x00\x00\x00"
        "\0\0\0\0"
        "\0\0\0\0\0\0\0\0"
        "\x24\0\0\0\0\0\0\0",
        30};
  }
  [[nodiscard]] std::string_view cause_of(lzma_ret /*code*/) const override {
    return "its data does not decode, or does not match its checksum or sizes";
  }
};

frame_decoder::step_result lzip_decoder::read_header(cursor& at) {
  skip_padding(at);
  if (const step_result ended = collect_header(at, lzip_magic, lzip_header_bytes)) return ended;
  const auto version = std::to_integer<unsigned>(collected()[4]);
  if (version > 1) {
    return refuse(frame_name() + " is of version " + std::to_string(version) +
                  " of the lzip format, which liblzma does not know,");
  }
  const std::optional<std::uint64_t> dictionary = lzip_dictionary_bytes(collected()[5]);
  if (!dictionary) return fail_damaged("its header has an invalid dictionary size");
  set_dictionary(*dictionary);
  return std::nullopt;
}

class lzma_decoder final : public headed_decoder {
 public:
  explicit lzma_decoder(const decoder_limits& limits) : headed_decoder(limits, {.format = "lzma", .frame = "stream"}) {}

  [[nodiscard]] bool verifies_whole(std::uint64_t /*frames*/) const override { return false; }

 private:
  step_result read_header(cursor& at) override;
  lzma_ret make(lzma_stream& coder) override { return lzma_alone_decoder(&coder, UINT64_MAX); }
  [[nodiscard]] std::string_view cause_of(lzma_ret /*code*/) const override { return "its data does not decode"; }
  [[nodiscard]] bool is_plausible() const;
};

frame_decoder::step_result lzma_decoder::read_header(cursor& at) {
  constexpr std::size_t header_bytes = 13;  // properties, dictionary (4), size of the text (8)
  if (frames_ended() != 0) {
    if (at.in.empty()) return fill_status::needs_input;
    return fail("trailing data after the end of the stream,");
  }
  if (!collect(at, header_bytes)) return fill_status::needs_input;
  if (!is_plausible()) return fail("is not lzma data: it does not begin with a header that encoders write,");
  std::uint64_t dictionary = 0;
  for (std::size_t i = 4; i >= 1; --i) dictionary = (dictionary << 8U) | std::to_integer<std::uint64_t>(collected()[i]);
  set_dictionary(dictionary);
  return std::nullopt;
}

/// The check of xz for such a header: a dictionary of 2^n or 2^n + 2^(n-1) bytes or of the maximum size, and a text
/// size below 256 GiB or unknown.
bool lzma_decoder::is_plausible() const {
  constexpr unsigned max_properties = (4 * 5 + 4) * 9 + 8;
  std::uint64_t number = 0;
  for (std::size_t i = 12; i >= 5; --i) number = (number << 8U) | std::to_integer<std::uint64_t>(collected()[i]);
  std::uint32_t dictionary = 0;
  for (std::size_t i = 4; i >= 1; --i) dictionary = (dictionary << 8U) | std::to_integer<std::uint32_t>(collected()[i]);
  const std::uint32_t without_top = dictionary - std::bit_floor(dictionary);
  const bool known_dictionary =
      dictionary == UINT32_MAX || without_top == 0 || without_top == std::bit_floor(dictionary) / 2;
  const bool known_size = number == UINT64_MAX || number < (std::uint64_t{1} << 38U);
  return std::to_integer<unsigned>(collected()[0]) <= max_properties && known_dictionary && known_size;
}

}  // namespace

std::unique_ptr<decoder> make_lzip_decoder(const decoder_limits& limits) {
  return std::make_unique<lzip_decoder>(limits);
}

std::unique_ptr<decoder> make_lzma_decoder(const decoder_limits& limits) {
  return std::make_unique<lzma_decoder>(limits);
}

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
