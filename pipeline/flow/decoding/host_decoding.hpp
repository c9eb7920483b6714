// Decodes a group of compressed_inputs with the decoder of a context.
//
// Where the text is observed, that takes part of the time of decoding; if another thread is idle, it does so while the
// group decodes what follows:
//
//     decoding:   | text 1 | text 2          | text 3         |
//     idle thread:         | passes, commits, counts text 1 | text 2 ...
#pragma once

#include "pipeline/flow/decoding/compressed_group.hpp"
#include "pipeline/flow/decoding/frame_search.hpp"
#include "pipeline/flow/decoding/part_queue.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>

namespace gpuhist::pipeline {

/// Used by one coroutine. Borrows both; the group has a context.
class compressed_inputs::host_decoding {
 public:
  host_decoding(compressed_inputs& inputs, group& task)
      : inputs_(inputs), options_(inputs.options_), notes_(inputs.notes_), stop_(inputs.stop_), task_(task) {}

  /// Decodes the blocks of the group up to their end. Failures of the input are those of the group.
  async::task<> run();

  /// Completes when all text was passed and committed. Must be awaited after run(), also after an exception.
  async::task<> wait_for_text();

 private:
  // Text that an idle thread passes and commits while the next text is decoded. The thread uses the text of the group
  // until then.
  struct pending_text {
    async::event ended{};
    std::exception_ptr error{};
  };

  async::task<block> next_block();
  std::optional<block> take_staged();
  void begin_parts(const block& first);
  [[nodiscard]] bool may_divide() const;
  async::task<> take_block(const block& next);
  async::task<bool> decode_some(std::span<const std::byte>& in);
  [[nodiscard]] std::uint64_t room_for_text() const;
  void refuse();
  async::task<> take_text(held_reservation target, const io::fill_result& result);
  [[nodiscard]] bool may_pass_ahead() const;
  [[nodiscard]] bool is_only_group() const;
  async::task<> grant_window();
  io::fill_result fill(std::span<const std::byte> in, std::span<std::byte> out);
  async::task<> end_frame();
  async::task<> end_of_blocks(const block& last);
  async::task<> begin_skipping(input_failure found);
  void end_skipping(std::uint64_t at);
  async::task<> skip(const block& source, std::span<const std::byte>& in);
  async::task<> search_again();
  async::task<> find_frame(std::span<const std::byte>& in);

  compressed_inputs& inputs_;
  const settings& options_;
  feed_notes& notes_;
  const std::stop_token& stop_;
  group& task_;
  io::decoder* decoder_ = nullptr;         // of the context
  std::optional<part_queue> parts_{};      // of the current frame, if threads decode it together
  bool has_asked_for_parts_ = false;       // how the frame can be divided was determined
  std::shared_ptr<pending_text> pending_;  // null: none
  std::uint64_t frame_begin_ = 0;          // compressed offset
  std::uint64_t decoded_ = 0;              // text of the group so far
  std::optional<lost_range> lost_{};       // the damaged range that is being skipped
  std::uint64_t skipped_to_ = 0;           // compressed offset
  std::optional<frame_search> search_{};   // for the next frame, if the splitter does not find it
  std::uint64_t bytes_read_again_ = 0;     // by search_again()
  bool has_searched_again_ = false;        // for `lost_`
  bool is_refused_ = false;                // the input has more text than it may have
};

}  // namespace gpuhist::pipeline
