// Feeds compressed inputs: several at once, and of each as many groups of frames side by side as there are decoders.
//
//     blocks ──► splitter ──► | frame | frame | frame | frame, not all here yet ...
//                              group 1 ──► decoder    group 2 ──► decoder
//
// Bytes go by once, in order: the splitter sees where frames end, and neighbouring frames become a group, which one
// decoder turns into text, at first as it is read. What cannot be split is one group. Groups begin in the order of
// their input, and only when there is a decoder for them, so an older one never waits for a younger; rolling_counts
// puts what they give back in order.
#pragma once

#include "async/channel.hpp"
#include "async/event_loop.hpp"
#include "async/semaphore.hpp"
#include "async/task_group.hpp"
#include "io/format.hpp"
#include "io/source.hpp"
#include "io/stream_sink.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/flow/decoding/block_reader.hpp"
#include "pipeline/flow/decoding/decode_contexts.hpp"
#include "pipeline/flow/statistics/feed_notes.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// add() and drain() are for one coroutine.
class compressed_inputs {
 public:
  struct settings {
    std::size_t block_bytes = 0;
    std::size_t own_blocks = 0;            ///< of every input that is open
    std::size_t extra_blocks = 0;          ///< that inputs of many frames have in common beside those
    std::size_t open_inputs = 1;           ///< at once
    std::uint32_t busy_chunk_bytes = ~0U;  ///< of a chunk at the most while all threads decode
    unsigned threads = ~0U;                ///< of the pool
    std::size_t group_bytes = 0;           ///< compressed bytes of a group at the least, where the input is not over
    std::uint64_t max_text = ~std::uint64_t{0};  ///< bytes of text of an input; one with more is given up
    bool skip_damage = false;                    ///< go on behind damaged frames
    io::stream_sink* text_to = nullptr;          ///< where the text is handed on, in its order; null: nowhere
    std::string_view in_order_for{};             ///< for statistics: the option that wants one frame after the other
  };

  struct executors {
    async::executor& pool;       ///< where files are read and frames decoded
    async::event_loop& streams;  ///< where streams are read
  };

  compressed_inputs(const settings& how, const executors& where, decode_contexts& contexts, rolling_counts& counts,
                    feed_notes& notes, async::first_failure& failures, std::stop_token stop);

  /// Begins to feed an input whose first bytes were looked at (`head`; of files they are read again). Waits while too
  /// many are open.
  async::task<> add(input_id input, std::shared_ptr<io::source> source, std::vector<std::byte> head,
                    const io::format& format);

  /// Awaited, waits until all inputs are over. What no input is to blame for is noted in the failures.
  [[nodiscard]] auto drain() noexcept { return feeding_.ended(); }

 private:
  struct compressed_input;
  struct group;
  using group_pointer = std::shared_ptr<group>;

  [[nodiscard]] std::string manner_of(const compressed_input& what) const;
  async::task<> feed(std::shared_ptr<compressed_input> what, std::vector<std::byte> head, async::semaphore::permit);
  async::task<> split(compressed_input& what, std::vector<std::byte> head);
  async::task<> forward_block(compressed_input& what, const block& from);
  async::task<> push_rest(compressed_input& what, const block& from, std::span<const std::byte> rest);
  async::task<> push_held_back(compressed_input& what);
  async::task<> end_input(compressed_input& what, block last);
  async::task<> push(compressed_input& what, const block& from, std::span<const std::byte> bytes);
  async::task<> begin_group(compressed_input& what);
  static void close_group(compressed_input& what);
  void spawn(const group_pointer& task);
  static void retire_oldest(compressed_input& what);
  void end_input_with(compressed_input& what, const std::exception_ptr& error);
  async::task<> decode(group_pointer task);
  void end_group(group& task, std::exception_ptr error) noexcept;
  async::task<> decode_blocks(group& task);
  async::task<> take_block(group& task, const block& next);
  async::task<bool> decode_some(group& task, std::span<const std::byte>& in);
  void end_of_blocks(group& task, const block& last);
  async::task<> skip(group& task, const block& from, std::span<const std::byte>& in);
  void begin_skipping(group& task, std::string cause);
  static void end_skipping(group& task, std::uint64_t at);
  static async::task<> grant_window(group& task);
  io::fill_result fill(group& task, std::span<const std::byte> in, std::span<std::byte> out);
  void conclude_verified(group& task);

  const settings how_;
  const executors where_;
  decode_contexts& contexts_;
  rolling_counts& counts_;
  feed_notes& notes_;
  const std::stop_token stop_;
  async::first_failure& failures_;
  const std::shared_ptr<block_pool> blocks_;
  async::semaphore open_;  // inputs
  async::task_group feeding_;
};

}  // namespace gpuhist::pipeline
