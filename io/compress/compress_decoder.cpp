// Codes have 9 bits at first, and one bit more each time the table of strings outgrows them. They are stored in groups
// of eight, lowest bit first:
//
//      byte      0        1        2                         8
//           ┌────────┬────────┬────────┬── ... ──┬────────┐         a group of eight 9-bit codes is 9 bytes
//           │00000000│11111110│22222211│         │77777777│         (each digit is the number of the code)
//           └────────┴────────┴────────┴── ... ──┴────────┘
//
// Where the width changes, the rest of the group is padding. The code `clear` empties the table and resets the width to
// 9 bits.
#include "io/compress/compress_decoder.hpp"

#include "io/frame_decoder.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace gpuhist::io {
namespace {

constexpr std::string_view compress_magic("\x1F\x9D");
constexpr unsigned min_width = 9;
constexpr unsigned max_width = 16;
constexpr std::size_t max_strings = std::size_t{1} << max_width;
constexpr std::uint32_t clear_code = 256;
constexpr unsigned codes_of_a_group = 8;
constexpr unsigned byte_bits = 8;
constexpr std::uint32_t no_code = ~std::uint32_t{0};

/// String `i` is the string `prefix[i]` followed by `last[i]`. Strings below 256 are single bytes.
struct string_table {
  std::array<std::uint16_t, max_strings> prefix{};
  std::array<std::uint8_t, max_strings> last{};
  std::array<std::byte, max_strings> spelled{};  // the string that is being delivered, from its end to its start
};

class compress_decoder final : public frame_decoder {
 public:
  explicit compress_decoder(const decoder_limits& limits)
      : frame_decoder(limits, {.format = "compress", .frame = "stream"}) {}

  [[nodiscard]] bool verifies_whole(std::uint64_t /*frames*/) const override { return false; }
  [[nodiscard]] bool in_frame() const override;

 private:
  enum class phase { header, window, codes };

  step_result step(cursor& at) override;
  void reset_frame() override;
  void free_memory() noexcept override { table_.reset(); }

  step_result read_header(cursor& at);
  step_result begin();
  step_result decode(cursor& at);
  void deliver(cursor& at);
  bool load(cursor& at, unsigned bits);
  std::uint32_t take_bits(unsigned bits);
  void widen();
  void end_group();
  void clear();
  step_result decode_code(std::uint32_t code);
  void spell(std::uint32_t code);
  void push(std::uint8_t byte) { table_->spelled[spelled_++] = std::byte{byte}; }
  void remember(std::uint32_t prefix, std::uint8_t last);

