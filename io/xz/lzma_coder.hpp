// One coder of liblzma, owned, and how it is called with spans.
#pragma once

#include <lzma.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuhist::io {

/// How far a call of liblzma came in its two spans, and what it returned.
struct lzma_progress {
  lzma_ret code = LZMA_OK;
  std::size_t took = 0;
  std::size_t wrote = 0;
};

/// Memory is kept from one coder to the next. One thread at a time.
class lzma_coder {
 public:
  lzma_coder() = default;
  lzma_coder(const lzma_coder&) = delete;
  lzma_coder& operator=(const lzma_coder&) = delete;
  ~lzma_coder() { free_memory(); }

  /// To be given to the function of liblzma that makes it a coder of some kind.
  [[nodiscard]] lzma_stream& stream() { return stream_; }

  /// Decodes from `in`, which liblzma leaves as it is, into `out`. What is written before a fault counts. Throws
  /// std::bad_alloc.
  lzma_progress run(std::span<const std::byte> in, std::span<std::byte> out);

  void free_memory() noexcept { lzma_end(&stream_); }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

/// Throws std::bad_alloc where that is what `code` says; returns `code` otherwise.
lzma_ret checked(lzma_ret code);

}  // namespace gpuhist::io
