// member_queue: an archive_reader that takes over texts decoded ahead reports the same members, texts and errors as one
// that decodes everything itself.
#include "pipeline/flow/decoding/member_queue.hpp"

#include "async/worker_pool.hpp"
#include "io/archive/archive_reader.hpp"
#include "io/byte_reader.hpp"
#include "io/failure.hpp"
#include "io/source.hpp"
#include "tests/io/zip_samples.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {
namespace {

using test::zip_member;
using test::zip_of;

constexpr std::uint64_t much_memory = std::uint64_t{64} << 20U;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::size_t bits_step = 13;
#else
constexpr std::size_t bits_step = 1;
#endif

io::file_source file_of(const std::string& bytes) {
  const int fd = ::memfd_create("zip", MFD_CLOEXEC);
  REQUIRE(fd >= 0);
  REQUIRE(::write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return {io::descriptor(fd), 0, bytes.size()};
}

class file_bytes final : public io::byte_reader {
 public:
  explicit file_bytes(const io::file_source& file) : file_(file) {}

  std::size_t read(std::span<std::byte> out) override {
    const std::size_t size = file_.read_at(out, offset_);
    offset_ += size;
    return size;
  }
  [[nodiscard]] std::optional<std::uint64_t> seekable_bytes() const override { return file_.size_hint(); }
  void seek(std::uint64_t offset) override { offset_ = offset; }

 private:
  const io::file_source& file_;
  std::uint64_t offset_ = 0;
};

// What a reader reports: paths and texts, the messages of members that fail, and that of the archive.
using report = std::vector<std::pair<std::string, std::string>>;

std::string rest_of(io::archive_reader& reader) {
  std::string text;
  try {
    for (;;) {
      const auto bytes = reader.read();
      if (bytes.empty()) return text;
      text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
  } catch (const io::input_error& error) {
    return text + " failed: " + error.what();
  }
}

struct walk_result {
  report found;
  std::uint64_t decoded_ahead = 0;  // bytes
};

// `skipped`: every so many members are not read; 0: all are.
report walk(io::byte_reader& bytes, io::decoded_members* ahead, std::size_t skipped) {
  report found;
  try {
    io::archive_reader reader(io::archive_kind::zip, bytes, ahead);
    for (std::size_t i = 1; const auto path = reader.next(); ++i) {
      const bool is_read = skipped == 0 || i % skipped != 0;
      found.emplace_back(*path, is_read ? rest_of(reader) : "not read");
      if (reader.is_broken()) break;
    }
  } catch (const io::input_error& error) {
    found.emplace_back("the archive failed", error.what());
  }
  return found;
}

report walk_alone(const std::string& archive, std::size_t skipped = 0) {
  const io::file_source file = file_of(archive);
  file_bytes bytes(file);
  return walk(bytes, nullptr, skipped);
}

walk_result walk_ahead(const std::string& archive, async::worker_pool& pool, unsigned threads,
                       std::uint64_t memory_bytes = much_memory, std::size_t skipped = 0) {
  const io::file_source file = file_of(archive);
  feed_notes notes;
  async::semaphore memory(memory_bytes);
  walk_result result;
  {
    file_bytes bytes(file);
    file_bytes directory(file);
    member_queue queue({.threads = threads, .max_bytes = memory_bytes / 2}, file, directory, pool, memory, notes);
    result.found = walk(bytes, &queue, skipped);
  }
  CHECK(memory.try_acquire(memory_bytes));  // everything was returned
  result.decoded_ahead = notes.decompress.bytes;
  return result;
}

std::string log_text(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < size) text += "request " + std::to_string(random() % 5000) + " took some time\n";
  text.resize(size);
  return text;
}

std::vector<zip_member> members_of(std::size_t number, std::mt19937& random) {
  std::vector<zip_member> members;
  for (std::size_t i = 0; i < number; ++i) {
    const std::size_t size = i % 5 == 4 ? random() % 100 : 4096 + random() % 20000;
    members.push_back({.name = "m" + std::to_string(i), .text = log_text(size, static_cast<unsigned>(i))});
  }
  return members;
}

std::uint64_t bytes_of(const std::vector<zip_member>& members) {
  std::uint64_t bytes = 0;
  for (const zip_member& each : members) {
    if (each.text.size() >= 4096) bytes += each.text.size();
  }
  return bytes;
}

TEST_CASE("archives of 1 to 3000 members have the members and texts that were packed, with 1 to 4 threads") {
  std::mt19937 random(1);
  for (const std::size_t number : {1U, 2U, 64U, 3000U}) {
    const auto members = members_of(number, random);
    const std::string archive = zip_of(members);
    report expected;
    for (const zip_member& each : members) expected.emplace_back(each.name, each.text);
    for (const unsigned threads : {1U, 2U, 4U}) {
      CAPTURE(number);
      CAPTURE(threads);
      async::worker_pool pool(threads);
      const walk_result found = walk_ahead(archive, pool, threads);
      CHECK(found.found == expected);
      CHECK(found.decoded_ahead == bytes_of(members));
    }
  }
}

TEST_CASE("members of other methods, with descriptors, zip64 fields or extra fields are found as by one thread") {
  std::mt19937 random(2);
  for (int round = 0; round < 30; ++round) {
    auto members = members_of(1 + random() % 20, random);
    for (zip_member& each : members) {
      each.stored = random() % 3 == 0;
      each.has_descriptor = !each.stored && random() % 3 == 0;
      each.has_zip64 = random() % 3 == 0;
      each.extra_bytes = random() % 2 * (random() % 300);
    }
    test::zip_layout layout{.front = std::string(random() % 2 * (random() % 5000), '#')};
    if (random() % 2 == 0) {
      layout.directory_order.resize(members.size());
      std::iota(layout.directory_order.begin(), layout.directory_order.end(), std::size_t{0});
      std::shuffle(layout.directory_order.begin(), layout.directory_order.end(), random);
    }
    const std::string archive = zip_of(members, layout);
    async::worker_pool pool(3);
    const walk_result found = walk_ahead(archive, pool, 3);
    CHECK(found.found == walk_alone(archive));
    CHECK(found.found.size() == members.size());
    std::uint64_t deflated = 0;
    for (const zip_member& each : members) deflated += each.stored || each.text.size() < 4096 ? 0 : each.text.size();
    CHECK(found.decoded_ahead == deflated);
  }
}

TEST_CASE("members that are not read do not change the others") {
  std::mt19937 random(3);
  const std::string archive = zip_of(members_of(40, random));
  async::worker_pool pool(2);
  for (const std::size_t skipped : {1U, 2U, 3U, 7U}) {
    CHECK(walk_ahead(archive, pool, 2, much_memory, skipped).found == walk_alone(archive, skipped));
  }
}

TEST_CASE("a member that needs more memory than there is, is decoded by the walk") {
  std::vector<zip_member> members;
  for (const std::size_t size : {5000U, 900'000U, 6000U, 2'000'000U, 7000U}) {
    members.push_back({.name = std::to_string(size), .text = log_text(size, 1)});
  }
  const std::string archive = zip_of(members);
  const report expected = walk_alone(archive);
  async::worker_pool pool(2);
  for (const std::uint64_t memory : {0U, 1000U, 100'000U, 1'000'000U, 3'000'000U, 64'000'000U}) {
    CAPTURE(memory);
    const walk_result found = walk_ahead(archive, pool, 2, memory);
    CHECK(found.found == expected);
    if (memory < 100'000U) CHECK(found.decoded_ahead == 0);
    if (memory == 64'000'000U) CHECK(found.decoded_ahead == bytes_of(members));
  }
}

TEST_CASE("while the threads decode other inputs, the walk decodes each member when it needs it") {
  std::mt19937 random(4);
  const auto members = members_of(10, random);
  const std::string archive = zip_of(members);
  const io::file_source file = file_of(archive);
  feed_notes notes;
  notes.decompress.now_in_flight = 2;
  async::semaphore memory(much_memory);
  async::worker_pool pool(2);
  file_bytes bytes(file);
  file_bytes directory(file);
  member_queue queue({.threads = 2, .max_bytes = much_memory}, file, directory, pool, memory, notes);
  CHECK(notes.decompress.bytes == 0);
  CHECK(walk(bytes, &queue, 0) == walk_alone(archive));
  CHECK(notes.decompress.bytes == bytes_of(members));
}

// Deflated text of which few bytes are left: damage anywhere in the archive is tried.
std::string small_archive(bool has_descriptor) {
  return zip_of({{.name = "a", .text = log_text(1000, 1) + std::string(3300, ' '), .has_descriptor = has_descriptor},
                 {.name = "b", .text = std::string(5000, 'x')},
                 {.name = "c", .text = "short"},
                 {.name = "d", .text = log_text(600, 4) + std::string(3700, 'y'), .has_zip64 = true}});
}

TEST_CASE("an archive in which any bit is flipped has the members, texts and messages that one thread finds") {
  async::worker_pool pool(2);
  for (const bool has_descriptor : {false, true}) {
    const std::string archive = small_archive(has_descriptor);
    std::uint64_t taken_over = 0;
    for (std::size_t bit = 0; bit < 8 * archive.size(); bit += bits_step) {
      std::string damaged = archive;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
      const walk_result found = walk_ahead(damaged, pool, 2);
      taken_over += found.decoded_ahead;
      if (found.found == walk_alone(damaged)) continue;
      CAPTURE(bit);
      CHECK(found.found == walk_alone(damaged));
    }
    CHECK(taken_over > 0);
  }
}

TEST_CASE("an archive that is cut anywhere has the members, texts and messages that one thread finds") {
  async::worker_pool pool(2);
  const std::string archive = small_archive(true);
  for (std::size_t size = 0; size < archive.size(); ++size) {
    CAPTURE(size);
    CHECK(walk_ahead(archive.substr(0, size), pool, 2).found == walk_alone(archive.substr(0, size)));
  }
}

TEST_CASE("a queue that is destroyed early leaves nothing running, and returns all memory") {
  std::mt19937 random(5);
  const std::string archive = zip_of(members_of(50, random));
  const io::file_source file = file_of(archive);
  for (int round = 0; round < 50; ++round) {
    async::worker_pool pool(3);
    async::semaphore memory(much_memory);
    feed_notes notes;
    {
      file_bytes bytes(file);
      file_bytes directory(file);
      member_queue queue({.threads = 3, .max_bytes = much_memory}, file, directory, pool, memory, notes);
      io::archive_reader reader(io::archive_kind::zip, bytes, &queue);
      for (std::size_t i = 0; i < random() % 10 && reader.next(); ++i) (void)reader.read();
    }
    CHECK(memory.try_acquire(much_memory));
    pool.join();
  }
}

}  // namespace
}  // namespace gpuhist::pipeline
