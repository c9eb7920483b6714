// Codes are of 9 bits at first and one bit wider each time the table of strings has outgrown them. They lie bit by bit,
// lowest first, in groups of eight:
//
//      byte      0        1        2                         8
//           ┌────────┬────────┬────────┬── ... ──┬────────┐         a group of eight 9-bit codes is 9 bytes
//           │00000000│11111110│22222211│         │77777777│         (the digit says whose bit it is)
//           └────────┴────────┴────────┴── ... ──┴────────┘
//
// Where the width changes, what is left of a group is padding. The code `clear` empties the table and goes back to 9
// bits.
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

/// String `i` is the string `prefix[i]` and then `last[i]`. Those below 256 are single bytes.
struct string_table {
  std::array<std::uint16_t, max_strings> prefix{};
  std::array<std::uint8_t, max_strings> last{};
  std::array<std::byte, max_strings> spelled{};  // a string that is being delivered, from its end to its start
};

class compress_decoder final : public frame_decoder {
 public:
  explicit compress_decoder(const decoder_limits& limits)
      : frame_decoder(limits, {.format = "compress", .frame = "stream"}) {}

  [[nodiscard]] bool in_frame() const override;

 private:
  enum class phase { header, window, codes };

  step_result step(cursor& at) override;
  void begin_anew() override;
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
  step_result follow(std::uint32_t code);
  void spell(std::uint32_t code);
  void push(std::uint8_t byte) { table_->spelled[spelled_++] = std::byte{byte}; }
  void remember(std::uint32_t prefix, std::uint8_t last);

  std::unique_ptr<string_table> table_;
  phase phase_ = phase::header;
  unsigned widest_ = max_width;
  bool may_clear_ = true;
  unsigned width_ = min_width;
  std::uint32_t next_ = clear_code;  // the string that comes to be next
  std::uint32_t before_ = no_code;   // the code before
  std::uint8_t first_ = 0;           // byte of that one's string
  unsigned in_group_ = 0;            // codes of the group that were taken
  unsigned padding_ = 0;             // bits to skip
  std::uint64_t bits_ = 0;           // taken from the input and not used yet, the lowest first
  unsigned bit_count_ = 0;
  std::size_t spelled_ = 0;  // bytes of the table's `spelled` to deliver
};

// Between two codes the input may end, with zero bits up to the next whole byte.
bool compress_decoder::in_frame() const {
  if (phase_ != phase::codes) return phase_ == phase::window || !collected().empty();
  if (spelled_ > 0) return true;
  return padding_ == 0 && (bit_count_ >= byte_bits || bits_ != 0);
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

void compress_decoder::begin_anew() {
  phase_ = phase::header;
  spelled_ = 0;
}

frame_decoder::step_result compress_decoder::read_header(cursor& at) {
  constexpr std::size_t header_bytes = 3;
  while (collected().size() < header_bytes) {
    if (!collect(at, collected().size() + 1)) return fill_status::needs_input;
    if (!may_begin(compress_magic)) return refuse_magic();
  }
  constexpr unsigned width_bits = 0x1F;
  constexpr unsigned unused_bits = 0x60;
  constexpr unsigned clear_bit = 0x80;
  const auto flags = std::to_integer<unsigned>(collected()[2]);
  widest_ = flags & width_bits;
  may_clear_ = (flags & clear_bit) != 0;
  if ((flags & unused_bits) != 0 || widest_ < min_width || widest_ > max_width) {
    return fail_damaged("its header has flags or a width of codes that cannot be");
  }
  if (widest_ == min_width) return fail(frame_name() + " has codes of 9 bits only, which writers get wrong,");
  phase_ = phase::window;
  return std::nullopt;
}

frame_decoder::step_result compress_decoder::begin() {
  if (const step_result asked = ask_for_window(sizeof(string_table))) return asked;
  if (!table_) {
    table_ = std::make_unique<string_table>();
    for (std::size_t byte = 0; byte < clear_code; ++byte) table_->last[byte] = static_cast<std::uint8_t>(byte);
  }
  drop_collected();
  width_ = min_width;
  next_ = may_clear_ ? clear_code + 1 : clear_code;
  before_ = no_code;
  in_group_ = padding_ = bit_count_ = 0;
  bits_ = 0;
  phase_ = phase::codes;
  return std::nullopt;
}

// One code, or what is left of its string.
frame_decoder::step_result compress_decoder::decode(cursor& at) {
  deliver(at);
  if (spelled_ > 0) return fill_status::output_full;
  while (padding_ > 0) {
    const unsigned some = std::min(padding_, min_width);
    if (!load(at, some)) return fill_status::needs_input;
    take_bits(some);
    padding_ -= some;
  }
  if (next_ > (std::uint32_t{1} << width_) - 1 && width_ < widest_) widen();
  if (padding_ > 0) return std::nullopt;
  if (!load(at, width_)) return fill_status::needs_input;
  const std::uint32_t code = take_bits(width_);
  in_group_ = (in_group_ + 1) % codes_of_a_group;
  if (code == clear_code && may_clear_) {
    clear();
    return std::nullopt;
  }
  return follow(code);
}

void compress_decoder::deliver(cursor& at) {
  const std::size_t size = std::min(spelled_, at.out.size());
  const auto spelled = std::span(table_->spelled).first(spelled_);
  std::ranges::copy_n(spelled.rbegin(), static_cast<std::ptrdiff_t>(size), at.out.begin());
  spelled_ -= size;
  write(at, size);
}

// Whether so many bits are here.
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
  next_ = clear_code;  // the first string behind it, which only ever continues the code before, takes this number
}

// A code that is to be defined by itself stands for the string before and its first byte once more.
frame_decoder::step_result compress_decoder::follow(std::uint32_t code) {
  const bool first_of_all = before_ == no_code;
  if (first_of_all ? code >= clear_code : code > next_) {
    return fail_damaged("it has a code for a string that there is not yet");
  }
  const bool is_new = !first_of_all && code == next_;
  if (is_new) push(first_);
  spell(is_new ? before_ : code);
  if (!first_of_all) remember(before_, first_);
  before_ = code;
  return std::nullopt;
}

void compress_decoder::spell(std::uint32_t code) {
  for (; code >= clear_code; code = table_->prefix[code]) push(table_->last[code]);
  first_ = table_->last[code];
  push(first_);
}

void compress_decoder::remember(std::uint32_t prefix, std::uint8_t last) {
  if (next_ >= std::uint32_t{1} << widest_) return;
  table_->prefix[next_] = static_cast<std::uint16_t>(prefix);
  table_->last[next_] = last;
  ++next_;
}

}  // namespace

std::unique_ptr<decoder> make_compress_decoder(const decoder_limits& limits) {
  return std::make_unique<compress_decoder>(limits);
}

}  // namespace gpuhist::io
