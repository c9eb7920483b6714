// `--engine auto` wakes a device to decode only if that pays, and such a device does not count.
#include "contract/engine_contract.hpp"
#include "gpu/automatic_engine.hpp"
#include "tests/gpu/small_jobs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>

namespace gpuhist::gpu {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t second_of_four_threads = 4'000'000;  // bytes, see make()

class idle_decoder final : public frame_decoder {
 public:
  [[nodiscard]] limits max_job() const override { return {}; }
  void submit(frame_job&) override {}
  [[nodiscard]] frame_decoder_stats stats() const override { return {.failure = failure}; }

  std::string failure{};
};

// A device that decodes, and fails a test if it has to count.
class decoding_device final : public engine {
 public:
  explicit decoding_device(idle_decoder& decodes) : decodes_(decodes) {}

  [[nodiscard]] std::string_view name() const override { return "cuda"; }
  [[nodiscard]] const row_layout& layout() const override { return layout_; }
  void register_memory(std::span<std::byte>, std::shared_ptr<const void>) override { ++registrations; }
  void submit(counting_job& job) override {
    FAIL_CHECK("the device counts");
    job.on_complete(job, nullptr);
  }
  [[nodiscard]] frame_decoder* decoder() override { return &decodes_; }
  [[nodiscard]] engine_stats stats() const override {
    engine_stats made;
    made.device = "a device";
    made.decoded = decodes_.stats();
    return made;
  }

  std::atomic<int> registrations{0};

 private:
  idle_decoder& decodes_;
  row_layout layout_{contract::letters_partition()};
};

struct machine {
  std::atomic<std::uint64_t> read{0};
  idle_decoder decodes{};
  std::atomic<int> woken{0};
  decoding_device* device = nullptr;
  std::function<void()> before_waking = [] {};

  // Until `goes_on` is set.
  void wait_before_waking(std::promise<void>& goes_on, bool fails) {
    before_waking = [fails, waits = goes_on.get_future().share()] {
      waits.wait();
      if (fails) throw engine_error("no device");
    };
  }

