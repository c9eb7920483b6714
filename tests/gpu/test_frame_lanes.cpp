// The decoder of zstd frames and gzip members over a fake runtime: every job is completed once, with the counts of its
// text, as rejected or with the error of the device, on one and several devices, with little memory, and whichever CUDA
// call fails.
#include "contract/engine_contract.hpp"
#include "gpu/cuda/frames/frame_lanes.hpp"
#include "gpu/cuda/fused_runtime.hpp"
#include "support/failing_runtime.hpp"
#include "support/fake_runtime.hpp"
#include "tests/gpu/frame_groups.hpp"
#include "tests/gpu/stepped_groups.hpp"
#include "tests/support/campaign.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>

namespace gpuhist::gpu::cuda::frames {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
constexpr std::uint64_t little_memory = 2 * mib;  // with more, the fake runtime fills more
constexpr result invalid_value = 1;               // an error of the call only
constexpr result launch_failure = 719;            // an error of the device
constexpr std::size_t one_piece = std::size_t{1} << 20U;

// Frames with and without checksum and content size, of text, noise and one repeated byte; for every third seed,
// members of gzip.
test::decoder_sample several_frames(std::uint32_t seed) {
  if (seed % 3 == 1) {
    return test::gzip_sample_builder("several members")
        .member(test::sample_text(5000 + 97 * seed, seed))
        .member({}, {.name = "empty"})
        .member(test::noise(300, seed), {.extra = "ab"})
        .block(test::byte_vector(9000, std::byte{'='}))
        .member(test::sample_text(1, seed), {.level = 9})
        .build();
  }
  return test::zstd_sample_builder("several frames")
      .frame(test::sample_text(5000 + 97 * seed, seed))
      .skippable(33)
      .frame(test::noise(300, seed), {.checksum = false})
      .frame({})
      .frame(test::byte_vector(9000, std::byte{'='}), {.content_size = false})
      .frame(test::sample_text(1, seed), {.level = 19})
      .build();
}

// The last frame has a wrong checksum.
test::decoder_sample damaged_frames(std::uint32_t seed) {
  if (seed % 2 == 1) {
    test::decoder_sample sample = test::gzip_sample_builder("damaged").member(test::sample_text(3000, seed)).build();
    *(sample.packed.end() - 8) ^= std::byte{1};
    return sample;
  }
  test::decoder_sample sample = test::zstd_sample_builder("damaged")
                                    .frame(test::sample_text(700, seed))
                                    .frame(test::sample_text(3000, seed + 1))
                                    .build();
  sample.packed.back() ^= std::byte{1};
  return sample;
}

// The devices of a machine. Destroyed after the decoder and the groups, which use it.
struct machine {
  std::shared_ptr<ledger> seen = std::make_shared<ledger>();
  std::unique_ptr<runtime> owned;
  runtime* fake = nullptr;  // without failures
  std::vector<std::unique_ptr<fused_runtime>> fuses;
  std::vector<frame_device> devices;

  explicit machine(unsigned number = 1, const std::shared_ptr<planned_failure>& plan = nullptr,
                   std::size_t memory_bytes = std::size_t{1} << 30U) {
    device_properties properties = fake_device();
    properties.memory_bytes = memory_bytes;
    owned = make_fake_runtime(seen, std::vector<device_properties>(number, properties));
    fake = owned.get();
    if (plan) owned = make_failing_runtime(std::move(owned), plan);
    for (unsigned i = 0; i < number; ++i) {
      fuses.push_back(std::make_unique<fused_runtime>(*owned));
      devices.push_back({.api = *fuses.back(), .number = static_cast<int>(i), .label = "device " + std::to_string(i)});
    }
  }

  [[nodiscard]] std::unique_ptr<frame_lanes> decoder(std::uint64_t memory = little_memory,
                                                     const partition& counted = partition::identity()) const {
    return std::make_unique<frame_lanes>(devices, memory, counted);
  }

