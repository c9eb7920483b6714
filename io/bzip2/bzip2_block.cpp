#include "io/bzip2/bzip2_block.hpp"

#include <algorithm>
#include <bit>

namespace gpuhist::io {

void bzip2_block_reader::start(std::uint8_t* out, std::size_t most) {
  if (!tables_) tables_ = std::make_unique<std::array<bzip2_code, most_codes>>();
  field_ = field::crc;
  ended_ = state::needs_input;
  out_ = out;
  most_ = most;
}

bzip2_block_reader::state bzip2_block_reader::read(bzip2_bits& bits) {
  while (read_field(bits)) {
  }
  return ended_;
}

bool bzip2_block_reader::fail() {
  ended_ = state::damaged;
  return false;
}

bool bzip2_block_reader::go_to(field next) {
  field_ = next;
  return true;
}

bool bzip2_block_reader::read_number(bzip2_bits& bits, unsigned width) {
  if (!bits.need(width)) return false;
  number_ = bits.take(width);
  return true;
}

bool bzip2_block_reader::read_field(bzip2_bits& bits) {
  switch (field_) {
    case field::crc:
      if (!read_number(bits, 32)) return false;
      header_.crc = number_;
      return go_to(field::randomised);
    case field::randomised:
      if (!read_number(bits, 1)) return false;
      header_.randomised = number_ != 0;
      return go_to(field::origin);
    case field::origin: {
      constexpr std::size_t above_level = 10;  // the reference decoder allows so much here, and less after the symbols
      if (!read_number(bits, 24)) return false;
      header_.origin = number_;
      return number_ > most_ + above_level ? fail() : go_to(field::used_groups);
    }
    case field::used_groups:
      if (!read_number(bits, 16)) return false;
      used_groups_ = number_;
      used_number_ = 0;
      group_ = 0;
      return go_to(field::used_bytes);
    case field::used_bytes:
      return read_used_bytes(bits);
    case field::codes:
      if (!read_number(bits, 3)) return false;
      codes_ = number_;
      return codes_ < 2 || codes_ > most_codes ? fail() : go_to(field::selectors);
    case field::selectors:
      if (!read_number(bits, 15)) return false;
      selectors_ = number_;
      selector_ = 0;
      place_ = 0;
      for (unsigned i = 0; i < most_codes; ++i) recent_codes_[i] = static_cast<std::uint8_t>(i);
      return selectors_ == 0 ? fail() : go_to(field::selector);
    case field::selector:
      return read_selector(bits);
    case field::lengths:
      return read_lengths(bits);
    case field::symbols:
      return read_symbols(bits);
  }
  return false;
}

bool bzip2_block_reader::read_used_bytes(bzip2_bits& bits) {
  for (; group_ < 16; ++group_) {
    if ((used_groups_ >> (15U - group_) & 1U) == 0) continue;
    if (!read_number(bits, 16)) return false;
    for (unsigned i = 0; i < 16; ++i) {
      if ((number_ >> (15U - i) & 1U) != 0) used_[used_number_++] = static_cast<std::uint8_t>(16 * group_ + i);
    }
  }
  return used_number_ == 0 ? fail() : go_to(field::codes);
}

/// Reads a selector: its place in the list of recently used codes, as so many ones, and a zero.
bool bzip2_block_reader::read_selector(bzip2_bits& bits) {
  for (; selector_ < selectors_; ++selector_) {
    while (true) {
      if (!bits.need(1)) return false;
      if (bits.take(1) == 0) break;
      if (++place_ >= codes_) return fail();
    }
    const std::uint8_t code = recent_codes_[place_];
    for (; place_ > 0; --place_) recent_codes_[place_] = recent_codes_[place_ - 1];
    recent_codes_[0] = code;
    if (selector_ < most_selectors) selected_[selector_] = code;
  }
  code_ = 0;
  lengths_ = 0;
  reads_length_ = true;
  return go_to(field::lengths);
}

/// Reads the lengths of the codes: the first one in 5 bits, then the differences: 0: none; 10: one more; 11: one less.
bool bzip2_block_reader::read_lengths(bzip2_bits& bits) {
  if (reads_length_) {
    if (!read_number(bits, 5)) return false;
    length_ = number_;
    reads_length_ = false;
  }
  while (true) {
    if (length_ < 1 || length_ > bzip2_longest_code) return fail();
    if (!bits.need(1)) return false;
    if (bits.peek(1) == 0) {
      bits.drop(1);
      if (next_length()) return true;
      continue;
    }
    if (!bits.need(2)) return false;
    length_ = bits.take(2) == 2 ? length_ + 1 : length_ - 1;
  }
}

/// The length of a symbol is known. Returns whether the code is complete.
bool bzip2_block_reader::next_length() {
  // larger tables take longer to build than a block with few symbols takes to decode
  constexpr unsigned few_selectors = 20;
  constexpr unsigned few_bits = 5;
  code_lengths_[lengths_++] = static_cast<std::uint8_t>(length_);
  if (lengths_ < used_number_ + 2) return false;
  (*tables_)[code_].build(std::span(code_lengths_).first(lengths_),
                          selectors_ <= few_selectors ? few_bits : bzip2_code::most_table_bits);
  lengths_ = 0;
  reads_length_ = true;
  if (++code_ == codes_) begin_symbols();
  return true;
}

void bzip2_block_reader::begin_symbols() {
  symbols_.start(std::span(used_).first(used_number_), recent_, out_, most_);
  selectors_ = std::min(selectors_, static_cast<unsigned>(most_selectors));
  selector_ = 0;
  symbols_left_ = 0;
  field_ = field::symbols;
}

bool bzip2_block_reader::begin_selector() {
  if (selector_ == selectors_) return false;
  code_ = selected_[selector_++];
  symbols_left_ = symbols_of_a_selector;
  return true;
}

/// Reads symbol by symbol, to the end of the input, or until there is enough of it for read_symbols_fast().
bool bzip2_block_reader::read_symbols(bzip2_bits& bits) {
  constexpr unsigned invalid_bits = bzip2_longest_code + 1;  // the reference decoder reads so many until it fails
  while (true) {
    if (bits.has_fast()) return read_symbols_fast(bits);
    if (symbols_left_ == 0 && !begin_selector()) return fail();
    const bzip2_word word = (*tables_)[code_].one(bits.held());
    const unsigned length = word.length() == 0 ? invalid_bits : word.length();
    if (length > bits.count()) {
      if (!bits.need(bits.count() + 1)) return false;
      continue;
    }
    bits.drop(length);
    if (word.length() == 0) return fail();
    --symbols_left_;
    const bzip2_symbols::state put = symbols_.put(word);
    if (put == bzip2_symbols::state::more) continue;
    if (put == bzip2_symbols::state::invalid || header_.origin >= symbols_.size()) return fail();
    ended_ = state::complete;
    return false;
  }
}

bool bzip2_block_reader::read_symbols_fast(bzip2_bits& bits) {
  constexpr unsigned invalid_bits = bzip2_longest_code + 1;
  bzip2_bits::fast in = bits.begin_fast();
  bzip2_symbols symbols = symbols_;  // in registers
  const bzip2_code* code = &(*tables_)[code_];
  unsigned left = symbols_left_;
  auto put = bzip2_symbols::state::more;
  while (in.can_refill()) {
    if (left == 0) {
      if (!begin_selector()) {
        put = bzip2_symbols::state::invalid;
        break;
      }
      code = &(*tables_)[code_];
      left = symbols_of_a_selector;
    }
    in.refill();
    bzip2_word word = code->several(in.held);
    if (word.length() == 0 || word.symbols() > left) [[unlikely]] {
      word = code->one(in.held);
      if (word.length() == 0) {
        in.drop(invalid_bits);
        put = bzip2_symbols::state::invalid;
        break;
      }
    }
    put = symbols.put(word);
    if (put == bzip2_symbols::state::invalid) [[unlikely]] {
      // one by one, to end after the symbol that is invalid
      put = bzip2_symbols::state::more;
      for (unsigned i = word.symbols(); i > 0 && put == bzip2_symbols::state::more; --i) {
        const bzip2_word single = code->one(in.held);
        in.drop(single.length());
        put = symbols.put(single);
      }
      break;
    }
    in.drop(word.length());
    left -= word.symbols();
    if (put != bzip2_symbols::state::more) break;
  }
  bits.end_fast(in);
  symbols_ = symbols;
  symbols_left_ = left;
  if (put == bzip2_symbols::state::more) return true;
  if (put == bzip2_symbols::state::invalid || header_.origin >= symbols_.size()) return fail();
  ended_ = state::complete;
  return false;
}

}  // namespace gpuhist::io
