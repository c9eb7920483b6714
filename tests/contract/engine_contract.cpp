#include "contract/engine_contract.hpp"

#include "tests/support/campaign.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <random>
#include <string_view>
#include <utility>

namespace gpuhist::gpu::contract {
namespace {

// more than a counter of 16 bits can count
const std::size_t largest = test::unless_sampled<std::size_t>((1U << 20U) + 3, 70'003);  // NOLINT(cert-err58-cpp)
const std::array<std::size_t, 17> sizes{0, 1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 4095, 4096, 4097, largest};

/// All of them, or a few in a sample.
template <class Value>
std::vector<Value> sampled(std::vector<Value> all) {
  if (test::campaign_size() != test::campaign::sample) return all;
  std::vector<Value> few;
  for (std::size_t i = 0; i < all.size(); i += 4) few.push_back(std::move(all[i]));
  return few;
}

struct bench {
  std::unique_ptr<job_memory> memory;  // outlives the engine
  std::unique_ptr<engine> under_test;
};

engine_request request_for(const row_layout& columns, std::size_t max_extents) {
  return {.counted = columns.counted,
          .pairs = columns.pairs,
          .run = [](const std::function<void()>& task) { task(); },
          .threads = 1,
          .streams = 0,
          .max_chunk = static_cast<std::uint32_t>(largest + 64),
          .max_extents = static_cast<std::uint32_t>(max_extents)};
}

bench make_bench(const engine_maker& make, const row_layout& columns, std::size_t max_extents) {
  bench result;
  result.memory = std::make_unique<job_memory>(largest, max_extents, std::max<std::size_t>(256, columns.columns()));
  result.under_test = make(request_for(columns, max_extents));
  if (result.under_test) result.under_test->register_memory(result.memory->all(), nullptr);
  return result;
}

void check_rows(const bench& at, std::span<const std::byte> bytes, std::span<const extent> extents,
                std::size_t offset = 0) {
  CAPTURE(bytes.size());
  CAPTURE(extents.size());
  CAPTURE(offset);
  const row_layout& columns = at.under_test->layout();
  counting_job& job = at.memory->prepare(bytes, extents, offset);
  job.rows = job.rows.first(extents.size() * columns.columns());
  at.under_test->submit(job);
  const auto rows = at.memory->wait().first(extents.size() * columns.columns());
  const auto expected = count_obviously(bytes, extents, columns);
  CHECK(std::equal(rows.begin(), rows.end(), expected.begin(), expected.end()));
  CHECK(at.memory->answers() == 1);
}

extent whole(std::size_t size) { return {.begin = 0, .end = static_cast<std::uint32_t>(size)}; }

// `count` extents of random sizes, some empty, with gaps of random sizes or none.
std::vector<extent> random_extents(std::size_t count, std::size_t size, bool gaps, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::uint32_t> cuts(2 * count);
  for (auto& cut : cuts) cut = static_cast<std::uint32_t>(random() % (size + 1));
  std::sort(cuts.begin(), cuts.end());
  std::vector<extent> result;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t begin = gaps || i == 0 ? cuts[2 * i] : result.back().end;
    result.push_back({.begin = begin, .end = random() % 8 == 0 ? begin : cuts[2 * i + 1]});
  }
  return result;
}

}  // namespace

struct job_memory::state {
  std::size_t extents_at;  // in the storage: bytes, then extents, then rows
  std::size_t rows_at;
  std::size_t counters;
  std::vector<std::byte> storage;
  counting_job job;
  std::mutex mutex;
  std::condition_variable answered;
  unsigned answers = 0;
  std::exception_ptr failure;
};

job_memory::job_memory(std::size_t max_bytes, std::size_t max_extents, std::size_t classes)
    : state_(std::make_unique<state>()) {
  state_->extents_at = (max_bytes + 128) / 64 * 64;
  state_->rows_at = state_->extents_at + (max_extents * sizeof(extent) + 63) / 64 * 64;
  state_->counters = max_extents * classes;
  state_->storage.resize(state_->rows_at + state_->counters * sizeof(std::uint32_t));
}

job_memory::~job_memory() = default;

std::span<std::byte> job_memory::all() const { return state_->storage; }

counting_job& job_memory::prepare(std::span<const std::byte> bytes, std::span<const extent> extents,
                                  std::size_t offset) {
  std::byte* base = state_->storage.data();
  auto* rows = reinterpret_cast<std::uint32_t*>(base + state_->rows_at);
  std::fill_n(rows, state_->counters, 0xdeadbeefU);
  if (!bytes.empty()) std::memcpy(base + offset, bytes.data(), bytes.size());
  if (!extents.empty()) std::memcpy(base + state_->extents_at, extents.data(), extents.size_bytes());
  const std::lock_guard lock(state_->mutex);
  state_->answers = 0;
  state_->failure = nullptr;
  state_->job = {.bytes = {base + offset, bytes.size()},
                 .extents = {reinterpret_cast<const extent*>(base + state_->extents_at), extents.size()},
                 .rows = {rows, state_->counters},
                 .on_complete = [completed = state_.get()](counting_job&, std::exception_ptr failure) {
                   const std::lock_guard guard(completed->mutex);
                   ++completed->answers;
                   completed->failure = std::move(failure);  // the waiting thread has the last reference
                   completed->answered.notify_all();
                 }};
  return state_->job;
}

std::span<const std::uint32_t> job_memory::wait() {
  std::unique_lock lock(state_->mutex);
  state_->answered.wait(lock, [&] { return state_->answers != 0; });
  if (state_->failure) std::rethrow_exception(state_->failure);
  return state_->job.rows;
}

unsigned job_memory::answers() const {
  const std::lock_guard lock(state_->mutex);
  return state_->answers;
}

namespace {

void count_pairs_obviously(std::span<const std::byte> bytes, const extent& part, const row_layout& columns,
                           std::uint32_t* row) {
  const std::size_t classes = columns.pairs->classes;
  const auto class_at = [&](std::size_t at) -> std::uint32_t {
    return columns.pairs->class_of[std::to_integer<std::size_t>(bytes[at])];
  };
  for (std::size_t at = part.begin; at + 1 < part.end; ++at) {
    ++row[columns.counted.classes + class_at(at) * classes + class_at(at + 1)];
  }
  if (part.size() == 0) return;
  row[columns.counted.classes + classes * classes] = 65536 + class_at(part.end - 1) * 256 + class_at(part.begin);
}

// Classes of pairs of each number of classes that kernels treat differently, scattered over all byte values.
std::vector<row_layout> sample_pair_layouts() {
  std::vector<row_layout> result{{letters_partition(), letters_partition()}, {partition::identity(), partition{}}};
  for (const unsigned classes : {2U, 7U, 8U, 9U, 16U, 17U, 31U, 32U}) {
    std::mt19937 random(classes);
    partition scattered{.class_of = {}, .classes = static_cast<std::uint16_t>(classes)};
    for (auto& class_number : scattered.class_of) class_number = static_cast<std::uint8_t>(random() % classes);
    result.emplace_back(classes % 2 == 0 ? partition::identity() : letters_partition(), scattered);
  }
  return result;
}

}  // namespace

std::vector<std::uint32_t> count_obviously(std::span<const std::byte> bytes, std::span<const extent> extents,
                                           const row_layout& columns) {
  std::vector<std::uint32_t> rows(extents.size() * columns.columns());
  for (std::size_t i = 0; i < extents.size(); ++i) {
    std::uint32_t* const row = rows.data() + i * columns.columns();
    for (std::size_t at = extents[i].begin; at < extents[i].end; ++at) {
      ++row[columns.counted.class_of[std::to_integer<std::size_t>(bytes[at])]];
    }
    if (columns.pairs) count_pairs_obviously(bytes, extents[i], columns, row);
  }
  return rows;
}

std::vector<std::byte> random_bytes(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> result(size);
  for (auto& value : result) value = static_cast<std::byte>(random());
  return result;
}

std::vector<std::byte> text_bytes(std::size_t size, std::uint32_t seed) {
  static constexpr std::string_view letters = "etaoin shrdlu cmfwyp vbgkjqxz\nETA 0123456789.,:;[]{}";
  std::mt19937 random(seed);
  std::vector<std::byte> result(size);
  // the smaller of two random numbers: common letters are first in the list
  for (auto& value : result) {
    value = static_cast<std::byte>(letters[std::min(random() % letters.size(), random() % letters.size())]);
  }
  return result;
}

partition letters_partition() {
  partition result{.class_of = {}, .classes = 9};
  result.class_of.fill(8);
  constexpr std::string_view bounds = "adehilmpqtuxyz";
  for (std::size_t group = 0; group < 7; ++group) {
    for (char letter = bounds[2 * group]; letter <= bounds[2 * group + 1]; ++letter) {
      result.class_of[static_cast<unsigned char>(letter)] = static_cast<std::uint8_t>(group);
    }
  }
  result.class_of['\n'] = 7;
  return result;
}

std::vector<named_partition> sample_partitions() {
  std::vector<named_partition> result{{.name = "one class", .value = {}},
                                      {.name = "letters", .value = letters_partition()},
                                      {.name = "identity", .value = partition::identity()}};
  partition ends{.class_of = {}, .classes = 3};
  ends.class_of[0] = 1;
  ends.class_of[255] = 2;
  result.push_back({.name = "the first and the last value", .value = ends});
  partition vowels{.class_of = {}, .classes = 2};
  for (const char letter : std::string_view("aeiouAEIOU")) vowels.class_of[static_cast<unsigned char>(letter)] = 1;
  result.push_back({.name = "single values", .value = vowels});
  for (const unsigned runs : {2U, 3U, 12U, 13U, 14U, 24U, 25U, 26U, 60U}) {  // ranges of random classes
    std::mt19937 random(runs);
    partition ranges{.class_of = {}, .classes = static_cast<std::uint16_t>(std::max(2U, runs / 2))};
    for (std::size_t value = 0; value < 256; ++value) {
      const bool cut = value % (256U / runs) == 0;
      ranges.class_of[value] =
          cut || value == 0 ? static_cast<std::uint8_t>(random() % ranges.classes) : ranges.class_of[value - 1];
    }
    result.push_back({.name = std::to_string(runs) + " ranges", .value = ranges});
  }
  for (const unsigned classes : {2U, 7U, 100U, 255U}) {
    std::mt19937 random(classes);
    partition scattered{.class_of = {}, .classes = static_cast<std::uint16_t>(classes)};
    for (auto& class_number : scattered.class_of) class_number = static_cast<std::uint8_t>(random() % classes);
    result.push_back({.name = std::to_string(classes) + " scattered classes", .value = scattered});
  }
  return result;
}

void rows_equal_the_simple_loop_for_all_sizes(const engine_maker& make) {
  for (const auto& counted : {letters_partition(), partition::identity()}) {
    const bench at = make_bench(make, counted, 1);
    if (!at.under_test) continue;
    for (const std::size_t size : sizes) {
      const std::array extents{whole(size)};
      check_rows(at, random_bytes(size, 1), extents, size % 64);
      check_rows(at, text_bytes(size, 2), extents);
      for (const unsigned letter : {0x65U, 0U, 255U}) {
        check_rows(at, std::vector(size, static_cast<std::byte>(letter)), extents, 1);
      }
    }
  }
}

void rows_equal_the_simple_loop_for_all_extents(const engine_maker& make) {
  for (const auto& counted : {letters_partition(), partition::identity()}) {
    const bench at = make_bench(make, counted, 2000);
    if (!at.under_test) continue;
    check_rows(at, text_bytes(1000, 1), {});
    const std::array empty_extents{extent{0, 0}, extent{0, 0}, extent{7, 7}, extent{1000, 1000}};
    check_rows(at, text_bytes(1000, 1), empty_extents);
    const std::array within_a_vector{extent{1, 3}, extent{3, 4}, extent{17, 31}, extent{31, 33}, extent{40, 69}};
    check_rows(at, random_bytes(1000, 1), within_a_vector, 5);
    for (const std::size_t count : {1U, 2U, 3U, 10U, 500U, 2000U}) {
      for (const bool gaps : {false, true}) {
        const auto seed = static_cast<std::uint32_t>(count);
        check_rows(at, random_bytes(largest, seed), random_extents(count, largest, gaps, seed), 3);
        check_rows(at, text_bytes(3000, seed), random_extents(count, 3000, gaps, seed));
      }
    }
  }
}

void rows_equal_the_simple_loop_for_all_partitions(const engine_maker& make) {
  for (const auto& counted : sampled(sample_partitions())) {
    CAPTURE(counted.name);
    const bench at = make_bench(make, counted.value, 3);
    if (!at.under_test) continue;
    for (const std::size_t size : {100U, 70'000U}) {
      const auto extents = random_extents(3, size, true, 9);
      check_rows(at, random_bytes(size, 3), extents);
      check_rows(at, text_bytes(size, 4), extents);
    }
  }
}

void pairs_equal_the_simple_loop(const engine_maker& make) {
  for (const row_layout& columns : sampled(sample_pair_layouts())) {
    CAPTURE(columns.pair_classes());
    const bench at = make_bench(make, columns, 300);
    if (!at.under_test) continue;
    REQUIRE(at.under_test->layout() == columns);
    check_rows(at, text_bytes(1000, 1), {});
    const std::array short_extents{extent{0, 0}, extent{0, 1}, extent{1, 3}, extent{3, 3}, extent{4, 5}, extent{5, 69}};
    check_rows(at, random_bytes(1000, 1), short_extents, 5);
    for (const std::size_t size : {0U, 1U, 2U, 3U, 63U, 64U, 65U, 4097U, 70'001U}) {
      const std::array all{whole(size)};
      check_rows(at, random_bytes(size, 1), all, size % 64);
      check_rows(at, text_bytes(size, 2), all);
      check_rows(at, std::vector(size, std::byte{0x65}), all, 1);
    }
    for (const bool gaps : {false, true}) {
      check_rows(at, random_bytes(largest, 3), random_extents(300, largest, gaps, 3), 3);
      check_rows(at, text_bytes(3000, 4), random_extents(300, 3000, gaps, 4));
    }
  }
}

void jobs_in_flight_are_completed_once(const engine_maker& make) {
  constexpr std::size_t size = 20'000;
  std::vector<std::unique_ptr<job_memory>> memory(16);  // outlives the engine
  for (auto& each : memory) each = std::make_unique<job_memory>(size, 5, 256);
  const auto under_test = make(request_for(letters_partition(), 5));
  for (const auto& each : memory) under_test->register_memory(each->all(), nullptr);
  const std::size_t classes = under_test->layout().counted.classes;
  for (std::uint32_t round = 0; round < 5; ++round) {
    for (std::uint32_t i = 0; i < memory.size(); ++i) {
      counting_job& job = memory[i]->prepare(random_bytes(size, i + round), random_extents(5, size, true, i + round));
      job.rows = job.rows.first(5 * classes);
      under_test->submit(job);
    }
    for (std::uint32_t i = 0; i < memory.size(); ++i) {
      const auto rows = memory[i]->wait();
      const auto expected = count_obviously(random_bytes(size, i + round), random_extents(5, size, true, i + round),
                                            under_test->layout().counted);
      CHECK(std::equal(rows.begin(), rows.end(), expected.begin(), expected.end()));
    }
  }
  for (const auto& each : memory) CHECK(each->answers() == 1);
  CHECK(under_test->stats().jobs == 5 * memory.size());
  CHECK(under_test->stats().bytes == 5 * memory.size() * size);
  CHECK(under_test->stats().busy_seconds > 0);
}

void an_invalid_job_fails_alone(const engine_maker& make) {
  const bench at = make_bench(make, letters_partition(), 3);
  const auto bytes = text_bytes(100, 1);
  const std::vector<std::vector<extent>> wrong{{{0, 101}}, {{5, 4}}, {{0, 10}, {9, 20}}};
  for (const auto& extents : wrong) {
    counting_job& job = at.memory->prepare(bytes, extents);
    job.rows = job.rows.first(extents.size() * at.under_test->layout().counted.classes);
    at.under_test->submit(job);
    CHECK_THROWS_AS(at.memory->wait(), engine_error);
  }
  const std::array good{whole(100)};
  at.under_test->submit(at.memory->prepare(bytes, good));  // rows of the wrong size
  CHECK_THROWS_AS(at.memory->wait(), engine_error);
  check_rows(at, bytes, good);
}

void a_job_is_counted_within_submit_if_the_engine_counts_here(const engine_maker& make) {
  const bench at = make_bench(make, letters_partition(), 3);
  const auto bytes = text_bytes(100, 1);
  const std::array extents{extent{0, 40}, extent{50, 100}};
  const auto expected = count_obviously(bytes, extents, at.under_test->layout().counted);
  for (const bool requested : {false, true, false}) {
    counting_job& job = at.memory->prepare(bytes, extents);
    job.rows = job.rows.first(expected.size());
    job.count_here = requested;
    at.under_test->submit(job);
    if (requested && at.under_test->counts_here()) CHECK(at.memory->answers() == 1);
    CHECK(std::ranges::equal(at.memory->wait().first(expected.size()), expected));
    CHECK(at.memory->answers() == 1);
  }
}

void keeps_the_contract(const engine_maker& make) {
  rows_equal_the_simple_loop_for_all_sizes(make);
  rows_equal_the_simple_loop_for_all_extents(make);
  rows_equal_the_simple_loop_for_all_partitions(make);
  pairs_equal_the_simple_loop(make);
  jobs_in_flight_are_completed_once(make);
  an_invalid_job_fails_alone(make);
  a_job_is_counted_within_submit_if_the_engine_counts_here(make);
}

void completes_jobs_in_flight_before_destruction(const engine_maker& make) {
  const std::size_t size = std::min<std::size_t>(200'000, largest);
  const std::array extents{extent{0, 40'001}, extent{50'000, static_cast<std::uint32_t>(size)}};
  const auto bytes = random_bytes(size, 5);
  const auto expected = count_obviously(bytes, extents, partition::identity());
  for (unsigned round = 0; round < 8; ++round) {
    CAPTURE(round);
    std::vector<std::shared_ptr<job_memory>> memory(1 + 3 * round);
    for (auto& each : memory) each = std::make_shared<job_memory>(size, extents.size(), 256);
    auto under_test = make(request_for(partition::identity(), extents.size()));
    for (const auto& each : memory) under_test->register_memory(each->all(), each);
    for (const auto& each : memory) under_test->submit(each->prepare(bytes, extents));
    if (round % 2 != 0) memory.front()->wait();
    under_test.reset();
    for (const auto& each : memory) {
      CHECK(each->answers() == 1);
      CHECK(std::ranges::equal(each->wait(), expected));
      std::ranges::fill(each->all(), std::byte{});
    }
  }
}

}  // namespace gpuhist::gpu::contract