  [[nodiscard]] std::unique_ptr<frame_group> group(const test::decoder_sample& sample,
                                                   std::size_t piece_bytes = one_piece) const {
    return std::make_unique<frame_group>(*fake, sample, piece_bytes);
  }
};

using frame_group_list = std::vector<std::unique_ptr<frame_group>>;

// Kernels wait until the gate is opened.
class gate {
 public:
  void open() {
    is_open_ = true;
    is_open_.notify_all();
  }
  void pass() {
    ++passed_;
    is_open_.wait(false);
  }
  [[nodiscard]] unsigned passed() const { return passed_; }

 private:
  std::atomic<bool> is_open_ = false;
  std::atomic<unsigned> passed_ = 0;
};

TEST_CASE("a group in pieces of any size has the counts of its text") {
  const machine fake;
  {
    const auto decoder = fake.decoder();
    const test::decoder_sample sample = several_frames(3);
    for (const std::size_t piece_bytes : {std::size_t{16}, std::size_t{64}, std::size_t{4096}, one_piece}) {
      CAPTURE(piece_bytes);
      const auto group = fake.group(sample, piece_bytes);
      decoder->submit(group->prepare());
      group->wait();
      group->check_decoded();
    }
  }
  CHECK(fake.seen->misuses() == std::vector<std::string>{});
}

namespace {

// It is compressed to less than a quarter, as the memory of a lane requires.
test::byte_vector repeated_text(std::size_t bytes) {
  const test::byte_vector once = test::sample_text(mib);
  test::byte_vector all;
  while (all.size() < bytes) all.insert(all.end(), once.begin(), once.end());
  all.resize(bytes);
  return all;
}

}  // namespace

TEST_CASE("a long frame is decoded in parts, and its checksum compared") {
  constexpr std::uint64_t memory_for_parts = 800 * mib;
  const machine fake;
  {
    const auto decoder = fake.decoder(memory_for_parts);
    for (const std::size_t bytes : {2 * mib, 5 * mib + 77, 34 * mib + 77}) {
      for (const bool has_checksum : {false, true}) {
        CAPTURE(bytes);
        CAPTURE(has_checksum);
        test::decoder_sample sample = test::zstd_sample_builder("long")
                                          .frame(test::sample_text(300))
                                          .frame(repeated_text(bytes), {.checksum = has_checksum})
                                          .build();
        const auto intact = fake.group(sample);
        decoder->submit(intact->prepare());
        intact->wait();
        intact->check_decoded();
        if (!has_checksum) continue;
        sample.packed.back() ^= std::byte{1};
        const auto damaged = fake.group(sample);
        decoder->submit(damaged->prepare());
        damaged->wait();
        damaged->check_rejected();
      }
    }
  }
  CHECK(fake.seen->misuses() == std::vector<std::string>{});
}

TEST_CASE(
    "a frame in steps of any blocks has the counts of its text, and is not decoded if it is damaged or steps are "
    "missing") {
  constexpr std::uint64_t memory_for_steps = 800 * mib;
  const machine fake;
  {
    const auto decoder = fake.decoder(memory_for_steps);
    check_steps(*decoder, *fake.fake, test::unless_sampled(40U, 8U), 900'000);
    CHECK(decoder->stats().rejected_groups > 0);
  }
  CHECK(fake.seen->misuses() == std::vector<std::string>{});
}

TEST_CASE("rows have the classes of the partition") {
  const machine fake;
  for (const auto& each : contract::sample_partitions()) {
    CAPTURE(each.name);
    const auto decoder = fake.decoder(little_memory, each.value);
    frame_group group(*fake.fake, several_frames(4), one_piece, each.value);
    decoder->submit(group.prepare());
    group.wait();
    group.check_decoded();
  }
}

TEST_CASE("frames without text are decoded, and count nothing") {
  const machine fake;
  const auto decoder = fake.decoder();
  const auto group = fake.group(test::zstd_sample_builder("empty").frame({}).frame({}, {.checksum = false}).build());
  decoder->submit(group->prepare());
  group->wait();
  group->check_decoded();
}

TEST_CASE("groups that several threads submit are completed once, each with its own counts, and summed in statistics") {
  constexpr std::uint32_t threads = 4;
  constexpr std::uint32_t groups_of_thread = 20;
  const machine fake;
  frame_group_list groups;
  for (std::uint32_t i = 0; i < threads * groups_of_thread; ++i) {
    groups.push_back(fake.group(several_frames(i), i % 2 == 0 ? 64 : one_piece));
  }
  const auto decoder = fake.decoder();
  {
    std::vector<std::jthread> submitters;
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
      submitters.emplace_back([&, thread] {
        for (std::uint32_t i = 0; i < groups_of_thread; ++i) {
          decoder->submit(groups[thread * groups_of_thread + i]->prepare());
        }
      });
    }
  }
  std::uint64_t text = 0;
  std::uint64_t frames = 0;
  for (const auto& each : groups) {
    each->wait();
    each->check_decoded();
    text += each->text_bytes();
    frames += each->frames();
  }
  for (const auto& each : groups) CHECK(each->answers() == 1);
  const frame_decoder_stats stats = decoder->stats();
  CHECK(stats.groups == groups.size());
  CHECK(stats.frames == frames);
  CHECK(stats.text_bytes == text);
  CHECK(stats.rejected_groups == 0);
  CHECK(stats.busy_seconds > 0);
}

TEST_CASE("a text that is divided at numbers of bytes or lines has a row and a last byte for each slice") {
  std::mt19937 random(1);  // NOLINT(*-msc51-cpp): the same texts on every run
  machine of;
  const auto decoder = of.decoder(32 * mib);
  for (unsigned round = 0; round < 60; ++round) {
    CAPTURE(round);
    frame_group_list groups;
    frame_group_list damaged;
    for (auto left = static_cast<std::uint32_t>(1 + random() % 6); left > 0; --left) {
      const bool is_damaged = random() % 5 == 0;
      const test::decoder_sample sample = is_damaged ? damaged_frames(left) : frames_to_divide(random);
      frame_group_list& to = is_damaged ? damaged : groups;
      to.push_back(of.group(sample));
      if (random() % 4 != 0) to.back()->divide(random_cuts(random, sample.plain, 40));
      decoder->submit(to.back()->prepare());
    }
    for (const auto& each : groups) each->wait();
    for (const auto& each : damaged) each->wait();
    for (const auto& each : groups) each->check_decoded();
    for (const auto& each : damaged) each->check_rejected();
  }
}

// Of a few classes, with memory for the rows of all groups, or of one.
TEST_CASE(
    "units are those of a simple loop, however little memory there is for their rows, and all of it is returned") {
  std::mt19937 random(1);  // NOLINT(*-msc51-cpp): the same texts on every run
  const unsigned rounds = test::unless_sampled(60U, 15U);
  unsigned refusals = 0;
  unsigned decoded = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const machine of(1 + random() % 2);
    auto classes = classes_of_lines(std::string_view("x abcdefgh").substr(0, 1 + random() % 10));
    if (random() % 2 == 0) classes.condition = longer_than(4);
    row_room room(random() % 2 == 0 ? 100 : 1);
    {
      const auto decoder = of.decoder(16 * mib);
      frame_group_list groups;
      for (auto left = 2 + random() % 12; left > 0; --left) {
        groups.push_back(of.group(frames_to_divide(random)));
        groups.back()->measure(classes, room);
      }
      for (const auto& each : groups) decoder->submit(each->prepare());
      for (const auto& each : groups) each->wait();
      for (const auto& each : groups) {
        CHECK(each->answers() == 1);
        if (!each->is_decoded()) continue;  // more rows than the memory of a batch
        each->check_decoded();
        ++decoded;
      }
    }
    CHECK(room.is_all_free());
    refusals += room.refusals();
    CHECK(of.seen->misuses() == std::vector<std::string>{});
  }
  CHECK(refusals > 0);
  CHECK(60 * decoded > 200 * rounds);
}

