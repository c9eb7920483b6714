// The filters that the header of an xz block names.
#pragma once

#include <lzma.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace gpuhist::io {

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
