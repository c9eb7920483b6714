#include "report/texts/character_counts.hpp"

#include "report/texts/characters.hpp"

#include <utf8proc.h>

#include <algorithm>

namespace gpuhist::report::texts {

character_counts::character_counts() : pages_(pages) { pages_.front() = std::make_unique<page>(); }

std::uint64_t& character_counts::number_of(char32_t code_point) {
  std::unique_ptr<page>& found = pages_[code_point / page_size];
  if (!found) found = std::make_unique<page>();
  return (*found)[code_point % page_size];
}

// The sequence that the text begins with, if it is whole. Returns its bytes; 0: it is incomplete.
std::size_t character_counts::add_sequence(std::string_view text) {
  const utf8_sequence found = sequence_at(text);
  if (found.is == utf8_sequence::kind::incomplete) return 0;
  if (found.is == utf8_sequence::kind::valid) {
    ++number_of(decode(text).code_point);
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
  page& first = *pages_.front();
  while (!part.empty()) {
    const auto byte = static_cast<unsigned char>(part.front());
    if (byte < ascii_traits.size()) {
      ++first[byte];
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
  for (std::unique_ptr<page>& each : pages_) {
    if (each) each->fill(0);
  }
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
