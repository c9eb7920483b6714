#include "report/units/distinct_keys.hpp"

#include "io/checksum.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <utility>

namespace gpuhist::report::units {
namespace {

// The estimator without bias, also for few keys, and its names: O. Ertl, "New cardinality estimation algorithms for
// HyperLogLog sketches", 2017, algorithm 6.
double sigma(double x) {
  double sum = x;
  double before = -1;
  for (double y = 1; sum != before; y += y) {
    x *= x;
    before = std::exchange(sum, sum + x * y);
  }
  return sum;
}

double tau(double x) {
  if (x == 0 || x == 1) return 0;
  double sum = 1 - x;
  double before = -1;
  for (double y = 0.5; sum != before; y /= 2) {
    x = std::sqrt(x);
    before = std::exchange(sum, sum - (1 - x) * (1 - x) * y);
  }
  return sum / 3;
}

}  // namespace

void distinct_keys::note(std::string_view key) {
  const std::uint64_t hash = io::checksum_of(key);
  const std::uint64_t rest = hash >> index_bits | std::uint64_t{1} << (highest_rank - 1);
  ranks_.resize(registers);
  char& rank = ranks_[hash % registers];
  rank = std::max(rank, static_cast<char>(1 + std::countr_zero(rest)));
}

distinct_keys& distinct_keys::operator+=(const distinct_keys& more) {
  ranks_.resize(std::max(ranks_.size(), more.ranks_.size()));
  for (std::size_t i = 0; i < more.ranks_.size(); ++i) ranks_[i] = std::max(ranks_[i], more.ranks_[i]);
  return *this;
}

std::uint64_t distinct_keys::number() const {
  if (ranks_.empty()) return 0;
  std::array<double, highest_rank + 1> with_rank{};
  for (const char each : ranks_) ++with_rank[static_cast<unsigned char>(each)];
  constexpr double all = registers;
  double z = all * tau(1 - with_rank.back() / all);
  for (std::size_t rank = highest_rank - 1; rank > 0; --rank) z = (z + with_rank[rank]) / 2;
  z += all * sigma(with_rank.front() / all);
  return static_cast<std::uint64_t>(std::llround(all * all / (2 * std::numbers::ln2 * z)));
}

distinct_keys distinct_keys::of_bytes(std::string bytes) {
  const bool is_valid = (bytes.empty() || bytes.size() == registers) &&
                        std::ranges::all_of(bytes, [](unsigned char each) { return each <= highest_rank; });
  if (!is_valid) throw std::invalid_argument("an estimate of keys is not one");
  distinct_keys made;
  made.ranks_ = std::move(bytes);
  return made;
}

}  // namespace gpuhist::report::units
