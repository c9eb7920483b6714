// The checksum of the zstd decoder of devices, against libxxhash.
#include "gpu/cuda/zstd/checksum_of_few.hpp"
#include "gpu/cuda/zstd/checksum_of_many.hpp"
#include "gpu/cuda/zstd/team.hpp"
#include "tests/io/zstd_samples.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace zstd = gpuhist::gpu::cuda::zstd;
using zstd::xxh64;

namespace {

struct word_copy {
  std::uint64_t* to;
  const std::uint8_t* from;
};

// Copies as late as wait() allows: a place that is read before, or written while it is still to be read, gives a wrong
// hash.
class late_copies {
 public:
  void copy(std::uint64_t* to, const std::uint8_t* from) { open_.push_back({to, from}); }
  void end_group() {
    groups_.push_back(open_);
    open_.clear();
  }
  template <unsigned Left>
  void wait() {
    for (; groups_.size() > Left; groups_.pop_front()) {
      for (const word_copy& each : groups_.front()) std::memcpy(each.to, each.from, sizeof(*each.to));
    }
  }

 private:
  std::vector<word_copy> open_;
  std::deque<std::vector<word_copy>> groups_;
};

// Copies at once.
struct early_copies {
  void copy(std::uint64_t* to, const std::uint8_t* from) { std::memcpy(to, from, sizeof(*to)); }
  void end_group() {}
  template <unsigned Left>
  void wait() {}
};

using bytes = std::vector<std::uint8_t>;

// A text that is written only as far as wait_for() demands.
class late_text {
 public:
  explicit late_text(const bytes& text) : text_(text), written_(text.size()) {}

  [[nodiscard]] const bytes& written() const { return written_; }
  void wait_for(std::uint32_t end) {
    for (; end_ < end; ++end_) written_[end_] = text_[end_];
  }

 private:
  const bytes& text_;
  bytes written_;
  std::uint32_t end_ = 0;
};

std::uint64_t hash_of_few(const bytes& text) {
  const zstd::lone_thread team;
  const auto memory = std::make_unique<zstd::hash_memory>();
  late_text written(text);
  zstd::text_accumulators all(team, *memory, written, written.written().data(), xxh64::stripes_in(text.size()));
  all.add_stripes();
  std::uint64_t sums[xxh64::accumulators];
  for (unsigned i = 0; i < xxh64::accumulators; ++i) sums[all.accumulator(i)] = all.sum(i);
  return xxh64::finish(sums, text.data(), text.size());
}

template <class Copies>
std::uint64_t hash_of_many(const bytes& text) {
  using words = zstd::staged_words<xxh64::accumulators, Copies>;
  const auto memory = std::make_unique<typename words::memory>();
  const std::uint32_t stripes = xxh64::stripes_in(text.size());
  std::uint64_t sums[xxh64::accumulators];
  for (unsigned i = 0; i < xxh64::accumulators; ++i) {
    words own(*memory, i, Copies{}, text.data(), stripes, i);
    sums[i] = zstd::accumulate(own, stripes, i);
  }
  return xxh64::finish(sums, text.data(), text.size());
}

bytes noise(std::size_t size) {
  bytes all;
  for (const std::byte each : gpuhist::test::noise(size, 5)) all.push_back(std::to_integer<std::uint8_t>(each));
  return all;
}

}  // namespace

TEST_CASE("the checksum is that of libxxhash for every length, however late the text is written or its words copied") {
  constexpr std::size_t batch_bytes = xxh64::stripe_bytes * zstd::hash_memory::batch;
  for (std::size_t size = 0; size < 6 * batch_bytes; size = size < 200 ? size + 1 : size + 31) {
    CAPTURE(size);
    const bytes text = noise(size);
    const std::uint64_t expected = XXH64(text.data(), text.size(), 0);
    CHECK(hash_of_few(text) == expected);
    CHECK(hash_of_many<late_copies>(text) == expected);
    CHECK(hash_of_many<early_copies>(text) == expected);
  }
}

TEST_CASE("the inverse of a prime of the checksum") {
  CHECK(xxh64::inverse(xxh64::prime1) * xxh64::prime1 == 1);
  CHECK(xxh64::inverse(1) == 1);
}