TEST_CASE("a group whose rows never have memory is rejected, and not the groups that are decoded with it") {
  const machine of;
  const auto classes = classes_of_lines("x");
  row_room none(0);
  row_room enough(8);
  const auto decoder = of.decoder(16 * mib);
  frame_group_list groups;
  for (std::uint32_t i = 0; i < 8; ++i) {
    groups.push_back(of.group(several_frames(i)));
    groups.back()->measure(classes, i % 2 == 0 ? none : enough);
    decoder->submit(groups.back()->prepare());
  }
  for (const auto& each : groups) each->wait();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i % 2 == 0) CHECK_FALSE(groups[i]->is_decoded());
    if (i % 2 != 0) groups[i]->check_decoded();
  }
  CHECK(decoder->stats().rejected_groups == 4);
}

TEST_CASE("a rejected frame rejects its group, and not the groups that are decoded with it") {
  constexpr std::uint32_t number = 40;
  const machine fake;
  gate kernels;
  fake.seen->before_kernel = [&](int) { kernels.pass(); };
  {
    frame_group_list groups;
    for (std::uint32_t i = 0; i < number; ++i) {
      groups.push_back(fake.group(i % 3 == 0 ? damaged_frames(i) : several_frames(i)));
    }
    const auto decoder = fake.decoder();
    for (const auto& each : groups) decoder->submit(each->prepare());
    kernels.open();  // the lanes took some groups, the others were submitted since
    for (const auto& each : groups) each->wait();
    for (std::uint32_t i = 0; i < number; ++i) {
      CAPTURE(i);
      if (i % 3 == 0) {
        groups[i]->check_rejected();
      } else {
        groups[i]->check_decoded();
      }
    }
    CHECK(kernels.passed() < number);  // several groups were decoded together
    CHECK(decoder->stats().rejected_groups == (number + 2) / 3);
    CHECK(decoder->stats().groups == number - (number + 2) / 3);
  }
  CHECK(fake.seen->misuses() == std::vector<std::string>{});
}

