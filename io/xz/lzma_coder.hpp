// Owns one coder of liblzma, and calls it with spans.
#pragma once

#include <lzma.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::io {

/// The progress of a call of liblzma in its two spans, and its return code.
struct lzma_progress {
  lzma_ret code = LZMA_OK;
  std::size_t consumed = 0;
  std::size_t written = 0;
};

/// Memory is reused by the next coder. Used by one thread at a time.
class lzma_coder {
 public:
  lzma_coder() = default;
  lzma_coder(const lzma_coder&) = delete;
  lzma_coder& operator=(const lzma_coder&) = delete;
  ~lzma_coder() { free_memory(); }

  /// The argument for a liblzma function that initializes a coder.
  [[nodiscard]] lzma_stream& stream() { return stream_; }

  /// Decodes from `in` into `out`; `in` is not changed. Bytes written before an error are reported. Throws
  /// std::bad_alloc.
  lzma_progress run(std::span<const std::byte> in, std::span<std::byte> out);

  void free_memory() noexcept { lzma_end(&stream_); }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

/// Throws std::bad_alloc if `code` is LZMA_MEM_ERROR; otherwise returns `code`.
lzma_ret checked(lzma_ret code);

}  // namespace gpuhist::io
