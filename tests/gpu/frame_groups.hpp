// Groups of zstd frames with the counts of their text, as jobs for a decoder of frames.
#pragma once

#include "gpu/cuda/runtime.hpp"
#include "gpu/frame_decoder.hpp"
#include "gpu/tally.hpp"
#include "pipeline/flow/decoding/encoded_frames.hpp"
#include "tests/io/zstd_samples.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace gpuhist::gpu {

/// One group, its page-locked memory and its job.
class frame_group {
 public:
  /// All pieces but the last have `piece_bytes`, and lie apart. `locked_by`: outlives the group.
  frame_group(cuda::runtime& locked_by, const test::decoder_sample& sample, std::size_t piece_bytes,
              const partition& counted = partition::identity())
      : runtime_(locked_by),
        listed_(list(sample.packed)),
        pieces_((sample.packed.size() + piece_bytes - 1) / piece_bytes),
        bytes_(rounded(std::max<std::size_t>(1, pieces_ * (piece_bytes + gap)))),
        memory_(static_cast<std::byte*>(::operator new(bytes_, page))),
        expected_(counted.classes),
        row_(counted.classes, garbage) {
    std::fill_n(memory_.get(), bytes_, std::byte{0xEE});
    REQUIRE(runtime_.host_register(memory_.get(), bytes_) == 0);
    for (std::size_t i = 0; i < pieces_; ++i) {
      const auto part = std::span(sample.packed).subspan(i * piece_bytes);
      const std::size_t size = std::min(part.size(), piece_bytes);
      std::byte* const at = memory_.get() + i * (piece_bytes + gap);
      std::memcpy(at, part.data(), size);
      job_.pieces.emplace_back(at, size);
    }
    for (const std::byte each : sample.plain) ++expected_[counted.class_of[std::to_integer<std::size_t>(each)]];
    text_bytes_ = sample.plain.size();
  }
  frame_group(const frame_group&) = delete;
  frame_group& operator=(const frame_group&) = delete;
  ~frame_group() {
    if (!is_left_locked_) static_cast<void>(runtime_.host_unregister(memory_.get()));
  }

  frame_job& prepare() {
    job_.frames = listed_.frames;
    job_.blocks = listed_.blocks;
    job_.text_room = listed_.text_room;
    job_.row = row_;
    job_.on_complete = [this](frame_job&, std::exception_ptr error) {
      const std::scoped_lock lock(mutex_);
      ++answers_;
      error_ = std::move(error);
      changed_.notify_all();
    };
    return job_;
  }

  /// Waits for the completion of the job; throws its error.
  void wait() {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, std::chrono::seconds(60), [this] { return answers_ > 0; }));
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  /// After wait(): the result is that of the text.
  void check_decoded() const {
    CHECK(job_.decoded);
    CHECK(job_.text_bytes == text_bytes_);
    CHECK(row_ == expected_);
  }

  /// After wait(): a frame was rejected, and nothing was written.
  void check_rejected() const {
    CHECK_FALSE(job_.decoded);
    CHECK(std::ranges::all_of(row_, [](std::uint32_t each) { return each == garbage; }));
  }

  /// Writes to the memory, as its owner may after the job.
  void reuse_memory() { std::fill_n(memory_.get(), bytes_, std::byte{}); }

  /// A lost device may still read the memory.
  void leave_locked() { is_left_locked_ = true; }

  [[nodiscard]] unsigned answers() const {
    const std::scoped_lock lock(mutex_);
    return answers_;
  }
  [[nodiscard]] std::uint64_t text_bytes() const { return text_bytes_; }
  [[nodiscard]] std::size_t frames() const { return listed_.frames.size(); }

 private:
  static constexpr std::align_val_t page{4096};
  static constexpr std::size_t gap = 48;
  static constexpr std::uint32_t garbage = 0xDEADBEEF;

  struct deleter {
    void operator()(std::byte* memory) const noexcept { ::operator delete(memory, page); }
  };

  static std::size_t rounded(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

  static pipeline::encoded_frames list(const test::byte_vector& packed) {
    auto listed = pipeline::list_frames({.size = packed.size(), .copy = [&](std::uint64_t at, std::span<std::byte> to) {
                                           std::copy_n(packed.data() + at, to.size(), to.data());
                                         }});
    REQUIRE(listed);
    return std::move(*listed);
  }

  cuda::runtime& runtime_;
  pipeline::encoded_frames listed_;
  std::size_t pieces_;
  std::size_t bytes_;
  std::unique_ptr<std::byte, deleter> memory_;
  std::vector<std::uint32_t> expected_;
  std::vector<std::uint32_t> row_;
  std::uint64_t text_bytes_ = 0;
  bool is_left_locked_ = false;
  frame_job job_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  unsigned answers_ = 0;
  std::exception_ptr error_;
};

}  // namespace gpuhist::gpu
