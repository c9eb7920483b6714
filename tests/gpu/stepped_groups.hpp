// Long frames that a decoder takes in steps, with the counts of their text.
#pragma once

#include "gpu/cuda/runtime.hpp"
#include "gpu/frame_decoder.hpp"
#include "pipeline/flow/decoding/encoded_frames.hpp"
#include "tests/io/gzip_samples.hpp"
#include "tests/io/zstd_samples.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <utility>
#include <vector>

namespace gpuhist::gpu {

/// One frame in random steps, its page-locked memory and its job.
class stepped_group final : public frame_steps {
 public:
  /// Steps have 1 to `most_blocks` blocks, in one or two pieces. `has_all`: otherwise no step comes after the first
  /// ones. `locked_by`: outlives the group.
  stepped_group(cuda::runtime& locked_by, const test::decoder_sample& sample, std::mt19937& random,
                std::size_t most_blocks, bool has_all = true)
      : runtime_(locked_by),
        bytes_((sample.packed.size() + 4095) / 4096 * 4096),
        memory_(static_cast<std::byte*>(::operator new(bytes_, page))),
        expected_(values) {
    std::ranges::copy(sample.packed, memory_.get());
    REQUIRE(runtime_.host_register(memory_.get(), bytes_) == 0);
    for (const std::byte each : sample.plain) ++expected_[std::to_integer<std::size_t>(each)];
    text_bytes_ = sample.plain.size();
    auto listed =
        pipeline::list_frames({.size = sample.packed.size(), .copy = [&](std::uint64_t at, std::span<std::byte> to) {
                                 std::copy_n(sample.packed.data() + at, to.size(), to.data());
                               }});
    REQUIRE(listed);
    REQUIRE(listed->frames.size() == 1);
    frame_ = listed->frames.front();
    if (frame_.portions > 0) {
      divide_stream(listed->blocks.front(), random);
    } else {
      divide(listed->blocks, random, most_blocks);
    }
    steps_.back().is_last = true;
    steps_.back().checksum = frame_.checksum;
    steps_.back().stated_text = static_cast<std::uint32_t>(frame_.content_bytes);
    given_ = has_all ? steps_.size() : random() % steps_.size();
    frame_.block_count = frame_.first_block = 0;
    job_.frames = {&frame_, 1};
    job_.steps = this;
    job_.on_complete = [this](frame_job&, std::exception_ptr error) {
      const std::scoped_lock lock(mutex_);
      ++answers_;
      error_ = std::move(error);
      changed_.notify_all();
    };
  }
  ~stepped_group() override { static_cast<void>(runtime_.host_unregister(memory_.get())); }

  frame_step* next() override {
    if (next_ == given_) return nullptr;
    CHECK(next_ - ended_ < 2);
    return &steps_[next_++];
  }

  void end(frame_step& step) override {
    CHECK(&step == &steps_[ended_]);
    std::fill_n(const_cast<std::byte*>(step.pieces[0].data()), 1, std::byte{0xEE});  // its bytes are not read any more
    for (std::size_t i = 0; i < values; ++i) found_[i] += step.row[i];
    found_bytes_ += step.text_bytes;
    ++ended_;
  }

  frame_job& job() { return job_; }
  [[nodiscard]] bool has_checksum() const { return frame_.has_checksum != 0 || frame_.portions > 0; }
  [[nodiscard]] std::size_t steps() const { return steps_.size(); }

  /// Waits for the completion of the job; throws its error.
  void wait() {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, std::chrono::seconds(60), [this] { return answers_ > 0; }));
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  [[nodiscard]] bool is_decoded() const { return job_.decoded; }
  [[nodiscard]] unsigned answers() const { return answers_; }

  /// After wait(): the result is that of the text.
  void check_decoded() const {
    CHECK(job_.decoded);
    CHECK(ended_ == steps_.size());
    CHECK(job_.text_bytes == text_bytes_);
    CHECK(found_bytes_ == text_bytes_);
    CHECK(found_ == expected_);
  }

 private:
  static constexpr std::align_val_t page{4096};
  static constexpr std::size_t values = 256;

  struct deleter {
    void operator()(std::byte* memory) const noexcept { ::operator delete(memory, page); }
  };

  void divide(const std::vector<cuda::zstd::encoded_block>& blocks, std::mt19937& random, std::size_t most_blocks) {
    for (std::size_t first = 0; first < blocks.size();) {
      const std::size_t count = std::min<std::size_t>(blocks.size() - first, 1 + random() % most_blocks);
      frame_step& step = steps_.emplace_back();
      step.row.assign(values, 0);
      const cuda::zstd::encoded_block& last = blocks[first + count - 1];
      const auto before = static_cast<std::uint32_t>(random() % (blocks[first].at - reached_ + 1));
      const std::uint32_t begin = blocks[first].at - before;
      const std::uint32_t end = last.at + (last.type == cuda::zstd::block_type::run ? 1 : last.bytes);
      const std::uint32_t cut = random() % 2 == 0 ? begin + (end - begin) / 2 : end;
      step.pieces.emplace_back(memory_.get() + begin, cut - begin);
      if (cut < end) step.pieces.emplace_back(memory_.get() + cut, end - cut);
      for (std::size_t i = first; i < first + count; ++i) {
        step.blocks.push_back(blocks[i]);
        step.blocks.back().at -= begin;
        step.blocks.back().frame = 0;
      }
      reached_ = end;
      first += count;
    }
  }

