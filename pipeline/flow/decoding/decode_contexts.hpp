// The pool of decode contexts. A context holds a decoder, which keeps its memory from one group of frames to the next,
// and a cutter for the decoded text. There are as many contexts as groups that are decoded at once.
#pragma once

#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "io/decoder.hpp"
#include "io/format.hpp"
#include "pipeline/flow/collector.hpp"
#include "pipeline/flow/cutter.hpp"
#include "pipeline/flow/ring.hpp"
#include "pipeline/flow/statistics/stage_clock.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

/// How the text of decoders is counted.
struct decoded_counting {
  std::uint32_t chunk_bytes = ~0U;  ///< maximum size of a chunk that is counted where it is decoded
  bool is_slow = false;             ///< idle threads count the text of those that decode
  unsigned threads = ~0U;           ///< of the pool
};

/// Used by one task at a time.
class decode_context {
 public:
  /// `divider`: of the cutter. `large_windows`: the memory budget for windows larger than limits.granted_bytes, in
  /// bytes. Borrows all but the limits.
  decode_context(ring& slots, collector& counted, text_divider* divider, const decoded_counting& counting,
                 const stage_clock& decoding, io::decoder_limits limits, async::semaphore& large_windows)
      : cut(slots, counted, divider),
        counting_(counting),
        decoding_(decoding),
        limits_(std::move(limits)),
        large_windows_(large_windows) {}

  /// Decides where the text is counted that this task decodes next (cutter::set_chunking).
  void choose_chunking() { choose_chunking(decoding_); }

  /// The same for text that it reads. `busy`: the tasks that do so.
  void choose_chunking(const stage_clock& busy);

  /// A decoder of the format. The caller restarts it. Throws std::bad_alloc.
  io::decoder& decoder_for(const io::format& format);

  /// Hands over the decoder of decoder_for(), for use after the context was released. The next call of decoder_for()
  /// makes a new decoder.
  std::shared_ptr<const io::decoder> keep_decoder();

  /// Waits for memory for the window that the decoder asked for, and grants it. Releases an earlier large window before
  /// the wait, so that contexts cannot block each other forever. Throws std::bad_alloc.
  async::task<> grant_window() { return grant_window(*decoder_); }

  /// As grant_window(), for a decoder that continues the work of decoder_for().
  async::task<> grant_window(io::decoder& of);

  [[nodiscard]] const io::decoder_limits& limits() const { return limits_; }

  /// As grant_window(of), without waiting. False: too little memory was free, and it is exceeded.
  bool grant_window_at_once(io::decoder& of);

  /// Memory that all contexts share, for large windows and for parts that are decoded ahead: limits().window_bytes.
  [[nodiscard]] async::semaphore& shared_memory() { return large_windows_; }

  /// Releases the large window, and the memory of the decoder.
  void release_window() noexcept;

  cutter cut;

 private:
  const decoded_counting& counting_;
  const stage_clock& decoding_;
  const io::decoder_limits limits_;
  async::semaphore& large_windows_;     // bytes
  async::semaphore::permit granted_{};  // bytes of large_windows_
  bool has_large_window_ = false;
  void free_large_window(io::decoder& of);

  const io::format* format_ = nullptr;
  std::shared_ptr<io::decoder> decoder_;
};

/// A fixed number of contexts. Thread-safe. Waiters are served in FIFO order.
class decode_contexts {
 public:
  /// Owns a context. The destructor returns it.
  class lease {
   public:
    lease() = default;
    lease(lease&& other) noexcept
        : owner_(other.owner_), context_(std::exchange(other.context_, nullptr)), permit_(std::move(other.permit_)) {}
    lease& operator=(lease&& other) noexcept {
      if (this == &other) return *this;
      release();
      owner_ = other.owner_;
      context_ = std::exchange(other.context_, nullptr);
      permit_ = std::move(other.permit_);
      return *this;
    }
    ~lease() { release(); }

    void release() noexcept;

    [[nodiscard]] explicit operator bool() const noexcept { return context_ != nullptr; }
    [[nodiscard]] decode_context& operator*() const noexcept { return *context_; }
    [[nodiscard]] decode_context* operator->() const noexcept { return context_; }

   private:
    friend class decode_contexts;
    lease(decode_contexts& owner, async::semaphore::permit permit) noexcept;

    decode_contexts* owner_ = nullptr;
    decode_context* context_ = nullptr;
    async::semaphore::permit permit_{};
  };

  struct sizes {
    std::size_t number = 1;
    std::size_t reserved = 0;        ///< of them, for acquire_reserved(); less than all
    std::uint64_t window_bytes = 0;  ///< memory for the windows of all contexts
    io::memory_besides_windows besides{};
  };

  /// Each context has a part of the memory for windows of its own, which is enough for most archives. Contexts that
  /// need larger windows share the rest. `decoding`: the tasks that decode; borrowed.
  decode_contexts(const sizes& of, std::shared_ptr<const io::zstd_dictionary> dictionary,
                  const decoded_counting& counting, const stage_clock& decoding, ring& slots, collector& counted,
                  text_divider* divider = nullptr);

  /// Waits for a context.
  async::task<lease> acquire();

  /// Empty: no context is free, or others wait for one.
  lease try_acquire() noexcept;

  /// Waits for a reserved context. For a task that waits for no other task that may wait for a context: it gets one
  /// even if all tasks that have a context of acquire() wait for it.
  async::task<lease> acquire_reserved();

  /// Seals the slots of all cutters, whether the contexts are in use or not. Thread-safe.
  void flush(std::vector<cut_mark>& marks);

  [[nodiscard]] std::size_t size() const { return contexts_.size(); }

  /// The number that is not in use. Another thread may change it at once.
  [[nodiscard]] std::size_t free();

 private:
  const decoded_counting counting_;
  async::semaphore large_windows_;  // bytes
  std::deque<decode_context> contexts_;
  async::semaphore permits_;  // together one for each context in free_
  async::semaphore reserved_;
  std::mutex mutex_;
  std::vector<decode_context*> free_;  // under the mutex; has capacity for all; last in, first out
};

}  // namespace gpuhist::pipeline
