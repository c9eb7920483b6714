#include "io/archive/seven_zip_files.hpp"

namespace gpuhist::io {
namespace {

constexpr std::size_t most_files = std::size_t{1} << 24U;

// Type of the file, in the upper half of its attributes; 0 if the writer stored none.
bool is_regular_file(std::uint64_t attributes) {
  constexpr unsigned type_bits = 0170000;
  constexpr unsigned regular = 0100000;
  const auto mode = static_cast<unsigned>(attributes >> 16U);
  return mode == 0 || (mode & type_bits) == regular;
}

void append_utf8(std::string& to, std::uint32_t code) {
  const auto add = [&to](std::uint32_t byte) { to.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0U | code >> 6U);
  } else if (code < 0x10000) {
    add(0xE0U | code >> 12U);
    add(0x80U | (code >> 6U & 0x3FU));
  } else {
    add(0xF0U | code >> 18U);
    add(0x80U | (code >> 12U & 0x3FU));
    add(0x80U | (code >> 6U & 0x3FU));
  }
  add(0x80U | (code & 0x3FU));
}

std::optional<std::string> utf8_of(std::span<const std::byte> utf16) {
  std::string name;
  for (std::size_t i = 0; i < utf16.size(); i += 2) {
    auto code = static_cast<std::uint32_t>(little_endian(utf16.subspan(i, 2)));
    if (code >= 0xD800 && code < 0xE000) {  // a pair: 10 bits in each half
      if (code >= 0xDC00 || i + 2 == utf16.size()) return std::nullopt;
      i += 2;
      const auto low = static_cast<std::uint32_t>(little_endian(utf16.subspan(i, 2)));
      if (low < 0xDC00 || low >= 0xE000) return std::nullopt;
      code = 0x10000 + ((code - 0xD800) << 10U | (low - 0xDC00));
    }
    append_utf8(name, code);
  }
  return name;
}

}  // namespace

seven_zip_files::seven_zip_files(seven_zip_fields& list) {
  list.expect(seven_zip_mark::files);
  files_ = list.count(most_files);
  std::uint32_t seen = 0;
  while (const std::uint8_t type = list.byte()) {
    seven_zip_fields content(list.bytes(list.number()));
    if (static_cast<seven_zip_mark>(type) == seven_zip_mark::padding) continue;
    if (type >= 32 || (seen >> type & 1U) != 0) throw unknown_seven_zip_list();
    seen |= std::uint32_t{1} << type;
    read_property(static_cast<seven_zip_mark>(type), content);
    if (!content.is_at_end()) throw unknown_seven_zip_list();
  }
  if (!names_) throw unknown_seven_zip_list();
}

void seven_zip_files::read_property(seven_zip_mark type, seven_zip_fields& content) {
  constexpr std::size_t of_time = 8;
  constexpr std::size_t of_attributes = 4;
  const auto expect_zero = [&content] {  // the property is in this place
    if (content.byte() != 0) throw unknown_seven_zip_list();
  };
  switch (type) {
    case seven_zip_mark::empty_streams:
      empty_ = content.bytes((files_ + 7) / 8);
      return;
    case seven_zip_mark::empty_files:
      if (!empty_) throw unknown_seven_zip_list();
      content.bytes((set_bits(*empty_) + 7) / 8);
      return;
    case seven_zip_mark::names:
      expect_zero();
      names_ = content.rest();
      return;
    case seven_zip_mark::created:
    case seven_zip_mark::accessed:
    case seven_zip_mark::modified: {
      const std::size_t defined = content.byte() != 0 ? files_ : set_bits(content.bytes((files_ + 7) / 8));
      expect_zero();
      content.bytes(of_time * defined);
      return;
    }
    case seven_zip_mark::attributes:
      if (content.byte() == 0) throw unknown_seven_zip_list();  // not of all files: libarchive misreads them
      expect_zero();
      attributes_ = content.bytes(of_attributes * files_);
      return;
    default:
      throw unknown_seven_zip_list();
  }
}

std::size_t seven_zip_files::set_bits(std::span<const std::byte> bits) const {
  std::size_t number = 0;
  for (std::size_t i = 0; i < files_; ++i) number += seven_zip_bit(bits, i) ? 1 : 0;
  return number;
}

std::span<const std::byte> seven_zip_files::take_name() {
  for (std::size_t end = 0; end + 2 <= names_->size(); end += 2) {
    if (little_endian(names_->subspan(end, 2)) != 0) continue;
    const auto name = names_->first(end);
    *names_ = names_->subspan(end + 2);
    return name;
  }
  throw unknown_seven_zip_list();
}

std::optional<seven_zip_files::file> seven_zip_files::next_with_text() {
  while (at_ < files_) {
    const std::size_t number = at_++;
    const auto name = take_name();
    if (empty_ && seven_zip_bit(*empty_, number)) continue;
    return file{.name = utf8_of(name),
                .is_regular = !attributes_ || is_regular_file(little_endian(attributes_->subspan(4 * number, 4)))};
  }
  if (!names_->empty()) throw unknown_seven_zip_list();
  return std::nullopt;
}

}  // namespace gpuhist::io
