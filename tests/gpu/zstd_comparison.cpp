// Judges what the zstd decoder of devices makes of damaged frames.
#include "tests/gpu/zstd_comparison.hpp"

#include <algorithm>

namespace gpuhist::test {
namespace {

namespace zstd = gpu::cuda::zstd;

// Room for libzstd: the longest text that the frames can have.
std::size_t text_limit(const zstd_batch& batch, const zstd_batch::sample& sample) {
  if (!sample.is_listed) return std::size_t{1} << 20U;
  std::size_t blocks = 0;
  for (std::uint32_t i = sample.begin; i < sample.end; ++i) blocks += batch.frames()[i].block_count;
  return blocks * zstd::max_block_bytes;
}

// The first frame that was not decoded.
zstd::verdict first_verdict(const zstd_batch& batch, const zstd_batch::sample& sample) {
  for (std::uint32_t i = sample.begin; i < sample.end; ++i) {
    if (batch.verdict_of(i) != zstd::verdict::decoded) return batch.verdict_of(i);
  }
  return zstd::verdict::decoded;
}

}  // namespace

std::string hexadecimal(std::span<const std::byte> bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte each : bytes) {
    text += digits[std::to_integer<unsigned>(each) / 16];
    text += digits[std::to_integer<unsigned>(each) % 16];
  }
  return text;
}

std::string zstd_comparison::judge(const zstd_batch& batch, const zstd_batch::sample& sample,
                                   const byte_vector& bytes) {
  const auto text = oracle_.decode(bytes, text_limit(batch, sample));
  if (!sample.is_listed) {
    counted_.not_listed += text ? 1 : 0;
    counted_.rejected += text ? 0 : 1;
    return {};
  }
  const zstd::verdict is = first_verdict(batch, sample);
  ++counted_.verdicts[static_cast<unsigned>(is)];
  if (is != zstd::verdict::decoded) {
    ++(text ? counted_.rejected_by_us : counted_.rejected);
    if (text) ++counted_.rejected_by_us_for[static_cast<unsigned>(is)];
    return {};
  }
  if (!text) return "accepted, but libzstd rejects it: " + hexadecimal(bytes);
  if (!std::ranges::equal(*text, batch.text_of(sample))) return "not the text of libzstd: " + hexadecimal(bytes);
  ++counted_.accepted;
  return {};
}

std::string zstd_comparison::check(const std::vector<byte_vector>& damaged, const byte_vector& intact) {
  zstd_batch batch;
  std::vector<zstd_batch::sample> samples;
  std::vector<zstd_batch::sample> neighbours;
  for (std::size_t i = 0; i < damaged.size(); ++i) {
    if (i % 8 == 0) neighbours.push_back(batch.add(intact));
    samples.push_back(batch.add(damaged[i]));
  }
  for (std::uint32_t i = 1; i < batch.size(); i += 2) batch.divide(i);
  batch.decode(decoder_);
  if (!batch.kept_bounds()) return "bytes outside the text of a frame were changed";
  const auto expected = oracle_.decode(intact, text_limit(batch, neighbours.at(0)));
  for (const zstd_batch::sample& each : neighbours) {
    const bool same = batch.is_decoded(each) && expected && std::ranges::equal(*expected, batch.text_of(each));
    if (!same) return std::string("an intact neighbour was not decoded: ") + name_of(first_verdict(batch, each));
  }
  for (std::size_t i = 0; i < damaged.size(); ++i) {
    if (std::string wrong = judge(batch, samples[i], damaged[i]); !wrong.empty()) return wrong;
  }
  return {};
}

std::string zstd_comparison::summary() const {
  std::string text = std::to_string(counted_.accepted) + " accepted, " + std::to_string(counted_.rejected) +
                     " rejected, " + std::to_string(counted_.rejected_by_us + counted_.not_listed) + " only by us (" +
                     std::to_string(counted_.not_listed) + " not listed";
  for (unsigned i = 0; i < 12; ++i) {
    if (counted_.rejected_by_us_for[i] == 0) continue;
    text += std::string(", ") + name_of(static_cast<zstd::verdict>(i)) + " " +
            std::to_string(counted_.rejected_by_us_for[i]);
  }
  text += "); verdicts:";
  for (unsigned i = 0; i < 12; ++i) {
    text += std::string(" ") + name_of(static_cast<zstd::verdict>(i)) + " " + std::to_string(counted_.verdicts[i]);
  }
  return text;
}

}  // namespace gpuhist::test
