// Memory for the windows of decoders that one archive needs at the same time: of the compression around it, and of
// each compressed member around the place that is being read.
//
// Archives that hold windows may wait for further ones. So that no two wait for each other, all wait in this order:
//
//     1. decode_context::shared_memory()   the compression around the archive, while no member has a window
//     2. member_windows, the first part    the first window of a member
//     3. member_windows, the reserve       every other window; one archive at a time
//
// The archive that has the reserve waits for nothing more. If memory of the other two is used up, it exceeds it: what
// is refused must not depend on the other archives.
#pragma once

#include "async/executor.hpp"
#include "async/semaphore.hpp"
#include "io/decoder.hpp"
#include "pipeline/flow/decoding/decode_contexts.hpp"

#include <cstdint>
#include <string>

namespace gpuhist::pipeline {

/// What all archives of a run share. Outlives them.
class member_windows {
 public:
  /// The first part and the reserve are each this part of the memory for the windows of all decoders, in addition to
  /// it.
  static constexpr std::uint64_t share = 6;

  /// `windows`: bytes of the memory for the windows of all decoders.
  explicit member_windows(std::uint64_t windows) noexcept : largest_(windows / share), first_(largest_) {}

  /// The largest window of a member, in bytes.
  [[nodiscard]] std::uint64_t largest() const noexcept { return largest_; }

 private:
  friend class archive_windows;

  const std::uint64_t largest_;
  async::semaphore first_;       // bytes
  async::semaphore reserve_{1};  // archives
};

/// The windows of one archive. Used by the thread that reads it, which blocks while it waits for memory.
class archive_windows {
 public:
  /// Borrows all. `pool`: where coroutines run for which the thread waits.
  archive_windows(member_windows& shared, decode_context& context, async::executor& pool) noexcept
      : shared_(shared), context_(context), pool_(pool) {}

  /// Grants the window that the decoder of the compression around the archive asked for. Throws std::bad_alloc.
  void grant_outer(io::decoder& of);

  /// Of the decoder of a compressed member, which is destroyed first.
  class member {
   public:
    explicit member(archive_windows& archive) noexcept : archive_(archive) {}
    member(const member&) = delete;
    member& operator=(const member&) = delete;
    ~member();

    /// Grants the window that the decoder asked for. An earlier one is released before. Returns a clause if the reserve
    /// is too small: cause and remedy. `limits`: those of the decoder. Throws std::bad_alloc.
    [[nodiscard]] std::string grant(io::decoder& of, const io::decoder_limits& limits);

   private:
    void free() noexcept;

    archive_windows& archive_;
    bool is_first_ = false;
    async::semaphore::permit first_{};  // empty if the archive has the reserve
    std::uint64_t of_reserve_ = 0;
  };

 private:
  void hold_reserve();
  void release_reserve() noexcept;

  member_windows& shared_;
  decode_context& context_;
  async::executor& pool_;
  bool has_first_ = false;
  async::semaphore::permit reserve_{};
  std::uint64_t reserve_used_ = 0;  // bytes, by members
  bool outer_needs_reserve_ = false;
};

}  // namespace gpuhist::pipeline
