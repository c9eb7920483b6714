// What gpuhist-bench host prints.
#pragma once

#include "bench/host_kernels.hpp"

#include <string>

namespace gpuhist::bench {

/// A heading and a line a row.
std::string host_table(const host_group& group);

/// One JSON object a row, each on a line of its own.
std::string host_json_rows(const host_group& group);

/// The names of the columns, and one line a row.
std::string host_csv_heading();
std::string host_csv_rows(const host_group& group);

}  // namespace gpuhist::bench
