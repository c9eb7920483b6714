// Decodes compressed inputs: several inputs at once, and of each input as many groups of frames at once as there are
// decoders.
//
//     blocks ──► splitter ──► | frame | frame | frame | frame (still arriving) ...
//                              group 1 ──► decoder    group 2 ──► decoder
//
// The splitter reads the compressed bytes once, in order, and finds the ends of frames. Adjacent frames form a group.
// One decoder decodes the group, and begins before all of its bytes have arrived. An input that cannot be split is one
// group. Groups begin in the order of the input, each once a decoder is free, so an older group never waits for a
// younger one. rolling_counts puts the counts of groups in order.
#pragma once

#include "async/channel.hpp"
#include "async/event_loop.hpp"
#include "async/semaphore.hpp"
#include "async/task_group.hpp"
#include "io/format.hpp"
#include "io/source.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/decoding/block_reader.hpp"
#include "pipeline/flow/decoding/decode_contexts.hpp"
#include "pipeline/flow/decoding/device_frames.hpp"
#include "pipeline/flow/decoding/frame_divider.hpp"
#include "pipeline/flow/statistics/feed_notes.hpp"
#include "pipeline/flow/text_divider.hpp"
#include "pipeline/flow/text_taps.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// Makes the failure of an input, given the bytes of its text before the group.
using failure_maker = std::function<input_failure(std::uint64_t)>;

/// Several coroutines may call add() at the same time, and one of them drain(), when the others have ended.
class compressed_inputs {
 public:
  struct settings {
    std::size_t block_bytes = 0;
    std::size_t own_blocks = 0;                  ///< for each open input
    std::size_t extra_blocks = 0;                ///< shared by inputs that have several groups
    std::size_t open_inputs = 1;                 ///< at the same time
    std::size_t open_on_device = 0;              ///< the same, once a device decodes; fewer: as many
    std::size_t staged_inputs = 0;               ///< besides: those whose bytes are all collected for the device
    unsigned threads = ~0U;                      ///< threads of the pool
    std::size_t group_bytes = 0;                 ///< minimum compressed size of a group, except the last
    std::uint64_t max_text = ~std::uint64_t{0};  ///< --max-output: bytes of text of one input; one with more is refused
    bool skip_damage = false;                    ///< continue after damaged frames
    text_taps* text_to = nullptr;                ///< receives the text of each input; null: none does
    window_divider* windows = nullptr;           ///< divides the text; null: there are no windows
    device_frames* device = nullptr;             ///< decodes groups of zstd frames; null: the host decodes all
    std::uint64_t min_device_bytes = 0;  ///< of a file; the host decodes smaller ones, and streams unless it is 0
    std::string_view in_order_for{};     ///< for statistics: the option for which frames are decoded in order
  };

  struct executors {
    async::executor& pool;       ///< files are read and frames are decoded here
    async::event_loop& streams;  ///< streams are read here
  };

  /// `counted`: merges the text that devices decode.
  compressed_inputs(const settings& options, const executors& executor_set, decode_contexts& contexts,
                    collector& counted, rolling_counts& counts, feed_notes& notes, async::first_failure& failures,
                    std::stop_token stop);

  /// Starts to decode an input. `head`: its first bytes, which were already read from a stream; those of a file are
  /// read again. `counted`: what an earlier run counted of a file, whose rest is decoded; null: nothing.
  /// `end`: of a file, where reading ends, between two frames. Waits while too many inputs are open.
  async::task<> add(input_id input, std::shared_ptr<io::source> source, std::vector<std::byte> head,
                    const io::format& format, const input_prefix* counted = nullptr,
                    std::optional<std::uint64_t> end = {});

  /// Awaitable; completes when all inputs have ended. Exceptions that belong to no input are noted in the failures.
  [[nodiscard]] auto drain() noexcept { return feeding_.ended(); }

 private:
  struct compressed_input;
  struct group;
  class host_decoding;
  class device_decoding;
  using group_pointer = std::shared_ptr<group>;

  [[nodiscard]] std::string manner_of(const compressed_input& input) const;
  [[nodiscard]] bool may_use_device(const compressed_input& input) const;
  [[nodiscard]] bool can_begin_again(const compressed_input& input) const;
  [[nodiscard]] bool may_guess(const compressed_input& input) const;
  async::task<> feed(std::shared_ptr<compressed_input> input, std::vector<std::byte> head);
  static bool end_current(compressed_input& input, const std::exception_ptr& error);
  bool begin_again(compressed_input& input, std::exception_ptr& error);
  async::task<> split(compressed_input& input, std::vector<std::byte> head);
  async::task<> end_input(compressed_input& input, block last);
  async::task<> push(compressed_input& input, const frame_divider::piece& next);
  [[nodiscard]] bool is_limited_in_order(const compressed_input& input) const;
  [[nodiscard]] std::size_t max_groups(const compressed_input& input) const;
  void open_more_if_device_is_ready();
  [[nodiscard]] bool is_host_needed() const;
  static constexpr std::size_t share_held = 8;  // of the contexts
  void leave_cores_to_device();
  async::task<std::optional<staged_group>> begin_staging(const compressed_input& input, const io::decode_start& start,
                                                         std::span<const std::byte> begin);
  async::task<> begin_group(compressed_input& input, const io::decode_start& start, std::span<const std::byte> begin);
  static void end_blocks(compressed_input& input, bool has_guesses);
  void spawn(const group_pointer& task);
  static void retire_oldest(compressed_input& input);
  void end_input_with(compressed_input& input, const std::exception_ptr& error);
  [[nodiscard]] failure_maker note(const std::exception_ptr& error, std::uint64_t reached) const;
  void add_failure(const std::exception_ptr& later, std::exception_ptr& first) const;
  async::task<> decode(group_pointer task);
  async::task<> decode_text(group& task);
  void end_group(group& task, std::exception_ptr error) noexcept;
  async::task<> acquire_context(group& task);
  async::task<> acquire_first_context(group& task);
  [[nodiscard]] bool has_copied_much() const;
  void note_reached(group& task, std::uint64_t compressed_bytes);

  const settings options_;
  const executors executors_;
  decode_contexts& contexts_;
  collector& counted_;
  rolling_counts& counts_;
  feed_notes& notes_;
  const std::stop_token stop_;
  async::first_failure& failures_;
  const std::shared_ptr<block_pool> blocks_;
  async::semaphore open_permits_;    // one for each open input
  async::semaphore staged_permits_;  // or instead, if all of its bytes are collected for the device
  std::atomic<bool> has_opened_more_ = false;
  async::task_group feeding_;
  std::atomic<std::uint64_t> copied_bytes_ = 0;  // of groups that wait for those before them
  std::mutex held_mutex_;
  std::vector<decode_contexts::lease> held_;  // under the mutex: while a device is made ready
};

}  // namespace gpuhist::pipeline
