// Compresses text into one gzip member, with ISA-L.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

// Declared by ISA-L.
struct isal_zstream;

namespace gpuhist::io {

/// One gzip member. The output depends on the text and on how it is divided among calls. Used by one thread at a time.
class gzip_compressor {
 public:
  /// Throws std::bad_alloc.
  gzip_compressor();
  gzip_compressor(const gzip_compressor&) = delete;
  gzip_compressor& operator=(const gzip_compressor&) = delete;
  ~gzip_compressor();

  /// Compresses the next text, and appends what is complete to `out`. `last`: the member ends; no call may follow.
  /// Precondition: less than 4 GiB. Throws std::bad_alloc, std::runtime_error.
  void compress(std::span<const std::byte> text, bool last, std::string& out);

  /// Bytes of memory of a compressor.
  static std::size_t memory();

 private:
  std::unique_ptr<isal_zstream> stream_;
  std::vector<std::byte> tables_;
};

}  // namespace gpuhist::io
