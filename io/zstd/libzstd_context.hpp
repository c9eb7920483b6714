// The context of libzstd that decodes a frame, or the rest of one.
#pragma once

#include "io/zstd/zstd_dictionary.hpp"

#include <zstd.h>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace gpuhist::io {

/// Bytes of the buffer for text that libzstd allocates for a frame with such a window.
std::uint64_t buffer_of_libzstd(std::uint64_t window_bytes);

/// The largest window that libzstd can decode, in bytes.
std::uint64_t largest_window_of_libzstd();

/// Its verdict on a frame does not depend on the frames that it decoded before. Not thread-safe.
class libzstd_context {
 public:
  /// Before a frame. `window_bytes`: of the frame. `dictionary`: null: none; borrowed until the next frame or forget().
  /// `in_place`: all text of the frame will be written to one room, to which matches may refer. Returns false if that
  /// was asked for and libzstd does not support it: then text is written through a window. Throws std::bad_alloc.
  bool prepare(std::uint64_t window_bytes, const zstd_dictionary* dictionary, bool in_place);

  /// After prepare() without a dictionary: the frame continues from this one. False: libzstd refuses it, or has no
  /// memory for it.
  bool load(std::span<const std::byte> dictionary);

  /// ZSTD_decompressStream().
  std::size_t decode(ZSTD_outBuffer& out, ZSTD_inBuffer& in) {
    return ZSTD_decompressStream(context_.get(), &out, &in);
  }

  /// Decodes bytes whose text of this size is not needed. False: they are damaged.
  bool feed(std::span<const std::byte> bytes, std::uint64_t text_bytes);

  /// Ends the frame. The dictionary is not used any more.
  void forget();

  /// Frees its memory.
  void release() noexcept { context_ = nullptr; }

 private:
  struct deleter {
    void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
  };

  void use_dictionary(const zstd_dictionary* chosen);

  std::unique_ptr<ZSTD_DCtx, deleter> context_;  // null: no frame was decoded since its memory was freed
  const zstd_dictionary* dictionary_ = nullptr;  // of the current frame
  bool output_is_stable_ = false;
  std::uint64_t buffer_bytes_ = 0;
};

}  // namespace gpuhist::io
