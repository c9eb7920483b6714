#include "gpuhist/device_samples.hpp"

#include "samples/cuda/task.hpp"
#include "samples/tables.hpp"

#include <bit>
#include <optional>
#include <variant>

namespace gpuhist {
namespace {

using namespace gpu::cuda::samples;
using gpu::samples::tables;

// The places of the parts of a workspace, each aligned.
class workspace_layout {
 public:
  explicit workspace_layout(const device_histogram& histogram) : values_(histogram.values()) {
    x = add_tables(histogram.bins);
    if (histogram.y_bins != nullptr) y = add_tables(*histogram.y_bins);
    sums = add(values_ * sizeof(unsigned long long));
    flags = add(flag_bytes(values_));
    largest = add(sizeof(unsigned long long));
  }

  struct table_places {
    std::size_t thresholds = 0;
    std::size_t guide = 0;
  };

  table_places x;
  table_places y;
  std::size_t sums = 0;  // these three are set to zero for each call
  std::size_t flags = 0;
  std::size_t largest = 0;

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::size_t add(std::size_t bytes) {
    constexpr std::size_t alignment = 256;
    const std::size_t at = size_;
    size_ += (bytes + alignment - 1) / alignment * alignment;
    return at;
  }

  table_places add_tables(const sample_bins& bins) {
    return std::visit(
        [&](const auto& made) {
          const std::size_t thresholds = add(made.thresholds.size() * sizeof(made.thresholds.front()));
          return table_places{.thresholds = thresholds,
                              .guide = add(made.device_guide().size() * sizeof(std::uint32_t))};
        },
        bins.internals().tables);
  }

