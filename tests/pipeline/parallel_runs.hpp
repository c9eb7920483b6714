// Helpers for tests of frames that are decoded side by side: archives of random frames, plans with small buffers, runs
// over an engine that completes jobs in any order, and the result of one decoder that decodes in order.
#pragma once

#include "command/plan.hpp"
#include "pipeline/flow/driver.hpp"
#include "tests/contract/decoder_contract.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_strings.hpp"
#include "tests/support/campaign.hpp"
#include "tests/support/shuffling_decoder.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace gpuhist::test {

/// Runs are many times slower under a sanitizer, and CI takes a sample. Tests make this many times fewer of them there.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr std::uint32_t fewer = 8;
#else
inline const std::uint32_t fewer = unless_sampled(1U, 4U);
#endif

using byte_counts = std::vector<std::uint64_t>;

inline byte_counts counts_of(std::span<const std::byte> text) {
  byte_counts counts(256);
  for (const std::byte each : text) ++counts[std::to_integer<std::size_t>(each)];
  return counts;
}

/// Aborts and prints the seed after a minute without progress, so that a test against deadlocks does not hang itself.
class watchdog {
 public:
  /// Notes progress. This seed reproduces the part that follows.
  void moved(std::uint32_t seed) {
    seed_ = seed;
    ++moves_;
  }

 private:
  void watch(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any asleep;
    std::unique_lock lock(mutex);
    for (std::uint64_t last_moves = 0; !stop.stop_requested(); last_moves = moves_) {
      asleep.wait_for(lock, stop, std::chrono::minutes(1), [] { return false; });
      if (stop.stop_requested() || last_moves != moves_) continue;
      std::fprintf(stderr, "nothing moved for a minute: seed %u\n", seed_.load());
      std::abort();
    }
  }

  std::atomic<std::uint32_t> seed_ = 0;
  std::atomic<std::uint64_t> moves_ = 1;
  std::jthread thread_{[this](const std::stop_token& stop) { watch(stop); }};
};