  // A thread decodes 1 MB a second; a device is woken for more than a second of work.
  std::unique_ptr<automatic_engine> make(std::optional<std::uint64_t> bytes_in_all) {
    engine_request request{.counted = contract::letters_partition(),
                           .run = [](const std::function<void()>& task) { task(); },
                           .threads = 4,
                           .max_chunk = job_bytes,
                           .max_extents = 3,
                           .load = {.bytes_read = &read, .bytes_in_all = bytes_in_all},
                           .joins_waker = true};
    auto wake = [this]() -> std::unique_ptr<engine> {
      ++woken;
      before_waking();
      auto made = std::make_unique<decoding_device>(decodes);
      device = made.get();
      return made;
    };
    return std::make_unique<automatic_engine>(request,
                                              automatic_engine::settings{.wake = wake,
                                                                         .patience = 0ms,
                                                                         .max_device_bytes = std::uint64_t{1} << 40U,
                                                                         .worthwhile_decoding = 1s,
                                                                         .decoded_by_thread = 1e6,
                                                                         .worthwhile_frame = 1s,
                                                                         .text_by_thread = 1e6,
                                                                         .threads_of_frame = 2});
  }
};

frame_decoder* await_decoder(automatic_engine& of) {
  for (int i = 0; i < 10'000; ++i) {
    if (frame_decoder* const found = of.decoder()) return found;
    std::this_thread::sleep_for(1ms);
  }
  return nullptr;
}

TEST_CASE("a device is woken to decode if the host would take long for the compressed bytes that are left") {
  machine here;
  const auto under_test = here.make(2 * second_of_four_threads);
  CHECK(await_decoder(*under_test) == &here.decodes);
  CHECK(here.woken == 1);
  CHECK(under_test->stats().note == "a device was woken to decode");
}

TEST_CASE("if more was read than was expected, a device is woken once much is in excess, not for a little at the end") {
  machine here;
  const auto under_test = here.make(second_of_four_threads / 2);
  for (const std::uint64_t hundredths : {0U, 49U, 50U, 51U, 60U, 100U}) {
    CAPTURE(hundredths);
    here.read = second_of_four_threads * hundredths / 100;
    CHECK(under_test->decoder() == nullptr);
    CHECK(here.woken == 0);
  }
  here.read = second_of_four_threads * 3;
  CHECK(await_decoder(*under_test) == &here.decodes);
}

TEST_CASE("an engine reports that a device is being made ready, until it is ready or cannot be") {
  for (const bool fails : {false, true}) {
    machine here;
    std::promise<void> goes_on;
    here.wait_before_waking(goes_on, fails);
    const auto under_test = here.make(2 * second_of_four_threads);
    CHECK_FALSE(under_test->is_waking());
    CHECK(under_test->decoder() == nullptr);
    CHECK(under_test->is_waking());
    goes_on.set_value();
    for (int i = 0; i < 10'000 && under_test->is_waking(); ++i) std::this_thread::sleep_for(1ms);
    CHECK_FALSE(under_test->is_waking());
    CHECK((under_test->decoder() != nullptr) == !fails);
  }
}

TEST_CASE("who has one long frame is called when the device is awake, or cannot be woken") {
  constexpr std::uint64_t second_of_frame = 2'000'000;
  for (const bool fails : {false, true}) {
    machine here;
    std::promise<void> goes_on;
    here.wait_before_waking(goes_on, fails);
    const auto under_test = here.make(std::nullopt);
    std::atomic<int> called = 0;
    const auto call = [&] { ++called; };
    CHECK_FALSE(under_test->await_decoder(second_of_frame / 2, call));  // it is short
    CHECK(here.woken == 0);
    CHECK(under_test->await_decoder(2 * second_of_frame, call));
    CHECK(under_test->await_decoder(2 * second_of_frame, call));
    CHECK(called == 0);
    goes_on.set_value();
    for (int i = 0; i < 10'000 && called < 2; ++i) std::this_thread::sleep_for(1ms);
    CHECK(called == 2);
    CHECK(here.woken == 1);
    CHECK((under_test->decoder() != nullptr) == !fails);
    CHECK(under_test->await_decoder(2 * second_of_frame, call) == !fails);
    CHECK(called == (fails ? 2 : 3));
  }
}

TEST_CASE("if the size of the input is unknown, a device is woken once the host has decoded for long") {
  machine here;
  const auto unknown = here.make(std::nullopt);
  here.read = 2 * second_of_four_threads;
  CHECK(unknown->decoder() == nullptr);
  CHECK(here.woken == 0);
  here.read = 3 * second_of_four_threads;
  CHECK(await_decoder(*unknown) == &here.decodes);
}

TEST_CASE("no device is woken to decode little, what is nearly done, or an unknown amount at its begin") {
  machine here;
  const auto little = here.make(second_of_four_threads / 2);
  CHECK(little->decoder() == nullptr);
  const auto unknown = here.make(std::nullopt);
  CHECK(unknown->decoder() == nullptr);
  here.read = 3 * second_of_four_threads / 2;
  const auto nearly_done = here.make(2 * second_of_four_threads);
  CHECK(nearly_done->decoder() == nullptr);
  CHECK(here.woken == 0);
}

TEST_CASE("a device that was woken to decode leaves the counting to the host") {
  machine here;
  const auto under_test = here.make(2 * second_of_four_threads);
  REQUIRE(await_decoder(*under_test) != nullptr);
  CHECK(under_test->counts_here());
  const auto memory = memory_for(20, contract::letters_partition().classes);
  for (std::uint32_t i = 0; i < memory.size(); ++i) {
    counting_job& job = memory[i]->prepare(contract::random_bytes(job_bytes, i), job_extents());
    job.count_here = i % 2 == 0;
    under_test->submit(job);
  }
  for (std::uint32_t i = 0; i < memory.size(); ++i) {
    const auto expected =
        contract::count_obviously(contract::random_bytes(job_bytes, i), job_extents(), contract::letters_partition());
    CHECK(std::ranges::equal(memory[i]->wait(), expected));
  }
}

TEST_CASE("memory that is registered after a device is awake is registered with the device") {
  machine here;
  const auto under_test = here.make(2 * second_of_four_threads);
  REQUIRE(await_decoder(*under_test) != nullptr);
  under_test->register_memory({}, nullptr);
  CHECK(here.device->registrations == 1);
}

TEST_CASE("the failure of a device that decoded is a warning") {
  machine here;
  const auto under_test = here.make(2 * second_of_four_threads);
  REQUIRE(await_decoder(*under_test) != nullptr);
  here.decodes.failure = "device 0 failed";
  CHECK(under_test->stats().warning == "device 0 failed; its frames were decoded by the host");
}

}  // namespace
}  // namespace gpuhist::gpu
