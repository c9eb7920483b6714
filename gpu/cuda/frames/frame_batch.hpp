// Groups of frames that are decoded on a device together, and the memory for them. Many frames keep the device busy;
// the more are decoded together, the higher the rate (docs/tuning.md).
#pragma once

#include "gpu/cuda/frames/text_hasher.hpp"
#include "gpu/cuda/handles.hpp"
#include "gpu/cuda/runtime.hpp"
#include "gpu/cuda/units/piece_classes.hpp"
#include "gpu/frame_decoder.hpp"
#include "gpu/value_runs.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace gpuhist::gpu::cuda::frames {

/// Owned by one lane, not thread-safe. Only the constructor allocates.
class frame_batch {
 public:
  /// Allocates device memory for about three times the text, and page-locked memory. The device is current. Throws
  /// engine_error; memory_shortage if smaller limits may succeed.
  frame_batch(runtime& api, const frame_decoder::limits& limits);

  /// Before the first jobs. Queues work that clears the text and the literals: a phase reads whole words of them. The
  /// batch outlives the stream. Throws engine_error.
  void prepare(const stream& on);

  [[nodiscard]] bool empty() const { return jobs_.empty(); }
  [[nodiscard]] bool has_room_for(const frame_job& job) const;

  /// Precondition: has_room_for(job).
  void add(frame_job& job) noexcept;

  [[nodiscard]] std::span<frame_job* const> jobs() const { return jobs_; }
  [[nodiscard]] std::uint32_t frames() const { return frames_used_; }
  [[nodiscard]] std::uint64_t compressed_bytes() const { return compressed_used_; }

  /// Queues copies, kernels, and the copies of the results. Throws engine_error.
  void enqueue(const stream& on, int multiprocessors);

  /// After enqueue(): hashes the text of frames in parts as it is decoded, if they have checksums. Throws engine_error.
  void hash_texts();

  /// After the work on the stream has ended: writes the results of the jobs.
  void write_results(const partition& counted) noexcept;

  /// After that: whether there are rows of pieces to copy.
  [[nodiscard]] bool has_rows(std::size_t job) const { return jobs_[job]->decoded && jobs_[job]->unit_pieces > 0; }

  /// Precondition: has_rows(). Calls frame_job::take_row_memory().
  bool take_row_memory(std::size_t index, bool waits) noexcept;

  /// After that: queues the copies of the rows to this memory. Throws engine_error.
  void enqueue_rows(std::size_t job, const stream& on);

  void clear() noexcept;

 private:
  friend class stepped_frame;  // in the memory of a batch

  /// Where the data of a job begins in the batch.
  struct place {
    std::uint64_t compressed = 0;
    std::uint64_t text = 0;
    std::uint32_t frame = 0;
    std::uint32_t block = 0;
    std::uint32_t slice = 0;
  };

  /// A frame whose checksum the device does not compare.
  struct hashed_frame {
    std::uint32_t index = 0;
    std::uint32_t checksum = 0;  ///< stated
    std::uint32_t hash = 0;
  };

  static constexpr std::uint64_t quad_bytes = 16;  // compressed bytes are read in quads of words
  static constexpr std::size_t row_bytes = byte_values * sizeof(std::uint32_t);

  [[nodiscard]] static std::uint32_t symbol_room(const frame_decoder::limits& limits);
  void divide_long_frames() noexcept;
  void copy_to_device(void* to, const void* from, std::size_t bytes, const stream& on);
  void copy_to_host(void* to, const void* from, std::size_t bytes, const stream& on);
  void clear_memory(void* memory, std::size_t bytes, const stream& on);
  [[nodiscard]] frame_launch launch(int multiprocessors) const;
  void set_division(frame_launch& to) const;
  [[nodiscard]] std::uint32_t end_of(std::size_t job) const;
  [[nodiscard]] std::uint32_t cuts_used() const { return slices_used_ - static_cast<std::uint32_t>(jobs_.size()); }
  [[nodiscard]] const units::piece_classes* classes() const { return classes_; }
  [[nodiscard]] std::uint32_t row_room() const;
  [[nodiscard]] bool selects_rows() const;
  [[nodiscard]] const std::uint32_t* returned_rows() const;
  [[nodiscard]] std::uint32_t first_row_of(std::size_t job) const;
  void compare_crc32(std::uint32_t index) noexcept;
  void write_result(std::size_t job, const partition& counted) const noexcept;

  runtime& api_;
  const frame_decoder::limits limits_;
  // page-locked
  pinned_memory frames_;
  pinned_memory blocks_;
  pinned_memory groups_;
  pinned_memory cuts_;
  pinned_memory last_bytes_;
  pinned_memory results_;
  pinned_memory totals_;
  pinned_memory class_table_;
  pinned_memory strings_;
  pinned_memory extent_pieces_;
  pinned_memory extent_rows_;
  pinned_memory used_at_first_;  // batch_buffers::used before the phases
  // for hashes
  text_hasher hasher_;
  event begun_;
  // of the device
  device_memory compressed_;
  device_memory device_frames_;
  device_memory device_blocks_;
  device_memory device_groups_;
  device_memory device_cuts_;
  device_memory places_of_cuts_;
  device_memory slice_extents_;
  device_memory slice_ends_;
  device_memory device_last_bytes_;
  device_memory codes_;
  device_memory decoded_;
  device_memory literals_;
  device_memory sequences_;
  device_memory portions_;
  device_memory text_;
  device_memory device_results_;
  device_memory used_;
  device_memory symbols_;
  device_memory progress_;
  device_memory extents_;
  device_memory rows_;
  device_memory device_totals_;
  device_memory device_class_table_;
  device_memory device_strings_;
  device_memory tile_pieces_;
  device_memory device_extent_pieces_;
  device_memory tile_rows_;
  device_memory device_extent_rows_;

  std::vector<frame_job*> jobs_;                   // the first ones may be completed, and destroyed
  const units::piece_classes* classes_ = nullptr;  // of all jobs
  std::vector<place> places_;
  std::uint64_t compressed_used_ = 0;
  std::uint64_t text_used_ = 0;
  std::uint64_t literals_used_ = 0;
  std::uint64_t sequences_used_ = 0;
  std::uint32_t members_used_ = 0;
  std::uint32_t portions_used_ = 0;
  std::uint64_t longest_text_ = 0;  // of a frame
  std::vector<zstd::part_segment> in_parts_;
  std::vector<hashed_frame> hashed_;
  std::uint32_t frames_used_ = 0;
  std::uint32_t blocks_used_ = 0;
  std::uint32_t slices_used_ = 0;
  bool is_divided_ = false;  // some jobs have cuts
  bool has_lines_ = false;   // of lines
};

}  // namespace gpuhist::gpu::cuda::frames
