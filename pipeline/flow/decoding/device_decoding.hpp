// Has a device decode a group of compressed_inputs, and merges the rows that it returns.
#pragma once

#include "async/task_group.hpp"
#include "pipeline/flow/decoding/compressed_group.hpp"
#include "pipeline/flow/decoding/device_frames.hpp"

#include <cstdint>
#include <optional>

namespace gpuhist::pipeline {

/// Used by one coroutine. Borrows both; bytes of the group are collected for the device (`group::staged`).
class compressed_inputs::device_decoding {
 public:
  device_decoding(compressed_inputs& inputs, group& task)
      : inputs_(inputs),
        options_(inputs.options_),
        device_(*options_.device),
        windows_(options_.windows),
        counts_(inputs.counts_),
        notes_(inputs.notes_),
        stop_(inputs.stop_),
        task_(task) {}

  /// False: the host must decode the group, which has a context then.
  async::task<bool> try_decode();

 private:
  [[nodiscard]] bool keeps_order() const;
  async::task<bool> count_on_device();
  async::task<> count_in_steps(stepped_group& steps);
  async::task<bool> append_to(stepped_group& steps);
  bool merge_ended(stepped_group& steps);
  bool merge_step(const gpu::frame_step& step);
  async::task<bool> divide_on_device();
  async::task<std::optional<std::uint32_t>> measure_text() const;
  gpu::text_cuts plan_panes(std::uint32_t units);
  async::task<> add_panes(const decoded_group& text, const gpu::text_cuts& cuts);
  [[nodiscard]] bool has_notice() const;
  [[nodiscard]] bool has_missed_end() const;
  [[nodiscard]] bool try_add(std::uint64_t bytes) const;
  enum class collected { whole, some, step };
  async::task<collected> stage();
  async::task<collected> collect(async::task_group& helpers);
  [[nodiscard]] bool may_stage_lost() const;
  async::task<std::size_t> append(const block& next, async::task_group& helpers);
  void add_decoded(const decoded_group& text);
  void note_copied(std::uint64_t bytes);
  async::task<> observe_units(decoded_group& text);

  compressed_inputs& inputs_;
  const settings& options_;
  device_frames& device_;
  window_divider* const windows_;  // null: there are no windows
  rolling_counts& counts_;
  feed_notes& notes_;
  const std::stop_token& stop_;
  group& task_;
};

}  // namespace gpuhist::pipeline