TEST_CASE("a decoder that is destroyed without a job leaves nothing behind") {
  const auto seen = std::make_shared<ledger>();
  {
    machine fake(2);
    fake.seen->before_kernel = [](int) { FAIL("a kernel without a job"); };
    static_cast<void>(fake.decoder());
    fake.owned.reset();
    CHECK(fake.seen->misuses() == std::vector<std::string>{});
  }
}

// ---- memory

TEST_CASE("with any memory the limits and the memory that is used are within it, or it is refused") {
  for (const std::size_t of_device : {std::size_t{512}, std::size_t{300}, std::size_t{100}, std::size_t{70}}) {
    for (const std::uint64_t wanted : {64U, 128U, 512U}) {
      if (wanted == 128 && test::campaign_size() == test::campaign::sample) continue;
      CAPTURE(of_device);
      CAPTURE(wanted);
      const std::uint64_t allowed = std::min<std::uint64_t>(of_device, wanted) * mib;
      const machine fake(1, nullptr, allowed);  // an allocation beyond it fails
      frame_decoder::limits most;
      {
        const auto decoder = fake.decoder(wanted * mib);
        most = decoder->max_job();
        const auto group = fake.group(several_frames(1));
        decoder->submit(group->prepare());
        group->wait();
        group->check_decoded();
      }
      CHECK(most.text_bytes >= allowed / 32);
      CHECK(most.text_bytes <= allowed / 8);
      CHECK(most.compressed_bytes >= most.text_bytes / 8);
      CHECK(fake.seen->misuses() == std::vector<std::string>{});
    }
  }
}