  // Parts of the stream of a member, with the bytes after them that a block may have.
  void divide_stream(const cuda::zstd::encoded_block& stream, std::mt19937& random) {
    constexpr std::uint32_t longest_block = 200'000;
    const std::uint32_t end = stream.at + stream.bytes;
    const std::uint32_t most = random() % 3 == 0 ? 3000 : 150'000;
    for (std::uint32_t at = stream.at; at < end;) {
      const auto bytes = static_cast<std::uint32_t>(std::min<std::size_t>(end - at, 1 + random() % most));
      frame_step& step = steps_.emplace_back();
      step.row.assign(values, 0);
      step.portions = static_cast<std::uint32_t>(1 + random() % 12);
      step.bytes_after = std::min(longest_block, end - at - bytes);
      const auto before = static_cast<std::uint32_t>(random() % (at - reached_ + 1));
      step.blocks.push_back({.at = before, .bytes = bytes, .type = cuda::zstd::block_type::member});
      const std::uint32_t all = before + bytes + step.bytes_after;
      const std::uint32_t cut = random() % 2 == 0 ? all / 2 : all;
      step.pieces.emplace_back(memory_.get() + at - before, cut);
      if (cut < all) step.pieces.emplace_back(memory_.get() + at - before + cut, all - cut);
      at += bytes;
      reached_ = at;
    }
  }

  cuda::runtime& runtime_;
  std::size_t bytes_;
  std::unique_ptr<std::byte, deleter> memory_;
  std::vector<std::uint64_t> expected_;
  std::vector<std::uint64_t> found_ = std::vector<std::uint64_t>(values);
  std::uint64_t text_bytes_ = 0;
  std::uint64_t found_bytes_ = 0;
  cuda::zstd::encoded_frame frame_{};
  std::vector<frame_step> steps_;
  std::uint32_t reached_ = 0;
  std::size_t given_ = 0;
  std::size_t next_ = 0;
  std::size_t ended_ = 0;
  frame_job job_;
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned answers_ = 0;
  std::exception_ptr error_;
};

/// A frame or member of text, noise and runs, of several blocks, with any window.
inline test::decoder_sample frame_of_blocks(std::mt19937& random, std::size_t most_bytes) {
  const int levels[] = {-5, 1, 3, 6, 12, 19};
  const auto seed = static_cast<std::uint32_t>(random());
  test::byte_vector text = test::sample_text(random() % most_bytes, seed);
  if (random() % 3 == 0) {
    const test::byte_vector incompressible = test::noise(random() % 300'000, seed);
    text.insert(text.end(), incompressible.begin(), incompressible.end());
    text.insert(text.end(), random() % 400'000, std::byte{'='});
    const test::byte_vector again = test::sample_text(random() % most_bytes, seed);
    text.insert(text.end(), again.begin(), again.end());
  }
  if (random() % 3 == 0) {
    const std::size_t flush = random() % 4 == 0 ? 1 + random() % 20'000 : 0;
    return test::gzip_sample_builder("blocks")
        .member(text, {.level = 1 + static_cast<int>(random() % 9), .flush_bytes = flush})
        .build();
  }
  return test::zstd_sample_builder("blocks")
      .frame(text, {.level = levels[random() % 6],
                    .checksum = random() % 4 != 0,
                    .content_size = random() % 2 == 0,
                    .window_log = random() % 2 == 0 ? 0 : static_cast<int>(10 + random() % 12)})
      .build();
}

/// Decodes `rounds` frames in random steps: intact ones, damaged ones, and some whose last steps do not come.
inline void check_steps(frame_decoder& decoder, cuda::runtime& api, unsigned rounds, std::size_t most_bytes) {
  std::mt19937 random(1);  // NOLINT(*-msc51-cpp): the same frames on every run
  std::size_t steps = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    CAPTURE(round);
    test::decoder_sample sample = frame_of_blocks(random, most_bytes);
    stepped_group intact(api, sample, random, round % 3 == 0 ? 1 : 6);
    decoder.submit(intact.job());
    intact.wait();
    intact.check_decoded();
    CHECK(intact.answers() == 1);
    steps += intact.steps();
    stepped_group unfinished(api, sample, random, 2, false);
    decoder.submit(unfinished.job());
    unfinished.wait();
    CHECK_FALSE(unfinished.is_decoded());
    if (!intact.has_checksum()) continue;
    if (sample.packed.front() == std::byte{0x1F}) {  // other bytes between the stream and the trailer
      test::decoder_sample longer = sample;
      longer.packed.insert(longer.packed.end() - 8, 1 + random() % 30'000, std::byte{'#'});
      stepped_group ended(api, longer, random, 3);
      decoder.submit(ended.job());
      ended.wait();
      CHECK_FALSE(ended.is_decoded());
    }
    sample.packed[sample.packed.size() - 1 - random() % 10] ^= std::byte{1};  // of the checksum, or of the last block
    if (!pipeline::list_frames(io::access_to(sample.packed))) continue;
    stepped_group damaged(api, sample, random, 3);
    decoder.submit(damaged.job());
    damaged.wait();
    CHECK_FALSE(damaged.is_decoded());
  }
  CHECK(steps > 4 * rounds);
}

}  // namespace gpuhist::gpu
