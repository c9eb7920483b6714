// The automaton of well-formed UTF-8: table 3-7 of the Unicode standard as states and classes of bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace gpuhist::gpu::host::utf8 {

// Classes of byte values. The bytes of a class are the same to every state.
enum byte_class : std::uint8_t {
  ascii,
  continuation_8,  // 80..8f
  continuation_9,  // 90..9f
  continuation_a,  // a0..bf
  never,           // c0, c1, f5..ff: in no well-formed sequence
  lead_2,          // c2..df
  lead_e0,
  lead_3,  // e1..ec, ee, ef
  lead_ed,
  lead_f0,
  lead_4,  // f1..f3
  lead_f4
};
constexpr std::size_t byte_classes = 16;  // reserved in tables, so that a state is a multiple of it

// States, named by the bytes read so far.
enum state : std::uint8_t {
  start,
  after_lead_2,
  after_lead_e0,
  after_lead_3,
  after_lead_ed,
  after_2_of_3,
  after_lead_f0,
  after_lead_4,
  after_lead_f4,
  after_2_of_4,
  after_3_of_4
};
constexpr std::size_t states = 11;

// What is possible after an incomplete sequence.
struct continuation_rule {
  byte_class first;  // of the classes of continuation bytes that may follow
  byte_class last;
  state next;
  std::uint8_t read;  // bytes of the incomplete sequence
};

// By state.
constexpr auto continuation_rules = std::to_array<continuation_rule>({
    {continuation_8, ascii, start, 0},                  // start: no continuation byte is possible
    {continuation_8, continuation_a, start, 1},         // c2..df
    {continuation_a, continuation_a, after_2_of_3, 1},  // e0: not overlong
    {continuation_8, continuation_a, after_2_of_3, 1},  // e1..ec, ee, ef
    {continuation_8, continuation_9, after_2_of_3, 1},  // ed: no surrogate
    {continuation_8, continuation_a, start, 2},
    {continuation_9, continuation_a, after_2_of_4, 1},  // f0: not overlong
    {continuation_8, continuation_a, after_2_of_4, 1},  // f1..f3
    {continuation_8, continuation_8, after_2_of_4, 1},  // f4: not above U+10FFFF
    {continuation_8, continuation_a, after_3_of_4, 2},
    {continuation_8, continuation_a, start, 3},
});
static_assert(continuation_rules.size() == states);

// Sums of 20 bits each, added for each byte: code points that end, malformed sequences, bytes of these.
constexpr unsigned malformed_shift = 20;
constexpr unsigned malformed_bytes_shift = 40;
constexpr std::uint64_t sum_mask = (std::uint64_t{1} << malformed_shift) - 1;
constexpr std::uint64_t one_code_point = 1;
constexpr std::uint64_t malformed_of(std::uint64_t bytes) {
  return (std::uint64_t{1} << malformed_shift) | (bytes << malformed_bytes_shift);
}

struct transition {
  std::uint64_t sums = 0;
  std::uint32_t keep = 0;  // mask: all ones if the byte continues the sequence
  std::uint8_t next = 0;   // state times byte_classes
};

constexpr byte_class class_of(unsigned byte) {
  if (byte < 0x80) return ascii;
  if (byte < 0x90) return continuation_8;
  if (byte < 0xa0) return continuation_9;
  if (byte < 0xc0) return continuation_a;
  if (byte < 0xc2 || byte > 0xf4) return never;
  if (byte < 0xe0) return lead_2;
  if (byte == 0xe0) return lead_e0;
  if (byte == 0xed) return lead_ed;
  if (byte < 0xf0) return lead_3;
  if (byte == 0xf0) return lead_f0;
  return byte == 0xf4 ? lead_f4 : lead_4;
}

// The bits of a byte that belong to the code point.
constexpr std::uint8_t payload_mask(byte_class of) {
  if (of == ascii) return 0x7f;
  if (of == never) return 0;
  if (of < never) return 0x3f;
  if (of == lead_2) return 0x1f;
  return of < lead_f0 ? 0x0f : 0x07;
}

// The transition for the first byte of a sequence.
constexpr transition begin_with(byte_class byte) {
  constexpr auto to = [](state next) { return static_cast<std::uint8_t>(next * byte_classes); };
  switch (byte) {
    case ascii:
      return {.sums = one_code_point, .next = to(start)};
    case lead_2:
      return {.next = to(after_lead_2)};
    case lead_e0:
      return {.next = to(after_lead_e0)};
    case lead_3:
      return {.next = to(after_lead_3)};
    case lead_ed:
      return {.next = to(after_lead_ed)};
    case lead_f0:
      return {.next = to(after_lead_f0)};
    case lead_4:
      return {.next = to(after_lead_4)};
    case lead_f4:
      return {.next = to(after_lead_f4)};
    default:
      return {.sums = malformed_of(1), .next = to(start)};
  }
}

constexpr transition make_transition(state from, byte_class byte) {
  const continuation_rule& rule = continuation_rules[from];
  if (rule.first <= byte && byte <= rule.last) {
    return {.sums = rule.next == start ? one_code_point : 0,
            .keep = ~std::uint32_t{0},
            .next = static_cast<std::uint8_t>(rule.next * byte_classes)};
  }
  transition made = begin_with(byte);
  if (from != start) made.sums += malformed_of(rule.read);  // the incomplete sequence; the byte begins another
  return made;
}

struct automaton {
  struct byte_entry {
    byte_class of = ascii;
    std::uint8_t payload = 0;
  };
  std::array<byte_entry, 256> bytes{};
  std::array<transition, states * byte_classes> transitions{};
  std::array<std::uint8_t, states * byte_classes> next{};  // alone: the loop waits for this load
};

constexpr automaton make_automaton() {
  automaton made;
  for (unsigned byte = 0; byte < 256; ++byte) made.bytes[byte] = {class_of(byte), payload_mask(class_of(byte))};
  for (std::size_t from = 0; from < states; ++from) {
    for (std::size_t byte = 0; byte <= lead_f4; ++byte) {
      const transition taken = make_transition(static_cast<state>(from), static_cast<byte_class>(byte));
      made.transitions[from * byte_classes + byte] = taken;
      made.next[from * byte_classes + byte] = taken.next;
    }
  }
  return made;
}

inline constexpr automaton table = make_automaton();

// Bytes of the incomplete sequence in a state that is given as transition::next.
constexpr std::uint64_t bytes_read(std::uint8_t in) { return continuation_rules[in / byte_classes].read; }

}  // namespace gpuhist::gpu::host::utf8
