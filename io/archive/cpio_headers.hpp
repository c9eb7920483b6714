// Follows the headers of a cpio archive independently of libarchive: if a header is missing, libarchive searches for
// the next one and so loses members.
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
    std::optional<std::uint32_t> checksum{};  ///< the sum of its bytes, stated by the format "crc"
    std::uint32_t sum = 0;                    ///< sum of the bytes so far
  };

  /// `at`: offset at which the archive begins.
  explicit cpio_headers(std::uint64_t at = 0) : at_(at), header_at_(at) {}

  void advance(std::span<const std::byte> bytes);

  /// Skips bytes that were not read; all of them are within a member.
  void skip(std::uint64_t bytes);

  /// The next entry; its sum is complete when all of its bytes have been taken. Null after the last entry, or if a
  /// header is missing.
  [[nodiscard]] const entry* front() const { return entries_.empty() ? nullptr : &entries_.front(); }
  void pop() { entries_.pop_front(); }

  /// The offset where a header is missing, or of a member whose padding is not zero: its length is wrong.
  [[nodiscard]] std::optional<std::uint64_t> broken_at() const { return broken_at_; }

  /// Whether the entry that marks the end was found.
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
  std::uint64_t at_;             // offset in the input
  std::uint64_t header_at_;      // of the current entry
  std::uint64_t remaining_ = 2;  // missing bytes of the current part
  std::string part_;             // magic, header and name
  std::uint64_t name_bytes_ = 0;
  std::uint64_t body_bytes_ = 0;
  std::uint32_t checksum_ = 0;
  std::deque<entry> entries_;
  std::optional<std::uint64_t> broken_at_;
};

}  // namespace gpuhist::io
