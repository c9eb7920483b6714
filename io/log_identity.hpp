// How a log is known again: under another name, longer, or compressed after it was rotated.
#pragma once

#include "io/decoder.hpp"
#include "io/format.hpp"
#include "io/source.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gpuhist::io {

/// The number of bytes at the beginning and at the end of a log that identify it.
inline constexpr std::size_t log_edge_bytes = 4096;

/// What is kept of a file to know its log again. Hashes are XXH3 (128 bits, 16 raw bytes).
struct log_identity {
  std::uint64_t bytes = 0;  ///< the size of the file, as it is stored
  bool is_plain = true;     ///< its stored bytes are its text
  std::string head{};       ///< hash of its first log_edge_bytes, or of all bytes of a shorter file, as they are stored
  std::string tail{};       ///< hash of its last log_edge_bytes; empty if `head` is of all bytes
  std::uint64_t inode = 0;  ///< the file itself, with its time of birth; names do not change them
  std::int64_t born = 0;    ///< nanoseconds since 1970; 0: the file system does not state it

  /// Whether the content has the same size, and the same bytes at its ends.
  [[nodiscard]] bool has_ends_of(const log_identity& other) const {
    return bytes == other.bytes && head == other.head && tail == other.tail;
  }

  /// Whether the ends are the whole content.
  [[nodiscard]] bool is_all_known() const { return bytes <= 2 * log_edge_bytes; }

  /// Whether it is the same file, perhaps with another content. False if the file system does not state births.
  [[nodiscard]] bool is_file_of(const log_identity& other) const {
    return born != 0 && born == other.born && inode == other.inode;
  }
};

/// A regular file whose text may be that of a known log. Any thread, one at a time.
class log_file {
 public:
  /// `forced`: as of identify(). Throws input_error: it cannot be opened or read, or its format is refused.
  log_file(const std::string& name, bool follow_links, const format* forced, decoder_limits limits);

  /// Of its first `bytes` bytes, the size of the file a moment ago. Throws input_error if it is shorter now.
  [[nodiscard]] log_identity identity(std::uint64_t bytes) const;

  /// The hash of the first log_edge_bytes of the text, decoded; empty: the text is shorter, or damaged. Throws
  /// input_error.
  [[nodiscard]] std::string text_head() const;

  /// Whether this is the same log, and perhaps more of it: the text begins with the first 4 KiB of the earlier text (or
  /// with all of it, if that is shorter), and at the offset where the earlier text ended, the 4 KiB before it are the
  /// same. If the earlier file was plain and this one is compressed, its decoded text is compared; otherwise what is
  /// stored. Of a log that was compressed before, only the stored bytes are known. An empty log is known by its inode,
  /// or if it is empty after it was compressed. False: it is another log, or its text is shorter or damaged. Throws
  /// input_error.
  [[nodiscard]] bool continues(const log_identity& earlier) const;

 private:
  [[nodiscard]] std::string head_of(std::uint64_t bytes) const;
  [[nodiscard]] bool stores(const log_identity& earlier) const;
  [[nodiscard]] bool decodes_to(const log_identity& earlier) const;

  file_source file_;
  std::vector<std::byte> front_;  // its first log_edge_bytes, read once: most files of a job are small
  const format* format_;
  decoder_limits limits_;
};

}  // namespace gpuhist::io
