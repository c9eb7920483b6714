// What decoding needs beside its input, as often as there are decoders at work at once: a decoder that keeps its memory
// from one group of frames to the next, and a cutter for the text that it gives.
#pragma once

#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "io/decoder.hpp"
#include "io/format.hpp"
#include "pipeline/flow/collector.hpp"
#include "pipeline/flow/cutter.hpp"
#include "pipeline/flow/ring.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

/// Of one task at a time.
class decode_context {
 public:
  /// `large_windows`: for windows larger than limits.granted_bytes. `divider`: of the cutter.
  decode_context(ring& slots, collector& counted, text_divider* divider, io::decoder_limits limits,
                 async::semaphore& large_windows)
      : cut(slots, counted, divider), limits_(std::move(limits)), large_windows_(large_windows) {}

  /// A decoder of the format, to be restarted. Throws std::bad_alloc.
  io::decoder& decoder_for(const io::format& format);

  /// The decoder of decoder_for(), which is wanted longer than the context: the next one is a new one.
  std::shared_ptr<const io::decoder> keep_decoder();

  /// Waits until the decoder may have the window that it wants, and tells it. A window that it has is given back
  /// before: then no context waits for ever. Throws std::bad_alloc.
  async::task<> grant_window();

  /// What was granted is given back, and the decoder's memory with it.
  void release_window() noexcept;

  cutter cut;

 private:
  const io::decoder_limits limits_;
  async::semaphore& large_windows_;     // bytes
  async::semaphore::permit granted_{};  // of those
  const io::format* format_ = nullptr;
  std::shared_ptr<io::decoder> decoder_;
};

/// A fixed number of contexts. Thread-safe; what waits first is served first.
class decode_contexts {
 public:
  /// A context in use, given back by the destructor.
  class lease {
   public:
    lease() = default;
    lease(lease&& other) noexcept
        : from_(other.from_), context_(std::exchange(other.context_, nullptr)), right_(std::move(other.right_)) {}
    lease& operator=(lease&& other) noexcept {
      if (this == &other) return *this;
      release();
      from_ = other.from_;
      context_ = std::exchange(other.context_, nullptr);
      right_ = std::move(other.right_);
      return *this;
    }
    ~lease() { release(); }

    void release() noexcept;

    [[nodiscard]] explicit operator bool() const noexcept { return context_ != nullptr; }
    [[nodiscard]] decode_context& operator*() const noexcept { return *context_; }
    [[nodiscard]] decode_context* operator->() const noexcept { return context_; }

   private:
    friend class decode_contexts;
    lease(decode_contexts& from, async::semaphore::permit right) noexcept;

    decode_contexts* from_ = nullptr;
    decode_context* context_ = nullptr;
    async::semaphore::permit right_{};
  };

  /// `window_bytes`: memory for the windows of all of them. Each has a part of it for itself, enough for what most
  /// archives need; the rest is for those that need more, as many at once as it suffices for.
  decode_contexts(std::size_t number, std::uint64_t window_bytes, std::shared_ptr<const io::zstd_dictionary> dictionary,
                  ring& slots, collector& counted, text_divider* divider = nullptr);

  /// Waits for a context.
  async::task<lease> acquire();

  /// Seals what all of their cutters have, whether they are in use or not. Thread-safe.
  void flush(std::vector<cut_mark>& marks);

  [[nodiscard]] std::size_t size() const { return contexts_.size(); }

 private:
  async::semaphore large_windows_;  // bytes
  std::deque<decode_context> contexts_;
  async::semaphore rights_;  // to those in free_
  std::mutex mutex_;
  std::vector<decode_context*> free_;  // under the mutex, with room for all; the one that was used last is taken first
};

}  // namespace gpuhist::pipeline
