// The output of gpuhist-bench host.
#pragma once

#include "bench/host_kernels.hpp"

#include <string>

namespace gpuhist::bench {

/// A heading and one line per row.
std::string host_table(const host_group& group);

/// One JSON object per row, one per line.
std::string host_json_rows(const host_group& group);

/// The names of the columns, and one line per row.
std::string host_csv_heading();
std::string host_csv_rows(const host_group& group);

}  // namespace gpuhist::bench
