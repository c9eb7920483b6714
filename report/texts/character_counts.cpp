#include "report/texts/character_counts.hpp"

#include "report/texts/characters.hpp"

#include <utf8proc.h>

#include <utility>

namespace gpuhist::report::texts {

character_counts::character_counts() : pages_(pages) {}

character_counts::page& character_counts::page_of(char32_t code_point) {
  const auto at = static_cast<std::uint32_t>(code_point / page_size);
  std::unique_ptr<page>& found = pages_[at];
  if (!found) found = std::make_unique<page>();
  if (!std::exchange(found->is_used, true)) used_.push_back(at);
  return *found;
}

// The sequence that the text begins with, if it is whole. Returns its bytes; 0: it is incomplete.
std::size_t character_counts::add_sequence(std::string_view text) {
  const utf8_sequence found = sequence_at(text);
  if (found.is == utf8_sequence::kind::incomplete) return 0;
  if (found.is == utf8_sequence::kind::valid) {
    const char32_t code_point = decode(text).code_point;
    ++page_of(code_point).numbers[code_point % page_size];
  } else {
    ++malformed_;
    for (const char each : text.substr(0, found.bytes)) ++malformed_bytes_[static_cast<unsigned char>(each) & 0x7fU];
  }
  return found.bytes;
}

void character_counts::add(std::string_view part) {
  if (part.empty()) return;
  is_empty_ = false;
  while (!open_.empty() && !part.empty()) {  // at most 3 bytes are open
    open_ += part.front();
    part.remove_prefix(1);
    const std::size_t taken = add_sequence(open_);
    open_.erase(0, taken);
    if (taken > 0 && !open_.empty()) {  // the byte that was added begins a sequence
      part = {part.data() - 1, part.size() + 1};
      open_.clear();
    }
  }
  page& first = page_of(0);
  while (!part.empty()) {
    const auto byte = static_cast<unsigned char>(part.front());
    if (byte < ascii_traits.size()) {
      ++first.numbers[byte];
      part.remove_prefix(1);
      continue;
    }
    const std::size_t taken = add_sequence(part);
    if (taken == 0) {
      open_ = part;
      return;
    }
    part.remove_prefix(taken);
  }
}

void character_counts::end() {
  if (open_.empty()) return;
  ++malformed_;
  for (const char each : open_) ++malformed_bytes_[static_cast<unsigned char>(each) & 0x7fU];
  open_.clear();
}

void character_counts::clear() {
  for (const std::uint32_t each : used_) *pages_[each] = page();
  used_.clear();
  malformed_ = 0;
  malformed_bytes_.fill(0);
  open_.clear();
  is_empty_ = true;
}

std::string_view character_counts::encoded(char32_t code_point, std::array<char, 4>& room) {
  const auto bytes =
      utf8proc_encode_char(static_cast<utf8proc_int32_t>(code_point), reinterpret_cast<utf8proc_uint8_t*>(room.data()));
  return {room.data(), static_cast<std::size_t>(bytes)};
}

}  // namespace gpuhist::report::texts