  std::unique_ptr<string_table> table_;
  phase phase_ = phase::header;
  unsigned max_width_ = max_width;
  bool may_clear_ = true;
  unsigned width_ = min_width;
  std::uint32_t next_string_ = clear_code;  // index of the next string to define
  std::uint32_t previous_ = no_code;        // the previous code
  std::uint8_t first_byte_ = 0;             // first byte of its string
  unsigned in_group_ = 0;                   // codes taken from the current group
  unsigned padding_ = 0;                    // bits to skip
  std::uint64_t bits_ = 0;                  // bits taken from the input and not used yet, the lowest first
  unsigned bit_count_ = 0;
  std::size_t spelled_ = 0;  // bytes of the table's `spelled` to deliver
};

// The input may end between two codes, followed by zero bits: up to the next whole byte, or in zero bytes of padding.
bool compress_decoder::in_frame() const {
  if (phase_ != phase::codes) return phase_ == phase::window || !collected().empty();
  if (spelled_ > 0) return true;
  return padding_ == 0 && bits_ != 0;
}

frame_decoder::step_result compress_decoder::step(cursor& at) {
  switch (phase_) {
    case phase::header:
      return read_header(at);
    case phase::window:
      return begin();
    case phase::codes:
      return decode(at);
  }
  return std::nullopt;
}

void compress_decoder::reset_frame() {
  phase_ = phase::header;
  spelled_ = 0;
}

frame_decoder::step_result compress_decoder::read_header(cursor& at) {
  constexpr std::size_t header_bytes = 3;
  if (const step_result ended = collect_header(at, compress_magic, header_bytes)) return ended;
  constexpr unsigned width_bits = 0x1F;
  constexpr unsigned unused_bits = 0x60;
  constexpr unsigned clear_bit = 0x80;
  const auto flags = std::to_integer<unsigned>(collected()[2]);
  max_width_ = flags & width_bits;
  may_clear_ = (flags & clear_bit) != 0;
  if ((flags & unused_bits) != 0 || max_width_ < min_width || max_width_ > max_width) {
    return fail_damaged("its header has invalid flags or an invalid code width");
  }
  if (max_width_ == min_width)
    return refuse(frame_name() + " has only codes of 9 bits, which compressors write wrongly,");
  phase_ = phase::window;
  return std::nullopt;
}

frame_decoder::step_result compress_decoder::begin() {
  if (const step_result asked = request_window(sizeof(string_table))) return asked;
  if (!table_) {
    table_ = std::make_unique<string_table>();
    for (std::size_t byte = 0; byte < clear_code; ++byte) table_->last[byte] = static_cast<std::uint8_t>(byte);
  }
  drop_collected();
  width_ = min_width;
  next_string_ = may_clear_ ? clear_code + 1 : clear_code;
  previous_ = no_code;
  in_group_ = padding_ = bit_count_ = 0;
  bits_ = 0;
  phase_ = phase::codes;
  return std::nullopt;
}

// Decodes one code, or delivers the rest of its string.
frame_decoder::step_result compress_decoder::decode(cursor& at) {
  deliver(at);
  if (spelled_ > 0) return fill_status::output_full;
  while (padding_ > 0) {
    const unsigned bits = std::min(padding_, min_width);
    if (!load(at, bits)) return fill_status::needs_input;
    take_bits(bits);
    padding_ -= bits;
  }
  if (next_string_ > (std::uint32_t{1} << width_) - 1 && width_ < max_width_) widen();
  if (padding_ > 0) return std::nullopt;
  if (!load(at, width_)) return fill_status::needs_input;
  const std::uint32_t code = take_bits(width_);
  in_group_ = (in_group_ + 1) % codes_of_a_group;
  if (code == clear_code && may_clear_) {
    clear();
    return std::nullopt;
  }
  return decode_code(code);
}

void compress_decoder::deliver(cursor& at) {
  const std::size_t size = std::min(spelled_, at.out.size());
  const auto spelled = std::span(table_->spelled).first(spelled_);
  std::ranges::copy_n(spelled.rbegin(), static_cast<std::ptrdiff_t>(size), at.out.begin());
  spelled_ -= size;
  write(at, size);
}

// Returns whether so many bits are available.
bool compress_decoder::load(cursor& at, unsigned bits) {
  while (bit_count_ < bits && !at.in.empty()) {
    bits_ |= std::to_integer<std::uint64_t>(at.in.front()) << bit_count_;
    bit_count_ += byte_bits;
    take(at, 1);
  }
  return bit_count_ >= bits;
}

std::uint32_t compress_decoder::take_bits(unsigned bits) {
  const auto taken = static_cast<std::uint32_t>(bits_ & ((std::uint64_t{1} << bits) - 1));
  bits_ >>= bits;
  bit_count_ -= bits;
  return taken;
}

void compress_decoder::widen() {
  end_group();
  ++width_;
}

void compress_decoder::end_group() {
  padding_ = in_group_ == 0 ? 0 : (codes_of_a_group - in_group_) * width_;
  in_group_ = 0;
}

void compress_decoder::clear() {
  end_group();
  width_ = min_width;
  next_string_ = clear_code;  // the first string after it, which only extends the previous code, takes this number
}

// A code that refers to the string being defined means the previous string followed by its first byte.
frame_decoder::step_result compress_decoder::decode_code(std::uint32_t code) {
  const bool is_first = previous_ == no_code;
  if (is_first ? code >= clear_code : code > next_string_) {
    return fail_damaged("a code refers to a string that is not defined yet");
  }
  const bool is_new = !is_first && code == next_string_;
  if (is_new) push(first_byte_);
  spell(is_new ? previous_ : code);
  if (!is_first) remember(previous_, first_byte_);
  previous_ = code;
  return std::nullopt;
}

void compress_decoder::spell(std::uint32_t code) {
  for (; code >= clear_code; code = table_->prefix[code]) push(table_->last[code]);
  first_byte_ = table_->last[code];
  push(first_byte_);
}

void compress_decoder::remember(std::uint32_t prefix, std::uint8_t last) {
  if (next_string_ >= std::uint32_t{1} << max_width_) return;
  table_->prefix[next_string_] = static_cast<std::uint16_t>(prefix);
  table_->last[next_string_] = last;
  ++next_string_;
}

}  // namespace

std::unique_ptr<decoder> make_compress_decoder(const decoder_limits& limits) {
  return std::make_unique<compress_decoder>(limits);
}

}  // namespace gpuhist::io
