// Owners of what liblzma allocates: a coder, which is called with spans, and the filters of a block.
#pragma once

#include <lzma.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

namespace gpuhist::io {

/// Throws std::bad_alloc if `code` is LZMA_MEM_ERROR; otherwise returns `code`.
inline lzma_ret checked(lzma_ret code) {
  if (code == LZMA_MEM_ERROR) throw std::bad_alloc();
  return code;
}

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
  lzma_progress run(std::span<const std::byte> in, std::span<std::byte> out) {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = out.size();
    lzma_ret code = checked(lzma_code(&stream_, LZMA_RUN));
    if (code == LZMA_BUF_ERROR) code = LZMA_OK;  // no progress, which is not an error: there was no input
    return {.code = code, .consumed = in.size() - stream_.avail_in, .written = out.size() - stream_.avail_out};
  }

  void free_memory() noexcept { lzma_end(&stream_); }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

/// The filters of one block; liblzma allocates their options.
class xz_filters {
 public:
  xz_filters() { list_.front() = {.id = LZMA_VLI_UNKNOWN, .options = nullptr}; }
  xz_filters(const xz_filters&) = delete;
  xz_filters& operator=(const xz_filters&) = delete;
  ~xz_filters() { clear(); }

  /// For liblzma, which writes LZMA_FILTERS_MAX filters and an end mark.
  [[nodiscard]] lzma_filter* list() { return list_.data(); }
  void clear() noexcept { lzma_filters_free(list_.data(), nullptr); }

  [[nodiscard]] std::uint64_t dictionary_bytes() const {
    std::uint64_t bytes = 0;
    for (const lzma_filter& each : list_) {
      if (each.id == LZMA_VLI_UNKNOWN) break;
      if (each.id == LZMA_FILTER_LZMA2) {
        bytes = std::max<std::uint64_t>(bytes, static_cast<const lzma_options_lzma*>(each.options)->dict_size);
      }
    }
    return bytes;
  }

 private:
  std::array<lzma_filter, LZMA_FILTERS_MAX + 1> list_{};
};

}  // namespace gpuhist::io
