// What `gpuhist sample` found.
#pragma once

#include "pipeline/counts/partitioning.hpp"
#include "report/formats/report.hpp"
#include "report/measures/mean_interval.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gpuhist::report {

/// Of a bucket.
struct sampled_share {
  double share = 0;  ///< the mean of the samples
  measures::mean_interval within{};
};

struct sampled_scheme {
  std::string name;
  std::vector<std::string> buckets;
  std::vector<sampled_share> shares;
};

/// An input whose text is not in the sample.
struct left_out {
  std::string name;
  std::uint64_t stored_bytes = 0;
  std::string cause;
  bool has_failed = false;  ///< it cannot be read at all
};

struct sample_report {
  std::vector<sampled_scheme> schemes;
  double confidence = 0;  ///< all shares are within their bounds at the same time, with at least this probability
  std::uint64_t seed = 0;
  std::uint64_t text_bytes = 0;  ///< of which samples were taken
  std::uint64_t read_bytes = 0;  ///< of text
  std::uint64_t draws = 0;
  std::uint64_t cells = 0;         ///< different ones
  std::uint64_t failed_draws = 0;  ///< of cells that could not be read: the bounds allow for any text of them
  std::vector<left_out> unsampled;
};

std::string render_sample_table(const sample_report& content, const render_target& target);

/// One line, schema gpuhist.sample/1.
std::string render_sample_json(const sample_report& content);

}  // namespace gpuhist::report