TEST_CASE("the memory of a decoder is at most what was allowed") {
  for (const std::uint64_t allowed : {64 * mib, 256 * mib}) {
    CAPTURE(allowed);
    const machine exact(1, nullptr, allowed);
    const machine roomy(1, nullptr, 2 * allowed);
    CHECK(exact.decoder(allowed)->max_job().text_bytes == roomy.decoder(allowed)->max_job().text_bytes);
  }
}

TEST_CASE("a device with far too little memory is a shortage that names it, and leaves nothing behind") {
  machine fake(2, nullptr, mib);
  std::string error;
  try {
    static_cast<void>(fake.decoder(64 * mib));
  } catch (const memory_shortage& shortage) {
    error = shortage.what();
  }
  CAPTURE(error);
  CHECK(error.starts_with("device 0: allocating "));
  fake.owned.reset();
  CHECK(fake.seen->misuses() == std::vector<std::string>{});
}

// ---- failures

struct outcome {
  std::string failed_call;
  std::vector<std::string> errors;  // of the construction and of jobs
  std::size_t decoded = 0;
  std::size_t failed = 0;
  unsigned calls_after_failure = 0;
  std::vector<std::string> misuses;
};

constexpr std::size_t jobs_of_run = 6;

void collect(const frame_group_list& groups, planned_failure::kind kind, outcome& to) {
  for (const auto& each : groups) {
    try {
      each->wait();
      each->check_decoded();
      ++to.decoded;
    } catch (const engine_error& error) {
      to.errors.emplace_back(error.what());
      ++to.failed;
      if (kind == planned_failure::kind::once) each->reuse_memory();
    }
  }
  for (const auto& each : groups) CHECK(each->answers() == 1);
}

// Makes a decoder, submits six groups at once, and destroys everything.
outcome run_with(const std::shared_ptr<planned_failure>& plan, planned_failure::kind kind, unsigned devices) {
  outcome result;
  const auto classes = classes_of_lines("abc");
  row_room room(2);
  machine fake(devices, plan);
  fake.seen->may_be_lost = kind == planned_failure::kind::sticky;
  frame_group_list groups;
  for (std::uint32_t i = 0; i < jobs_of_run; ++i) groups.push_back(fake.group(several_frames(i), 4096));
  for (const auto& each : groups) each->measure(classes, room);
  try {
    const auto decoder = fake.decoder();
    for (const auto& each : groups) decoder->submit(each->prepare());
    collect(groups, kind, result);
  } catch (const engine_error& error) {
    result.errors.emplace_back(error.what());
  }
  result.failed_call = plan->failed_call();
  result.calls_after_failure = plan->calls_after_failure();
  if (kind == planned_failure::kind::sticky) {
    for (const auto& each : groups) each->leave_locked();
  } else {
    groups.clear();
  }
  fake.owned.reset();  // before the memory of the groups: what was queued still runs
  result.misuses = fake.seen->misuses();
  return result;
}

// Runs with every n until n is past the last call; a sample takes every 23rd.
unsigned for_every_call(planned_failure::kind kind, unsigned devices, void (*check)(const outcome&)) {
  const result code = kind == planned_failure::kind::once ? invalid_value : launch_failure;
  const unsigned step = test::unless_sampled(1U, 23U);
  for (unsigned n = 1;; n += step) {
    CAPTURE(n);
    const outcome ended = run_with(std::make_shared<planned_failure>(n, kind, code), kind, devices);
    CAPTURE(ended.failed_call);
    if (ended.failed_call.empty()) {
      CHECK(ended.decoded == jobs_of_run);
      return n;
    }
    check(ended);
  }
}

// Errors of releases are ignored. A lane without a job may fail to choose its device.
bool may_be_ignored(const std::string& call) {
  return call == "cudaFree" || call == "cudaStreamDestroy" || call == "cudaEventDestroy" ||
         call == "cudaHostUnregister" || call == "cudaSetDevice";
}

