// The arrangement of jobs that are copied to a device together.
#include "gpu/cuda/batch.hpp"
#include "support/fake_runtime.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace gpuhist::gpu::cuda {
namespace {

constexpr std::size_t chunk = 4096;

struct chunks {
  std::vector<std::byte> memory;
  std::vector<std::vector<extent>> extents;
  std::vector<std::vector<std::uint32_t>> rows;
  std::vector<counting_job> jobs;

  explicit chunks(std::size_t count) : memory(count * chunk), extents(count), rows(count), jobs(count) {
    for (std::size_t i = 0; i < count; ++i) take(i, chunk, {{0, chunk}});
  }

  void take(std::size_t i, std::size_t bytes, std::vector<extent> parts) {
    extents[i] = std::move(parts);
    rows[i].assign(extents[i].size() * 256, 0);
    jobs[i].bytes = std::span<const std::byte>(memory).subspan(i * chunk, bytes);
    jobs[i].extents = extents[i];
    jobs[i].rows = rows[i];
  }
};

struct fixture {
  std::unique_ptr<runtime> api = make_fake_runtime(std::make_shared<ledger>());
  batch under_test{*api, 16 * chunk, 64, 0};
};

TEST_CASE_FIXTURE(fixture, "adjacent chunks are copied in one piece, in any order of arrival") {
  chunks data(4);
  for (const std::size_t i : {2U, 0U, 3U, 1U}) under_test.add(data.jobs[i]);
  under_test.arrange();
  REQUIRE(under_test.pieces().size() == 1);
  CHECK(under_test.pieces()[0].from == data.memory.data());
  CHECK(under_test.pieces()[0].size == 4 * chunk);
  CHECK(under_test.span_bytes() == 4 * chunk);
}

TEST_CASE_FIXTURE(fixture, "chunks that are not adjacent are separate pieces, each at a multiple of 256 bytes") {
  chunks data(5);
  data.take(0, 1000, {{0, 1000}});
  for (const std::size_t i : {0U, 1U, 4U}) under_test.add(data.jobs[i]);
  under_test.arrange();
  REQUIRE(under_test.pieces().size() == 3);
  for (const batch::piece& each : under_test.pieces()) CHECK(each.at % 256 == 0);
  CHECK(under_test.pieces()[1].at == 1024);
}

TEST_CASE_FIXTURE(fixture,
                  "extents are sorted and disjoint, and cover the same bytes on the device as in their chunk") {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    chunks data(8);
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < data.jobs.size(); ++i) {
      const auto size = static_cast<std::uint32_t>(random() % 3 == 0 ? random() % (chunk + 1) : chunk);
      const std::uint32_t middle = size / 2;
      data.take(i, size, {{0, middle / 2}, {middle, middle}, {middle, size}});
      if (random() % 4 != 0) order.push_back(i);
    }
    std::shuffle(order.begin(), order.end(), random);
    for (auto& each : data.memory) each = static_cast<std::byte>(random());

    under_test.clear();
    for (const std::size_t i : order) {
      REQUIRE(under_test.has_room_for(data.jobs[i]));
      under_test.add(data.jobs[i]);
    }
    under_test.arrange();
    std::vector<std::byte> device(batch::device_bytes(16 * chunk));
    for (const batch::piece& each : under_test.pieces()) {
      std::copy_n(each.from, each.size, device.begin() + each.at);
    }
    std::size_t next = 0;
    std::uint32_t covered = 0;
    for (const counting_job* job : under_test.jobs()) {
      for (const extent& part : job->extents) {
        const extent& on_device = under_test.extents()[next++];
        CHECK(on_device.begin >= covered);
        REQUIRE(on_device.size() == part.size());
        CHECK(std::equal(device.begin() + on_device.begin, device.begin() + on_device.end,
                         job->bytes.begin() + part.begin));
        covered = on_device.end;
      }
    }
    CHECK(next == under_test.extents().size());
    CHECK(under_test.span_bytes() >= covered);
  }
}

TEST_CASE_FIXTURE(fixture, "every job gets the rows of its extents, folded to the requested classes") {
  partition halves{.class_of = {}, .classes = 2};
  std::fill(halves.class_of.begin() + 200, halves.class_of.end(), std::uint8_t{1});
  partition scattered{.class_of = {}, .classes = 7};
  for (std::size_t value = 0; value < 256; ++value) {
    scattered.class_of[value] = static_cast<std::uint8_t>(value * value / 3 % 7);
  }
  for (const partition& counted : {partition::identity(), halves, scattered}) {
    chunks data(3);
    data.take(1, 100, {{0, 50}, {50, 100}});
    for (std::size_t i = 0; i < 3; ++i) {
      data.rows[i].assign(data.extents[i].size() * counted.classes, 7);
      data.jobs[i].rows = data.rows[i];
    }
    under_test.clear();
    for (const std::size_t i : {2U, 1U, 0U}) under_test.add(data.jobs[i]);
    under_test.arrange();
    const auto rows = under_test.rows();
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint32_t>(i * 2654435761U >> 12U);
    under_test.write_rows(counted);

    std::size_t next = 0;
    for (const auto& each : data.rows) {
      for (std::size_t first = 0; first < each.size(); first += counted.classes) {
        std::vector<std::uint32_t> expected(counted.classes);
        for (const std::uint8_t class_number : counted.class_of) expected[class_number] += rows[next++];
        CHECK(std::equal(expected.begin(), expected.end(), each.begin() + static_cast<std::ptrdiff_t>(first)));
      }
    }
    CHECK(next == rows.size());
  }
}

TEST_CASE_FIXTURE(fixture, "a batch has room for exactly the bytes and extents that it was made for") {
  chunks data(17);
  for (std::size_t i = 0; i < 16; ++i) {
    REQUIRE(under_test.has_room_for(data.jobs[i]));
    under_test.add(data.jobs[i]);
  }
  CHECK(!under_test.has_room_for(data.jobs[16]));

  under_test.clear();
  data.take(0, chunk, std::vector<extent>(64));
  REQUIRE(under_test.has_room_for(data.jobs[0]));
  under_test.add(data.jobs[0]);
  CHECK(!under_test.has_room_for(data.jobs[1]));
}

}  // namespace
}  // namespace gpuhist::gpu::cuda