/// Returns another random number in every call.
class dice {
 public:
  explicit dice(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t operator()() { return static_cast<std::uint32_t>(engine_()); }
  std::uint32_t operator()(std::uint32_t lower, std::uint32_t upper) { return lower + (*this)() % (upper - lower + 1); }

  template <typename T>
  T one_of(std::initializer_list<T> each) {
    return each.begin()[(*this)() % each.size()];
  }

 private:
  std::mt19937 engine_;
};

/// A plan for these files that counts all 256 values. The caller may change its buffers.
inline command::plan byte_plan(std::vector<std::string> inputs, std::uint32_t chunk_bytes, std::uint32_t slots,
                               std::uint32_t threads) {
  config::options typed;
  typed.inputs = std::move(inputs);
  typed.run.counting.schemes = {"bytes"};
  typed.run.counting.counting_engine = gpuhist::engine::host;
  typed.run.chunk_size = chunk_bytes;
  typed.run.slots = slots;
  typed.run.counting.threads = threads;
  return command::make_plan(typed);
}

/// Groups of zstd frames are decoded by the engine, with random memory for them.
inline void decode_on_device(dice& random, command::plan& planned) {
  pipeline::buffer_plan& buffers = planned.buffers;
  planned.decodes_on_device = true;
  planned.forecast.shared = random(0, 1) == 0;  // the host decodes groups that find no free slot
  buffers.device_slot_bytes = random.one_of({16U, 64U, 1024U, 1U << 15U});
  if (buffers.block_bytes % 16 == 0 && random(0, 1) == 0) buffers.device_slot_bytes = buffers.block_bytes;
  buffers.device_slots = random.one_of({1U, 2U, 5U, 64U, 1000U});
  buffers.more_device_slots = random(1, 9);
  buffers.row_slot_bytes = random.one_of({32U, 1024U, 1U << 15U});
  buffers.row_slots = random.one_of({4U, 64U, 1000U});
  buffers.more_row_slots = random(1, 9);
  buffers.device_group_bytes = random.one_of({1U, 50U, 3000U});
  buffers.open_on_device = random(0, 4);
  buffers.staged_inputs = random(0, 4);
}

/// A plan with random buffers, of any size that a run must support; the smallest sizes are as likely as others.
inline command::plan random_plan(dice& random, std::vector<std::string> inputs, std::uint32_t chunk_bytes) {
  const std::uint32_t threads = random(1, 3);
  command::plan planned = byte_plan(std::move(inputs), chunk_bytes, random(2, 5), threads);
  pipeline::buffer_plan& buffers = planned.buffers;
  buffers.decoders = random(1, buffers.slots - 1);
  buffers.open_inputs = random(1, buffers.decoders + 1);
  buffers.block_bytes = random.one_of({1U, 7U, 64U, 1000U, 1U << 15U});
  buffers.blocks = random(2, 3);
  buffers.extra_blocks = random(0, 1);
  buffers.group_bytes = random.one_of({1U, 1U, 50U, 3000U});
  if (random(0, 2) == 0) decode_on_device(random, planned);
  return planned;
}

/// Frames of various sizes, among them those of about one chunk, empty frames, and skippable frames between them.
inline decoder_sample random_archive(dice& random, std::uint32_t chunk_bytes, std::uint32_t max_frames) {
  zstd_sample_builder builder("random");
  const bool has_dictionary = random(0, 4) == 0;
  const byte_vector& dictionary = trained_dictionary();
  if (has_dictionary) builder.first_frame(random(0, 1) == 0 ? dictionary : zstd_frame_of(dictionary));
  builder.frame({});
  for (std::uint32_t remaining = random(0, max_frames); remaining > 0; --remaining) {
    const std::uint32_t size =
        random.one_of({0U, 1U, chunk_bytes - 1, chunk_bytes, chunk_bytes + 1, random(0, 9 * chunk_bytes)});
    builder.frame(
        random(0, 3) == 0 ? noise(size, random()) : sample_text(size, random()),
        {.level = 1,
         .checksum = random(0, 3) != 0,
         .content_size = random(0, 1) == 0,
         .window_log = random.one_of({10, 13, 15}),
         .dictionary = has_dictionary ? std::span<const std::byte>(dictionary) : std::span<const std::byte>()});
    if (random(0, 5) == 0) builder.skippable(random(0, 50), random(0, 15));
  }
  return builder.build();
}

/// Runs over an engine that completes jobs in any order, and decodes frames as `decoding` says.
inline pipeline::run_hooks shuffled(const shuffling_decoder::settings& decoding,
                                    std::optional<std::uint64_t> failing_job = {}) {
  return {.make_engine = [decoding, failing_job](std::string_view, const gpu::engine_request& request) {
    return gpu::engine_choice{
        .taken = std::make_unique<shuffling_device>(request.counted, decoding, decoding.seed, failing_job),
        .reason = {}};
  }};
}

inline pipeline::run_hooks shuffled(unsigned seed, std::optional<std::uint64_t> failing_job = {}) {
  return shuffled({.seed = seed, .rejects_one_of = seed % 3 == 0 ? 4U : 0U, .fails_one_of = seed % 5 == 0 ? 6U : 0U},
                  failing_job);
}

/// A pipe that contains an archive, and a name to open it by. A thread writes it, because the pipe may be too small.
class piped_archive {
 public:
  explicit piped_archive(byte_vector bytes) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    reading_ = ends[0];
    writer_ = std::jthread([bytes = std::move(bytes), out = ends[1]] {
      sigset_t blocked;  // a closed reading end is to be an error of write(), not a signal
      ::sigemptyset(&blocked);
      ::sigaddset(&blocked, SIGPIPE);
      ::pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
      for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t written = ::write(out, bytes.data() + at, bytes.size() - at);
        if (written < 0) break;
        at += static_cast<std::size_t>(written);
      }
      ::close(out);
    });
  }
  piped_archive(const piped_archive&) = delete;
  piped_archive& operator=(const piped_archive&) = delete;
  ~piped_archive() { ::close(reading_); }

  [[nodiscard]] std::string name() const { return "/dev/fd/" + std::to_string(reading_); }

 private:
  int reading_ = -1;
  std::jthread writer_;
};

/// The limits of a plan's decoder (decode_contexts) if all memory for windows is granted to it.
inline io::decoder_limits limits_of(const command::plan& planned) {
  const std::uint64_t own =
      std::min<std::uint64_t>(std::uint64_t{8} << 20U, planned.buffers.window_limit / (4 * planned.buffers.decoders));
  return {.window_bytes = planned.buffers.window_limit - planned.buffers.decoders * own,
          .besides = planned.buffers.besides_windows};
}

/// The result of one decoder that decodes an archive in order.
struct in_order {
  byte_vector text;
  std::size_t verified = 0;         ///< bytes of the text
  std::size_t verified_packed = 0;  ///< compressed bytes of the verified text
  std::size_t consumed = 0;         ///< bytes of the archive
  std::string error;
};

inline in_order decode_in_order(const io::format& format, const io::decoder_limits& limits,
                                std::span<const std::byte> packed, std::size_t cut, std::size_t plain_bound) {
  const auto decoder = format.make_decoder(limits);
  decoding decoded = decode(*decoder, packed, always(cut), always(everything), plain_bound);
  return {.text = std::move(decoded.plain),
          .verified = decoded.ends.empty() ? 0 : decoded.ends.back().plain,
          .verified_packed = decoded.ends.empty() ? 0 : decoded.ends.back().packed,
          .consumed = decoder->consumed_total(),
          .error = decoded.failed ? decoded.error : decoded.missing};
}

}  // namespace gpuhist::test
