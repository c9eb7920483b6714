// A long zstd frame or gzip member whose bytes a device decodes while the rest of it is read (gpu::frame_steps):
//
//     slots      | freed  |        |        |        |        |        |
//     blocks     | b | b | b | b | b | b | b | b | b | b | b | b | b |
//     steps      | ended     | on the device | queued    | not whole yet
//
// Steps of a member are of its bytes: where its blocks begin, the device finds. A step also has the bytes after it, in
// which the last of its blocks may end.
//
// A coroutine appends the bytes and merges the results of steps; a thread of the decoder takes the steps.
#pragma once

#include "async/semaphore.hpp"
#include "async/task.hpp"
#include "gpu/frame_decoder.hpp"
#include "io/zstd/zstd_frame.hpp"
#include "pipeline/flow/decoding/encoded_frames.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace gpuhist::pipeline {

class staged_group;

class stepped_group final : public gpu::frame_steps {
 public:
  /// The first step may have so much less, and the next ones twice as much as the one before: the device begins early.
  static constexpr std::uint64_t share_of_first = 8;

  struct settings {
    std::uint64_t step_bytes = 0;  ///< of a step; it may have a block more, the last one of a member bytes_after()
    std::size_t columns = 0;       ///< of a row
    gpu::frame_decoder::limits limits{};
  };

  /// Whether the device can decode such a frame in steps, if it is long. Nothing: a gzip member.
  static bool can_decode(const std::optional<io::zstd_frame_header>& header, const gpu::frame_decoder::limits& limits);

  /// Null: the bytes so far do not begin with a frame that is longer than them, as far as that is known. `bytes`:
  /// outlives the group. Precondition: can_decode(). Throws std::bad_alloc.
  static std::unique_ptr<stepped_group> begin(staged_group& bytes, const settings& with);

  /// The frame, without blocks.
  [[nodiscard]] const gpu::cuda::zstd::encoded_frame& frame() const { return frame_; }

  /// After bytes were appended: makes steps of blocks that are whole. False: a block is damaged. Throws std::bad_alloc.
  bool advance();

  /// All bytes were appended. False: the frame is not whole.
  bool end();

  /// All blocks are in steps.
  [[nodiscard]] bool is_complete() const { return is_complete_; }
  /// Compressed bytes that are in steps, and the header.
  [[nodiscard]] std::uint64_t reached() const { return reached_; }

  /// The next step that has ended; the slots of its bytes are freed. Nothing: none has.
  std::optional<gpu::frame_step> take_ended();

  /// Waits until a step has ended, or the job, since the last wait.
  async::task<> wait() { co_await changed_.wait(); }

  /// No more steps will come.
  void give_up() noexcept;

  /// The job has ended. Called in its `on_complete`.
  void note_job_ended() noexcept;
  [[nodiscard]] bool has_job_ended() const;

  /// Whether a step ends, or the job, if no more steps come for now: a decoder ends a step when it has the next one.
  [[nodiscard]] bool may_end_step() const;

  gpu::frame_step* next() override;
  void end(gpu::frame_step& step) override;

 private:
  stepped_group(staged_group& bytes, const settings& with, const gpu::cuda::zstd::encoded_frame& frame,
                std::uint64_t header_bytes);
  [[nodiscard]] bool is_member() const { return frame_.portions > 0; }
  [[nodiscard]] bool is_full() const;
  [[nodiscard]] bool is_longer_than_bytes() const;
  [[nodiscard]] bool walk();
  [[nodiscard]] std::uint64_t bytes_after() const;
  [[nodiscard]] std::uint64_t part_bytes() const;
  void advance_member();
  void queue_part(std::uint64_t bytes, std::uint64_t after, const member_trailer* trailer);
  void queue_step(std::optional<std::uint32_t> checksum);
  void queue(gpu::frame_step step, std::uint64_t bytes_after);

  struct queued_step {
    gpu::frame_step step{};
    std::uint64_t begin = 0;  // offsets of the compressed bytes
    std::uint64_t end = 0;
  };

  void limit_parts(const queued_step& ended);

  staged_group& bytes_;
  const settings settings_;
  gpu::cuda::zstd::encoded_frame frame_{};
  std::size_t max_blocks_ = 0;
  std::uint64_t step_bytes_;
  std::uint64_t most_part_bytes_;                       // of a step of a member, so that its text fits
  std::uint64_t walked_ = 0;                            // where the next header of a block begins
  std::uint64_t reached_ = 0;                           // where the next step begins
  std::vector<gpu::cuda::zstd::encoded_block> blocks_;  // of the next step; offsets in the group less `reached_`
  bool has_last_block_ = false;
  bool is_complete_ = false;
  async::wakeup changed_;  // a step has ended, or the job

  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<queued_step> steps_;  // not taken by take_ended()
  std::size_t taken_ = 0;          // of them, by the decoder
  std::size_t ended_ = 0;          // of them
  bool has_given_up_ = false;
  bool has_job_ended_ = false;
};

}  // namespace gpuhist::pipeline
