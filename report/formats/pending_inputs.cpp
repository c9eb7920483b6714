#include "report/formats/pending_inputs.hpp"

#include "config/text.hpp"
#include "report/formats/report.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

namespace gpuhist::report {
namespace {

using location = pipeline::finished_inputs::location;

constexpr std::size_t locations_in_memory = 16U << 10U;  // bytes

}  // namespace

pending_inputs::pending_inputs(pipeline::finished_inputs& to, const gpu::tally& no_text)
    : to_(to), locations_(locations_in_memory, to.folder()), verified_(no_text), unverified_(no_text) {}

void pending_inputs::add(const pipeline::input_report& next) {
  const std::uint64_t before = to_.now().report_bytes;
  if (number_ == 0) begin_ = before;
  const location at = to_.spill(next);
  spilled_ += to_.now().report_bytes - before;
  locations_.append({reinterpret_cast<const char*>(&at), sizeof at});
  if (!next.complete && incomplete_.empty()) {
    incomplete_ = "inputs[" + std::to_string(number_) + "] (" + config::quote(printable(next.name)) + ")";
  }
  ++number_;
  verified_ += next.verified;
  unverified_ += next.unverified;
}

void pending_inputs::keep() {
  const std::uint64_t order_before = to_.now().order_bytes;
  try {
    std::vector<location> block;
    for (std::uint64_t from = 0; from < locations_.size(); from += block.size() * sizeof(location)) {
      const std::string bytes = locations_.read(from, locations_in_memory);
      block.resize(bytes.size() / sizeof(location));
      std::memcpy(block.data(), bytes.data(), bytes.size());
      to_.append(block);
    }
  } catch (...) {
    to_.cut_back({.report_bytes = to_.now().report_bytes, .order_bytes = order_before});
    throw;
  }
  clear();
}

void pending_inputs::drop() {
  const pipeline::finished_inputs::extent now = to_.now();
  const bool are_last = number_ > 0 && now.report_bytes - begin_ == spilled_;
  if (are_last) to_.cut_back({.report_bytes = begin_, .order_bytes = now.order_bytes});
  clear();
}

void pending_inputs::clear() {
  locations_.cut_back(0);
  spilled_ = 0;
  number_ = 0;
  incomplete_.clear();
  for (gpu::tally* each : {&verified_, &unverified_}) {
    std::ranges::fill(each->counts, 0);
    std::ranges::fill(each->pairs, 0);
  }
}

}  // namespace gpuhist::report
