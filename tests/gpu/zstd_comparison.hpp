// Compares the zstd decoder of devices with libzstd: what it accepts, libzstd accepts, with the same text.
#pragma once

#include "tests/gpu/zstd_corpus.hpp"
#include "tests/support/zstd_batch.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::test {

/// Decodes damaged frames in batches.
class zstd_comparison {
 public:
  explicit zstd_comparison(batch_decoder decoder) : decoder_(std::move(decoder)) {}

  /// Nothing if all are as they must be, otherwise what is not. A frame is judged by itself; `intact` is between the
  /// damaged ones, and must be decoded.
  std::string check(const std::vector<byte_vector>& damaged, const byte_vector& intact);

  struct counters {
    std::size_t accepted = 0;        ///< by both
    std::size_t rejected = 0;        ///< by both
    std::size_t rejected_by_us = 0;  ///< but not by libzstd: it was listed
    std::size_t not_listed = 0;      ///< but libzstd accepts it
    std::size_t verdicts[12] = {};   ///< of frames that libzstd rejects or not
    std::size_t rejected_by_us_for[12] = {};
  };
  [[nodiscard]] const counters& counted() const { return counted_; }
  /// One line for a report.
  [[nodiscard]] std::string summary() const;

 private:
  std::string judge(const zstd_batch& batch, const zstd_batch::sample& sample, const byte_vector& bytes);

  batch_decoder decoder_;
  frame_oracle oracle_;
  counters counted_;
};

/// The bytes as hexadecimal digits, to reproduce a failure.
std::string hexadecimal(std::span<const std::byte> bytes);

}  // namespace gpuhist::test