TEST_CASE(
    "whichever call of the decoder fails once, every job is completed once, exact or with an error that names it") {
  for (const unsigned devices : {1U, 2U}) {
    CAPTURE(devices);
    const unsigned calls = for_every_call(planned_failure::kind::once, devices, [](const outcome& ended) {
      CHECK(ended.misuses == std::vector<std::string>{});
      CHECK(ended.errors.empty() == (ended.decoded == jobs_of_run));
      if (may_be_ignored(ended.failed_call) && ended.decoded == jobs_of_run) return;
      REQUIRE(!ended.errors.empty());
      for (const std::string& error : ended.errors) {
        CAPTURE(error);
        CHECK(error == ended.errors.front());
        CHECK(error.starts_with("device "));
        CHECK(error.find(ended.failed_call) != std::string::npos);
        CHECK(error.find("fake error 1") != std::string::npos);
      }
    });
    CHECK(calls > 150 * devices);
  }
}

TEST_CASE("if a device fails at any call of the decoder, every job is completed once and no call follows") {
  for (const unsigned devices : {1U, 2U}) {
    CAPTURE(devices);
    const unsigned calls = for_every_call(planned_failure::kind::sticky, devices, [](const outcome& ended) {
      CHECK(ended.calls_after_failure == 0);
      CHECK(std::ranges::all_of(ended.misuses, is_left_on_the_device));
      CHECK((ended.decoded + ended.failed == jobs_of_run || !ended.errors.empty()));
      for (const std::string& error : ended.errors) {
        CHECK(error == ended.errors.front());
        CHECK(error.find("fake error 719") != std::string::npos);
      }
    });
    CHECK(calls > 150 * devices);
  }
}

void names_device_once(const std::string& failure) {
  CAPTURE(failure);
  CHECK(failure.starts_with("device "));
  const std::string device = failure.substr(0, failure.find(": ") + 2);  // "device 0: "
  CHECK(failure.find(device, device.size()) == std::string::npos);
}

// Two devices, one of which fails with a kernel. Returns whether the n-th call was one.
bool lose_one_of_two(unsigned n) {
  const auto plan = std::make_shared<planned_failure>(n, planned_failure::kind::sticky, launch_failure);
  machine fake(2, plan);
  fake.seen->may_be_lost = true;
  frame_group_list groups;
  for (std::uint32_t i = 0; i < 12; ++i) groups.push_back(fake.group(several_frames(i)));
  std::size_t failed = 0;
  std::size_t decoded_later = 0;
  bool reached = false;
  try {
    const auto decoder = fake.decoder();
    for (const auto& each : groups) {
      const bool was_lost = !plan->failed_call().empty();
      decoder->submit(each->prepare());
      try {
        each->wait();
        each->check_decoded();
        if (was_lost) ++decoded_later;
      } catch (const engine_error&) {
        ++failed;
      }
    }
    reached = plan->failed_call() == "cudaLaunchKernelExC";
    if (reached) names_device_once(decoder->stats().failure);
  } catch (const engine_error&) {
    reached = false;  // a call of the construction failed: how many there are before it depends on the threads
  }
  for (const auto& each : groups) each->leave_locked();
  fake.owned.reset();
  if (!reached) return false;
  for (const auto& each : groups) CHECK(each->answers() == 1);
  CHECK(failed == 1);
  CHECK(decoded_later > 0);
  CHECK(plan->calls_after_failure() == 0);
  return true;
}

TEST_CASE("after a failure of one of two devices the other decodes all later groups") {
  bool reached = false;
  const auto none = std::make_shared<planned_failure>(~0U, planned_failure::kind::sticky, launch_failure);
  unsigned first = 0;
  {
    const machine fake(2, none);
    const auto decoder = fake.decoder();
    first = none->calls();  // of the construction
  }
  for (unsigned n = first; !reached && n < first + 60; ++n) reached = lose_one_of_two(n);
  CHECK(reached);
}

}  // namespace
}  // namespace gpuhist::gpu::cuda::frames