  std::size_t values_;
  std::size_t size_ = 0;
};

bool valid(const device_histogram& histogram) {
  if (histogram.channels < 1 || histogram.channels > 4) return false;
  if (histogram.y_bins == nullptr) return true;
  return histogram.channels == 1 && histogram.y_bins->type() == histogram.bins.type() &&
         histogram.values() - 2 <= sample_bins::max_bins;
}

bool valid(const device_histogram& histogram, const sample_view& samples, const sample_view& y) {
  if (!valid(histogram) || samples.channels != histogram.channels) return false;
  if (samples.data == nullptr && samples.frames != 0) return false;
  if (histogram.y_bins == nullptr) return true;
  return y.channels == 1 && y.frames == samples.frames && (y.data != nullptr || y.frames == 0);
}

template <class T>
T* at(void* workspace, std::size_t offset) {
  return reinterpret_cast<T*>(static_cast<std::byte*>(workspace) + offset);
}

cudaError_t copy_tables(const sample_bins& bins, const workspace_layout::table_places& places, void* workspace,
                        cudaStream_t stream) {
  const auto copy = [&](std::size_t to, const auto& from) {
    if (from.empty()) return cudaSuccess;
    return cudaMemcpyAsync(at<std::byte>(workspace, to), from.data(), from.size() * sizeof(from.front()),
                           cudaMemcpyHostToDevice, stream);
  };
  return std::visit(
      [&](const auto& made) {
        const cudaError_t code = copy(places.thresholds, made.thresholds);
        return code != cudaSuccess ? code : copy(places.guide, made.device_guide());
      },
      bins.internals().tables);
}

cudaError_t current_device(launch_device& out) {
  int device = 0;
  int shared = 0;
  cudaError_t code = cudaGetDevice(&device);
  if (code == cudaSuccess) code = cudaDeviceGetAttribute(&out.multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (code == cudaSuccess) code = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  out.shared_bytes = static_cast<std::size_t>(shared);
  return code;
}

element_source source_of(const void* data, std::uint64_t frames, unsigned channels, std::int64_t stride,
                         std::size_t size, std::uint32_t type) {
  const auto packed = static_cast<std::int64_t>(channels * size);
  element_source made{.data = static_cast<const std::byte*>(data),
                      .stride = stride == 0 ? packed : stride,
                      .count = frames * channels,
                      .channels = channels,
                      .size = static_cast<std::uint32_t>(size),
                      .type = type};
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  made.wide = made.stride == packed && address % size == 0;
  if (made.wide) {
    const std::size_t alignment = size == 8 ? 16 : 4 * size;
    const std::uint64_t head = (alignment - address % alignment) % alignment / size;
    made.head = static_cast<std::uint32_t>(head < made.count ? head : made.count);
  }
  made.groups = (made.count - made.head) / 4;
  return made;
}

element_source source_of(const sample_view& view, sample_type type) {
  return source_of(view.data, view.frames, view.channels, view.stride, size_of(type), static_cast<std::uint32_t>(type));
}

template <class Carrier>
gpu::samples::binning<Carrier> on_device(const tables<Carrier>& made, const workspace_layout::table_places& places,
                                         void* workspace) {
  auto binning = made.device_binning();
  using key = typename gpu::samples::binning<Carrier>::key;
  binning.tables.thresholds = at<const key>(workspace, places.thresholds);
  if (!made.quick.usable) binning.tables.guide = at<const std::uint32_t>(workspace, places.guide);
  return binning;
}

struct call {
  const device_histogram& histogram;
  const sample_view& samples;
  const sample_view& y;
  void* workspace;
  unsigned long long* counts = nullptr;
  double* sums = nullptr;  // weighted
};

// Tables in shared memory leave room for the counters: they are not copied there if they are large.
constexpr std::size_t largest_shared_tables = std::size_t{48} << 10U;

template <class Carrier>
sample_task<Carrier> task_of(const tables<Carrier>& made, const call& in, const launch_device& device) {
  const workspace_layout layout(in.histogram);
  const sample_type type = in.histogram.bins.type();
  sample_task<Carrier> task;
  task.x = on_device(made, layout.x, in.workspace);
  task.quick = made.device_quick();
  task.samples = source_of(in.samples, type);
  if (in.histogram.y_bins != nullptr) {
    const auto& y = std::get<tables<Carrier>>(in.histogram.y_bins->internals().tables);
    task.y = on_device(y, layout.y, in.workspace);
    task.y_quick = y.device_quick();
    task.y_samples = source_of(in.y, type);
  }
  task.rows = in.counts;
  task.values = static_cast<std::uint32_t>(in.histogram.values());
  task.row = in.histogram.y_bins != nullptr ? task.values : static_cast<std::uint32_t>(in.histogram.bins.row_size());
  const std::size_t tables_size = table_bytes(task.x);
  task.tables_in_shared = tables_size != 0 && tables_size <= largest_shared_tables;
  task.tuning =
      tuning_for(task.values, in.sums != nullptr, task.tables_in_shared ? tables_size : 0, device.shared_bytes);
  if (task.tuning.where == placement::global) task.tables_in_shared = task.tables_in_shared && in.sums != nullptr;
  task.pass_values = static_cast<std::uint32_t>(values_of_pass(task.tuning, task.values));
  return task;
}

weight_task weights_of(const device_weights& weights, const call& in, const element_source& samples) {
  const weight_view& view = weights.view;
  const workspace_layout layout(in.histogram);
  weight_task made;
  made.weights = source_of(view.data, in.samples.frames, view.channels, view.stride, size_of(view.type),
                           static_cast<std::uint32_t>(view.type));
  made.by_frame = view.channels != in.samples.channels;
  made.grouped = made.weights.wide && !made.by_frame && made.weights.head == samples.head;
  made.limit = weights.limit;
  made.count_bits = samples.count <= 1 ? 0U : static_cast<std::uint32_t>(std::bit_width(samples.count - 1));
  made.largest = at<unsigned long long>(in.workspace, layout.largest);
  made.sums = at<unsigned long long>(in.workspace, layout.sums);
  made.flags = at<std::uint32_t>(in.workspace, layout.flags);
  made.rows = in.sums;
  return made;
}

cudaError_t clear_sums(const call& in, cudaStream_t stream) {
  const workspace_layout layout(in.histogram);
  return cudaMemsetAsync(at<std::byte>(in.workspace, layout.sums), 0, layout.size() - layout.sums, stream);
}

}  // namespace

std::size_t workspace_bytes(const device_histogram& histogram) noexcept {
  return valid(histogram) ? workspace_layout(histogram).size() : 0;
}

cudaError_t prepare_workspace(const device_histogram& histogram, void* workspace, cudaStream_t stream) noexcept {
  if (!valid(histogram) || workspace == nullptr) return cudaErrorInvalidValue;
  const workspace_layout layout(histogram);
  const cudaError_t code = copy_tables(histogram.bins, layout.x, workspace, stream);
  if (code != cudaSuccess || histogram.y_bins == nullptr) return code;
  return copy_tables(*histogram.y_bins, layout.y, workspace, stream);
}

cudaError_t count_device_samples(const device_histogram& histogram, const sample_view& samples,
                                 unsigned long long* rows, void* workspace, cudaStream_t stream,
                                 const sample_view& y) noexcept {
  if (!valid(histogram, samples, y) || rows == nullptr || workspace == nullptr) return cudaErrorInvalidValue;
  if (samples.frames == 0) return cudaSuccess;
  launch_device device;
  if (const cudaError_t code = current_device(device); code != cudaSuccess) return code;
  const call in{.histogram = histogram, .samples = samples, .y = y, .workspace = workspace, .counts = rows};
  return std::visit([&](const auto& made) { return launch_count(task_of(made, in, device), device, stream); },
                    histogram.bins.internals().tables);
}

cudaError_t sum_device_samples(const device_histogram& histogram, const sample_view& samples,
                               const device_weights& weights, double* rows, void* workspace, cudaStream_t stream,
                               const sample_view& y) noexcept {
  if (!valid(histogram, samples, y) || rows == nullptr || workspace == nullptr) return cudaErrorInvalidValue;
  const weight_view& view = weights.view;
  if (view.channels != 1 && view.channels != samples.channels) return cudaErrorInvalidValue;
  if (samples.frames == 0) return cudaSuccess;
  if (view.data == nullptr || !(weights.limit >= 0)) return cudaErrorInvalidValue;
  launch_device device;
  if (const cudaError_t code = current_device(device); code != cudaSuccess) return code;
  const call in{.histogram = histogram, .samples = samples, .y = y, .workspace = workspace, .sums = rows};
  if (const cudaError_t code = clear_sums(in, stream); code != cudaSuccess) return code;
  return std::visit(
      [&](const auto& made) {
        const auto task = task_of(made, in, device);
        return launch_sum(task, weights_of(weights, in, task.samples), device, stream);
      },
      histogram.bins.internals().tables);
}

std::string describe_tuning(const device_histogram& histogram, bool weighted, int compute_major, int compute_minor) {
  const std::size_t values = histogram.values();
  return describe(tuning_for(values, weighted, 0, shared_bytes_of(compute_major, compute_minor)), values, weighted);
}

}  // namespace gpuhist
