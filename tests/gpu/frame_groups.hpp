// Groups of zstd frames or gzip members with the counts of their text, as jobs for a decoder of frames.
#pragma once

#include "gpu/cuda/runtime.hpp"
#include "gpu/cuda/units/piece_classes.hpp"
#include "gpu/frame_decoder.hpp"
#include "gpu/tally.hpp"
#include "pipeline/flow/decoding/encoded_frames.hpp"
#include "tests/io/gzip_samples.hpp"
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
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::gpu {

/// Limits how many groups have memory for rows at the same time.
class row_room {
 public:
  explicit row_room(unsigned groups) : all_(groups), free_(groups) {}

  bool take(bool waits) {
    std::unique_lock lock(mutex_);
    if (all_ == 0) return false;
    if (free_ == 0 && !waits) {
      ++refusals_;
      return false;
    }
    returned_.wait(lock, [&] { return free_ > 0; });
    --free_;
    return true;
  }
  void give_back() {
    const std::scoped_lock lock(mutex_);
    ++free_;
    returned_.notify_all();
  }
  /// How often there was none without waiting.
  [[nodiscard]] unsigned refusals() const {
    const std::scoped_lock lock(mutex_);
    return refusals_;
  }
  [[nodiscard]] bool is_all_free() const {
    const std::scoped_lock lock(mutex_);
    return free_ == all_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable returned_;
  const unsigned all_;
  unsigned free_;
  unsigned refusals_ = 0;
};

/// The bytes of each class in each unit of a text; the last one may lack its delimiter.
using unit_list = std::vector<std::vector<std::uint32_t>>;

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
        counted_(counted),
        plain_(sample.plain) {
    set_expected();
    std::fill_n(memory_.get(), bytes_, std::byte{0xEE});
    REQUIRE(runtime_.host_register(memory_.get(), bytes_) == 0);
    for (std::size_t i = 0; i < pieces_; ++i) {
      const auto part = std::span(sample.packed).subspan(i * piece_bytes);
      const std::size_t size = std::min(part.size(), piece_bytes);
      std::byte* const at = memory_.get() + i * (piece_bytes + gap);
      std::memcpy(at, part.data(), size);
      job_.pieces.emplace_back(at, size);
    }
  }
  frame_group(const frame_group&) = delete;
  frame_group& operator=(const frame_group&) = delete;
  ~frame_group() {
    if (is_left_locked_) return;
    static_cast<void>(runtime_.host_unregister(memory_.get()));
    if (row_memory_) static_cast<void>(runtime_.host_unregister(row_memory_.get()));
  }

  /// The text is divided. Each cut is in the text.
  void divide(text_cuts cuts) {
    cuts_ = std::move(cuts);
    job_.cuts = &*cuts_;
    set_expected();
  }

  /// The units of the text are measured, in rows for which it takes memory until the job is completed. Both outlive the
  /// group.
  void measure(const cuda::units::piece_classes& classes, row_room& room) {
    job_.units = &classes;
    room_ = &room;
    expected_units_ = {std::vector<std::uint32_t>(classes.classes)};
    for (const std::byte each : plain_) {
      ++expected_units_.back()[classes.class_of[std::to_integer<std::size_t>(each)]];
      if (each == classes.delimiter) expected_units_.emplace_back(classes.classes);
    }
  }

  frame_job& prepare() {
    job_.frames = listed_.frames;
    job_.blocks = listed_.blocks;
    job_.text_room = listed_.text_room;
    job_.sequences = listed_.sequences;
    job_.rows = rows_;
    job_.last_bytes = last_bytes_;
    job_.take_row_memory = [this](frame_job& job, std::uint64_t bytes, bool waits) {
      if (!room_->take(waits)) return false;
      set_row_memory(job, bytes);
      return true;
    };
    job_.on_complete = [this](frame_job&, std::exception_ptr error) {
      if (job_.units != nullptr && job_.decoded && !error) found_units_ = units_in_rows();
      job_.units = nullptr;  // the job belongs to its owner again, who may destroy it
      if (row_memory_) room_->give_back();
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
    CHECK(job_.text_bytes == plain_.size());
    CHECK(rows_ == expected_);
    CHECK(last_bytes_ == expected_last_);
    CHECK(found_units_ == expected_units_);
  }

  /// After wait(): a frame was rejected, and nothing was written. Not for groups that lack memory for their rows.
  void check_rejected() const {
    CHECK_FALSE(job_.decoded);
    CHECK(std::ranges::all_of(rows_, [](std::uint32_t each) { return each == garbage; }));
  }

  /// Writes to the memory, as its owner may after the job.
  void reuse_memory() { std::fill_n(memory_.get(), bytes_, std::byte{}); }

  /// A lost device may still read the memory.
  void leave_locked() { is_left_locked_ = true; }

  [[nodiscard]] unsigned answers() const {
    const std::scoped_lock lock(mutex_);
    return answers_;
  }
  [[nodiscard]] bool is_decoded() const { return job_.decoded; }
  [[nodiscard]] std::uint64_t text_bytes() const { return plain_.size(); }
  [[nodiscard]] std::size_t frames() const { return listed_.frames.size(); }

 private:
  static constexpr std::align_val_t page{4096};
  static constexpr std::size_t gap = 48;
  static constexpr std::uint32_t garbage = 0xDEADBEEF;

  struct deleter {
    void operator()(std::byte* memory) const noexcept { ::operator delete(memory, page); }
  };

  // Parts of three rows each, which are not adjacent.
  void set_row_memory(frame_job& job, std::uint64_t bytes) {
    const std::size_t part = 3 * job.units->bytes_of_row();
    const std::size_t room = rounded(2 * (bytes + part));
    row_memory_.reset(static_cast<std::byte*>(::operator new(room, page)));
    REQUIRE(runtime_.host_register(row_memory_.get(), room) == 0);
    job.unit_rows.clear();
    for (std::size_t at = 0; job.unit_rows.size() * part < bytes; at += 2 * part) {
      job.unit_rows.emplace_back(row_memory_.get() + at, part);
    }
  }

  // The pieces of each unit together, and omitted units as they are expected.
  [[nodiscard]] unit_list units_in_rows() const {
    std::vector<std::uint32_t> words;
    for (const std::span<std::byte> part : job_.unit_rows) {
      const auto* const from = reinterpret_cast<const std::uint32_t*>(part.data());
      words.insert(words.end(), from, from + part.size() / sizeof(std::uint32_t));
    }
    words.resize(job_.unit_pieces * job_.units->words_of_row());
    const cuda::units::piece_rows rows(words, *job_.units);
    unit_list units{std::vector<std::uint32_t>(job_.units->classes)};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows.is_of_omitted(i)) {
        add_omitted(units, rows.omitted_units(i), rows.omitted_bytes(i));
        continue;
      }
      rows.add_counts(i, std::span(units.back()));
      if (rows.ends_unit(i)) units.emplace_back(job_.units->classes);
    }
    return units;
  }

  // Without them, if they are other units. `units`: the last one is open.
  void add_omitted(unit_list& units, std::uint32_t number, std::uint32_t bytes) const {
    const std::size_t first = units.size() - 1;
    if (first + number > expected_units_.size()) return;
    std::uint64_t expected_bytes = 0;
    for (std::size_t i = first; i < first + number; ++i) {
      expected_bytes += std::accumulate(expected_units_[i].begin(), expected_units_[i].end(), std::uint64_t{0});
    }
    if (expected_bytes != bytes) return;
    units.pop_back();
    units.insert(units.end(), expected_units_.begin() + static_cast<std::ptrdiff_t>(first),
                 expected_units_.begin() + static_cast<std::ptrdiff_t>(first + number));
    units.emplace_back(job_.units->classes);
  }

  // Byte by byte.
  void set_expected() {
    rows_.assign(job_.slices() * counted_.classes, garbage);
    last_bytes_.assign(cuts_ ? job_.slices() : 0, 0);
    expected_.assign(rows_.size(), 0);
    expected_last_ = last_bytes_;
    std::size_t slice = 0;
    std::uint32_t reached = 0;  // in the unit of the cuts
    for (const std::byte each : plain_) {
      ++expected_[slice * counted_.classes + counted_.class_of[std::to_integer<std::size_t>(each)]];
      if (!cuts_) continue;
      expected_last_[slice] = std::to_integer<std::uint8_t>(each);
      if (cuts_->unit == cuda::zstd::cut_unit::bytes || each == std::byte{'\n'}) ++reached;
      if (slice < cuts_->after.size() && reached == cuts_->after[slice]) ++slice;
    }
    REQUIRE(slice + 1 == job_.slices());
  }

  static std::size_t rounded(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

  static pipeline::encoded_frames list(const test::byte_vector& packed) {
    auto listed = pipeline::list_frames(io::access_to(packed));
    REQUIRE(listed);
    return std::move(*listed);
  }

  cuda::runtime& runtime_;
  pipeline::encoded_frames listed_;
  std::size_t pieces_;
  std::size_t bytes_;
  std::unique_ptr<std::byte, deleter> memory_;
  const partition counted_;
  const test::byte_vector plain_;
  std::optional<text_cuts> cuts_;
  std::vector<std::uint32_t> expected_;
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint8_t> expected_last_;
  std::vector<std::uint8_t> last_bytes_;
  bool is_left_locked_ = false;
  row_room* room_ = nullptr;
  std::unique_ptr<std::byte, deleter> row_memory_;
  unit_list expected_units_;
  unit_list found_units_;
  frame_job job_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  unsigned answers_ = 0;
  std::exception_ptr error_;
};

/// Up to `most` cuts of a text, in bytes or lines, in random places; also directly one after the other, and at its end.
inline text_cuts random_cuts(std::mt19937& random, const test::byte_vector& text, std::size_t most) {
  text_cuts cuts;
  std::size_t units = text.size();
  if (random() % 2 == 0) {
    cuts.unit = cuda::zstd::cut_unit::lines;
    units = static_cast<std::size_t>(std::ranges::count(text, std::byte{'\n'}));
  }
  if (units == 0) return cuts;
  for (std::size_t left = random() % (most + 1); left > 0; --left) {
    const std::size_t at =
        random() % 4 == 0 ? units - random() % std::min<std::size_t>(units, 3) : 1 + random() % units;
    cuts.after.push_back(static_cast<std::uint32_t>(at));
  }
  std::ranges::sort(cuts.after);
  const auto repeated = std::ranges::unique(cuts.after);
  cuts.after.erase(repeated.begin(), repeated.end());
  return cuts;
}

/// The classes of `letters`, each one apart, and of all other values; lines are units.
inline cuda::units::piece_classes classes_of_lines(std::string_view letters) {
  partition counted;
  for (const char each : letters)
    counted.class_of[static_cast<unsigned char>(each)] = static_cast<std::uint8_t>(counted.classes++);
  return *cuda::units::piece_classes::make(counted, std::byte{'\n'});
}

/// Holds for longer units.
inline cuda::units::piece_condition longer_than(double bytes) {
  using operation = cuda::units::condition_step::operation;
  return {.steps = {{.what = operation::bytes},
                    {.what = operation::constant, .constant = bytes},
                    {.what = operation::greater}},
          .size = 3};
}

/// Frames or members of lines of any length, of noise and of one byte, some of them longer than the tiles of a search,
/// and some members so long that they are decoded in portions.
inline test::decoder_sample frames_to_divide(std::mt19937& random) {
  const bool are_members = random() % 3 == 0;
  test::zstd_sample_builder frames("frames to divide");
  test::gzip_sample_builder members("members to divide");
  for (auto left = 1 + random() % 5; left > 0; --left) {
    const std::size_t sizes[] = {0, 1, 31, 32, 33, random() % 2000, random() % 70'000};
    test::byte_vector text = random() % 3 == 0 ? test::noise(sizes[random() % 7], static_cast<std::uint32_t>(random()))
                                               : test::byte_vector(sizes[random() % 7], std::byte{'x'});
    const std::size_t line = 1 + random() % (random() % 2 == 0 ? 8 : 20'000);
    for (std::size_t at = line - 1; at < text.size(); at += line) text[at] = std::byte{'\n'};
    frames.frame(text, {.level = 1, .content_size = random() % 2 == 0});
    members.member(text, {.level = 1});
  }
  if (!are_members) return frames.build();
  if (random() % 4 == 0) {
    test::byte_vector text = test::noise(360'000, static_cast<std::uint32_t>(random()));
    for (std::byte& each : text) each = std::byte{'0'} | (each & std::byte{15});
    members.member(text, {.level = 6});
  }
  return members.build();
}

}  // namespace gpuhist::gpu
