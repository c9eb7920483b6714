// Both formats consist of a header that states the size of the dictionary, and data for one coder of liblzma.
#include "io/xz/lzip_decoder.hpp"

#include "io/frame_decoder.hpp"
#include "io/xz/lzip_header.hpp"
#include "io/xz/lzma_coder.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <string_view>

namespace gpuhist::io {
namespace {

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
  while (collected().size() < lzip_header_bytes) {
    if (!collect(at, collected().size() + 1)) return fill_status::needs_input;
    if (!may_begin(lzip_magic)) return refuse_magic();
  }
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

}  // namespace gpuhist::io
