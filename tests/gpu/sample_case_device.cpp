#include "sample_case.hpp"

#include <gpuhist/device_samples.hpp>
#include <gpuhist/errors.hpp>

#include <memory>
#include <stdexcept>

namespace gpuhist::test {
namespace {

void check(cudaError_t code) {
  if (code != cudaSuccess) throw std::runtime_error(cudaGetErrorString(code));
}

struct free_device {
  void operator()(void* memory) const { cudaFree(memory); }
};
using device_memory = std::unique_ptr<std::byte, free_device>;

device_memory allocated(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes == 0 ? 1 : bytes));
  return device_memory(static_cast<std::byte*>(memory));
}

device_memory copied(const std::vector<std::byte>& from) {
  device_memory memory = allocated(from.size());
  check(cudaMemcpy(memory.get(), from.data(), from.size(), cudaMemcpyHostToDevice));
  return memory;
}

sample_view moved(sample_view view, const sample_axis& axis, const device_memory& memory) {
  view.data = memory.get() + axis.head.offset;
  return view;
}

template <class T>
std::vector<T> rows_on_host(const device_memory& rows, std::size_t values) {
  std::vector<T> host(values);
  check(cudaMemcpy(host.data(), rows.get(), values * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}

case_result run(const sample_case& each, const device_histogram& histogram) {
  const device_memory x = copied(each.x.memory);
  const device_memory y = copied(each.y.memory);
  const device_memory weights = copied(each.weights);
  const device_memory workspace = allocated(workspace_bytes(histogram));
  const device_memory rows = allocated(histogram.values() * 8);
  check(cudaMemset(rows.get(), 0, histogram.values() * 8));
  check(cudaMemset(workspace.get(), 0xa5, workspace_bytes(histogram)));
  check(prepare_workspace(histogram, workspace.get(), nullptr));
  const sample_view samples = moved(each.x.view(each.head.frames, each.head.channels), each.x, x);
  const sample_view y_samples = moved(each.y.view(each.head.frames, 1), each.y, y);
  case_result result{.counts = {}, .sums = {}, .edges = histogram.bins.bin_edges()};
  if (auto weighting = each.weighting()) {
    weighting->data = weights.get() + each.head.weight_offset;
    check(sum_device_samples(histogram, samples, {.view = *weighting}, reinterpret_cast<double*>(rows.get()),
                             workspace.get(), nullptr, y_samples));
    result.sums = rows_on_host<double>(rows, histogram.values());
  } else {
    check(count_device_samples(histogram, samples, reinterpret_cast<unsigned long long*>(rows.get()), workspace.get(),
                               nullptr, y_samples));
    result.counts = rows_on_host<std::uint64_t>(rows, histogram.values());
  }
  return result;
}

}  // namespace

bool has_device() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

case_result run_on_device(const sample_case& each) {
  try {
    const sample_bins x = each.x.bins();
    if (each.head.joint == 0) return run(each, {.bins = x, .channels = each.head.channels});
    const sample_bins y = each.y.bins();
    return run(each, {.bins = x, .y_bins = &y});
  } catch (const error&) {
    return {.refused = true, .counts = {}, .sums = {}, .edges = {}};
  }
}

}  // namespace gpuhist::test
