// The headers of a cpio archive, followed independently of the library that reads it: that one goes on searching where
// a header should be and is not, and so loses members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>

namespace gpuhist::io {

/// Takes all bytes of the archive in sequence.
class cpio_headers {
 public:
  struct entry {
    std::uint64_t header_at = 0;
    std::uint64_t bytes = 0;
    std::optional<std::uint32_t> checksum{};  ///< the sum of its bytes, which the format "crc" has
    std::uint32_t sum = 0;                    ///< as far as its bytes have come
  };

  void advance(std::span<const std::byte> bytes);

  /// Bytes that were not read, all within a member.
  void skip(std::uint64_t bytes);

  /// The next entry, with its sum as soon as all of its bytes have come; null after the last one, or where there is no
  /// header.
  [[nodiscard]] const entry* front() const { return entries_.empty() ? nullptr : &entries_.front(); }
  void pop() { entries_.pop_front(); }

  /// Where a header should be and is none, or the member begins whose padding is not zero: its length is wrong.
  [[nodiscard]] std::optional<std::uint64_t> broken_at() const { return broken_at_; }

  /// Whether the entry that marks the end has come.
  [[nodiscard]] bool has_ended() const { return phase_ == phase::end; }

 private:
  enum class phase { magic, header, name, body, padding, end, lost };
  enum class kind { newc, crc, odc, large_odc, binary_le, binary_be };

  void finish_part();
  void take_magic();
  void take_header();
  void take_name();
  void expect(phase next, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t number(std::size_t at, std::size_t digits, unsigned base);
  [[nodiscard]] std::uint64_t binary_word(std::size_t at) const;
  void lose();

  phase phase_ = phase::magic;
  kind kind_ = kind::newc;
  std::uint64_t at_ = 0;         // in the archive
  std::uint64_t header_at_ = 0;  // of the entry
  std::uint64_t left_ = 2;       // bytes of the part
  std::string part_;             // magic, header and name
  std::uint64_t name_bytes_ = 0;
  std::uint64_t body_bytes_ = 0;
  std::uint32_t checksum_ = 0;
  std::deque<entry> entries_;
  std::optional<std::uint64_t> broken_at_;
};

}  // namespace gpuhist::io
