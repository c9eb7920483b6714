#include "support/fake_runtime.hpp"

#include "gpu/cuda/deflate/portions.hpp"
#include "gpu/cuda/kernels_on_host.hpp"
#include "gpu/cuda/units/piece_classes.hpp"
#include "gpu/cuda/zstd/checksum.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <new>
#include <numeric>
#include <optional>
#include <thread>

#if defined(__SANITIZE_THREAD__)
// Functions of the thread sanitizer's run-time library, which has no header for them.
extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);
#endif

namespace gpuhist::gpu::cuda {
namespace {

void copy_unseen(void* to, const void* from, std::size_t bytes) {
#if defined(__SANITIZE_THREAD__)
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  std::memcpy(to, from, bytes);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#else
  std::memcpy(to, from, bytes);
#endif
}

constexpr result ok = 0;
constexpr result invalid_value = 1;
constexpr result out_of_memory = 2;
constexpr result no_device = 100;
constexpr result invalid_device = 101;
constexpr result invalid_handle = 400;
constexpr result not_ready = 600;
constexpr result not_supported = 801;

// Runs its work in order on a thread of its own. The destructor runs the remaining work.
class fake_stream {
 public:
  explicit fake_stream(int device) : device_(device), thread_([this](const std::stop_token& stop) { run(stop); }) {}

  void push(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    arrived_.notify_one();
  }
  [[nodiscard]] int device() const { return device_; }

 private:
  void run(const std::stop_token& stop) {
    for (;;) {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, stop, [this] { return !work_.empty(); });
      if (work_.empty()) return;
      const auto next = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      next();
    }
  }

  int device_;
  std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<std::function<void()>> work_;
  std::jthread thread_;
};

// Keeps the latest recording and the latest one that was reached.
class fake_event {
 public:
  explicit fake_event(int device) : device_(device) {}

  [[nodiscard]] int device() const { return device_; }
  unsigned record() {
    const std::lock_guard lock(mutex_);
    return ++recorded_;
  }
  void reach(unsigned recording) {
    const std::lock_guard lock(mutex_);
    reached_ = recording;
    when_ = std::chrono::steady_clock::now();
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, awaited = recorded_] { return reached_ >= awaited; });
  }
  std::optional<std::chrono::steady_clock::time_point> when() {
    const std::lock_guard lock(mutex_);
    if (recorded_ == 0 || reached_ != recorded_) return std::nullopt;
    return when_;
  }

 private:
  int device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned recorded_ = 0;
  unsigned reached_ = 0;
  std::chrono::steady_clock::time_point when_;
};

// Ranges of memory by their first byte.
class memory_map {
 public:
  void add(const void* memory, std::size_t bytes) { ranges_[static_cast<const std::byte*>(memory)] = bytes; }
  bool remove(const void* memory) { return ranges_.erase(static_cast<const std::byte*>(memory)) == 1; }
  [[nodiscard]] bool holds(const void* memory, std::size_t bytes) const {
    const auto* first = static_cast<const std::byte*>(memory);
    auto after = ranges_.upper_bound(first);
    if (after == ranges_.begin()) return false;
    --after;
    return first + bytes <= after->first + after->second;
  }
  [[nodiscard]] std::size_t size() const { return ranges_.size(); }
  [[nodiscard]] std::size_t bytes() const {
    return std::transform_reduce(ranges_.begin(), ranges_.end(), std::size_t{0}, std::plus<>{},
                                 [](const auto& each) { return each.second; });
  }
  [[nodiscard]] const std::map<const std::byte*, std::size_t>& ranges() const { return ranges_; }

 private:
  std::map<const std::byte*, std::size_t> ranges_;
};

constexpr std::align_val_t alignment{256};

class fake_runtime final : public runtime {
 public:
  fake_runtime(std::shared_ptr<ledger> shared_ledger, std::vector<device_properties> devices)
      : ledger_(std::move(shared_ledger)), devices_(std::move(devices)) {}

  ~fake_runtime() override {
    const auto report_unreleased = [this](const char* handles, std::size_t count) {
      if (count != 0) ledger_->misused(std::to_string(count) + " " + handles + " never given back");
    };
    report_unreleased("streams", streams_.size());
    report_unreleased("events", events_.size());
    for (const auto& each : device_) report_unreleased("device allocations", each.second.size());
    report_unreleased("registrations", host_.size());
    streams_.clear();  // the remaining work still runs, on the memory that is released below
    for (const auto& each : device_) {
      for (const auto& [memory, bytes] : each.second.ranges()) {
        ::operator delete(const_cast<std::byte*>(memory), alignment);
      }
    }
  }

  result driver_version(int& version) override {
    version = ledger_->driver_version;
    return ok;
  }
  result runtime_version(int& version) override {
    version = 13000;
    return ok;
  }
  result device_count(int& count) override {
    count = static_cast<int>(devices_.size());
    return devices_.empty() ? no_device : ok;
  }
  result properties(int device, device_properties& out) override {
    if (device < 0 || static_cast<std::size_t>(device) >= devices_.size()) return invalid_device;
    out = devices_[static_cast<std::size_t>(device)];
    return ok;
  }
  result use_device(int device) override {
    if (device < 0 || static_cast<std::size_t>(device) >= devices_.size()) return invalid_device;
    const std::lock_guard lock(mutex_);
    current_[std::this_thread::get_id()] = device;
    context();
    return ok;
  }

  result host_register(void* memory, std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    context();
    if (host_.bytes() + bytes > ledger_->max_registered_bytes) return ledger_->refusal;
    host_.add(memory, bytes);
    return ok;
  }
  result host_unregister(void* memory) override {
    const std::lock_guard lock(mutex_);
    context();
    return host_.remove(memory) ? ok : misused("unregistered what was not registered");
  }
  result device_allocate(void*& memory, std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    const int device = context();
    memory_map& taken = device_[device];
    if (taken.bytes() + bytes > devices_[static_cast<std::size_t>(device)].memory_bytes) return out_of_memory;
    memory = ::operator new(bytes, alignment);
    std::memset(memory, 0xa5, bytes);
    taken.add(memory, bytes);
    return ok;
  }
  result device_free(void* memory) override {
    const std::lock_guard lock(mutex_);
    context();
    const bool was_allocated = std::any_of(device_.begin(), device_.end(),
                                           [&](auto& allocations) { return allocations.second.remove(memory); });
    if (!was_allocated) return misused("freed what was not allocated");
    ::operator delete(memory, alignment);
    return ok;
  }

  result stream_create(stream_handle& stream, stream_priority) override {
    const std::lock_guard lock(mutex_);
    auto created = std::make_unique<fake_stream>(context());
    stream = created.get();
    streams_[stream] = std::move(created);
    return ok;
  }
  result stream_destroy(stream_handle stream) override {
    std::unique_ptr<fake_stream> removed;  // destroyed after the lock, which its remaining work takes
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(stream);
    if (found == streams_.end()) return misused("destroyed a stream that is none");
    context();
    removed = std::move(found->second);
    streams_.erase(found);
    return ok;
  }
  result event_create(event_handle& event) override {
    const std::lock_guard lock(mutex_);
    auto created = std::make_shared<fake_event>(context());
    event = created.get();
    events_[event] = std::move(created);
    return ok;
  }
  result event_destroy(event_handle event) override {
    const std::lock_guard lock(mutex_);
    context();
    return events_.erase(event) == 1 ? ok : misused("destroyed an event that is none");
  }
  result event_record(event_handle event, stream_handle stream) override {
    const auto recorded = find_event(event);
    if (!recorded) return invalid_handle;
    if (recorded->device() != device_of(stream)) return misused("recorded an event on another device's stream");
    return enqueue(stream, [recorded, recording = recorded->record()] { recorded->reach(recording); });
  }
  result event_synchronize(event_handle event) override {
    const auto awaited = find_event(event);
    if (!awaited) return invalid_handle;
    awaited->wait();
    return ok;
  }
  result event_elapsed(float& milliseconds, event_handle from, event_handle to) override {
    const auto first = find_event(from);
    const auto second = find_event(to);
    if (!first || !second) return invalid_handle;
    if (first->device() != second->device()) return misused("took the time between events of two devices");
    const auto begin = first->when();
    const auto end = second->when();
    if (!begin || !end) return not_ready;
    milliseconds = std::chrono::duration<float, std::milli>(*end - *begin).count();
    return ok;
  }

  result copy_to_device(std::span<const device_copy> copies, stream_handle stream) override {
    for (const device_copy& each : copies) {
      const result code = enqueue(stream, [each, this, device = device_of(stream)] {
        if (!on_device(device, each.to, each.bytes) || !registered(each.from, each.bytes)) return;
        if (ledger_->may_be_lost) {
          copy_unseen(each.to, each.from, each.bytes);
        } else {
          std::memcpy(each.to, each.from, each.bytes);
        }
      });
      if (code != ok) return code;
    }
    return ok;
  }
  result copy_to_host(void* to, const void* from, std::size_t bytes, stream_handle stream) override {
    return enqueue(stream, [=, this, device = device_of(stream)] {
      // a stream may copy what a kernel of another one is writing: frame_batch::progress_of()
      if (registered(to, bytes) && on_device(device, from, bytes)) copy_unseen(to, from, bytes);
    });
  }
  result clear(void* memory, std::size_t bytes, stream_handle stream) override {
    return enqueue(stream, [=, this, device = device_of(stream)] {
      if (on_device(device, memory, bytes)) std::memset(memory, 0, bytes);
    });
  }
  result count_lane_private(const kernel_launch& launch, stream_handle stream) override {
    return enqueue(stream, [=, this, device = device_of(stream)] {
      if (ledger_->before_kernel) ledger_->before_kernel(device);
      count(device, launch);
    });
  }
  result count_pair_private(const pair_launch& launch, stream_handle stream) override {
    return enqueue(stream, [this, chunk = launch.chunk, classes = *launch.classes, device = device_of(stream)] {
      if (ledger_->before_kernel) ledger_->before_kernel(device);
      count_pairs(device, chunk, classes);
    });
  }

  result decode_frames(const frame_launch& launch, stream_handle stream) override {
    return enqueue(stream, [=, this, device = device_of(stream)] {
      if (ledger_->before_kernel) ledger_->before_kernel(device);
      if (!are_on_device(device, launch)) return;
      if (launch.text_before != nullptr) zstd::copy_carried_on_host(launch.batch, launch.text_before);
      zstd::decode_on_host(launch.batch);
      write_extents(launch);
      launch.division.cuts == nullptr ? sum_groups(launch) : sum_slices(launch);
      if (launch.units.text != nullptr) measure_units(device, launch);
      if (launch.is_step) zstd::carry_on_host(launch.batch);
    });
  }
  // As for copies, another stream may write the words that follow.
  result multiply_words(const product_launch& launch, stream_handle stream) override {
    return enqueue(stream, [=, this, device = device_of(stream)] {
      const std::size_t bytes = launch.count * sizeof(std::uint64_t);
      if (!on_device(device, launch.words, bytes) || !on_device(device, launch.products, bytes)) return;
      copy_unseen(launch.products, launch.words, bytes);
      for (std::size_t i = 0; i < launch.count; ++i) launch.products[i] *= zstd::xxh64::prime2;
    });
  }

  [[nodiscard]] std::string error_text(result code) const override { return "fake error " + std::to_string(code); }

 private:
  result misused(const std::string& misuse) {
    ledger_->misused(misuse);
    return invalid_value;
  }

  int current_device() {  // the caller holds the lock
    const auto found = current_.find(std::this_thread::get_id());
    return found == current_.end() ? 0 : found->second;
  }

  // Notes that a context is created. The caller holds the lock.
  int context() {
    const int device = current_device();
    ledger_->context_made(device);
    return device;
  }

  int device_of(stream_handle stream) {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(stream);
    return found == streams_.end() ? -1 : found->second->device();  // enqueue() reports it
  }

  std::shared_ptr<fake_event> find_event(event_handle event) {
    const std::lock_guard lock(mutex_);
    const auto found = events_.find(event);
    if (found != events_.end()) return found->second;
    ledger_->misused("used an event that is none");
    return nullptr;
  }

  result enqueue(stream_handle stream, std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    const auto found = streams_.find(stream);
    if (found == streams_.end()) return misused("used a stream that is none");
    if (found->second->device() != current_device()) return misused("used a stream of a device that is not current");
    found->second->push(std::move(work));
    return ok;
  }

  bool on_device(int device, const void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (device_[device].holds(memory, bytes)) return true;
    ledger_->misused("touched " + std::to_string(bytes) + " bytes that are no memory of device " +
                     std::to_string(device));
    return false;
  }

  bool registered(const void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (host_.holds(memory, bytes) || ledger_->refusal == not_supported) return true;
    ledger_->misused("copied " + std::to_string(bytes) + " bytes of memory that is not registered");
    return false;
  }

  void count_pairs(int device, const kernel_launch& launch, const partition& classes) {
    const std::size_t cells = std::size_t{classes.classes} * classes.classes;
    if (!on_device(device, launch.bytes, launch.chunk_bytes) ||
        !on_device(device, launch.extents, launch.extent_count * sizeof(extent)) ||
        !on_device(device, launch.rows, launch.extent_count * cells * sizeof(std::uint32_t))) {
      return;
    }
    const auto class_at = [&](std::size_t at) {
      return classes.class_of[std::to_integer<std::size_t>(launch.bytes[at])];
    };
    for (std::size_t i = 0; i < launch.extent_count; ++i) {
      for (std::size_t at = std::size_t{launch.extents[i].begin} + 1; at < launch.extents[i].end; ++at) {
        ++launch.rows[i * cells + std::size_t{class_at(at - 1)} * classes.classes + class_at(at)];
      }
    }
  }

  bool are_on_device(int device, const frame_launch& launch) {
    const zstd::batch_buffers& batch = launch.batch;
    constexpr std::size_t row_bytes = 256 * sizeof(std::uint32_t);
    return on_device(device, batch.frames, batch.frame_count * sizeof(*batch.frames)) &&
           on_device(device, batch.blocks, batch.block_count * sizeof(*batch.blocks)) &&
           on_device(device, batch.codes, batch.block_count * sizeof(*batch.codes)) &&
           on_device(device, batch.decoded, batch.block_count * sizeof(*batch.decoded)) &&
           on_device(device, batch.literals, batch.literal_room) &&
           on_device(device, batch.sequences, batch.sequence_room * sizeof(*batch.sequences)) &&
           on_device(device, batch.text, launch.batch.text_room) &&
           on_device(device, batch.results, batch.frame_count * sizeof(*batch.results)) &&
           on_device(device, batch.symbols, batch.symbol_room * sizeof(*batch.symbols)) &&
           on_device(device, batch.progress, sizeof(*batch.progress)) &&
           (batch.member_count == 0 ||
            on_device(device, batch.portions, batch.block_count * sizeof(*batch.portions))) &&
           on_device(device, launch.rows, (batch.frame_count + launch.division.cut_count()) * row_bytes) &&
           on_device(device, launch.totals, launch.division.slice_count * row_bytes) &&
           on_device(device, launch.extents, batch.frame_count * sizeof(extent)) &&
           on_device(device, launch.division.groups, launch.division.group_count * sizeof(zstd::group_range)) &&
           (launch.division.cuts == nullptr || are_on_device(device, launch.division));
  }

  bool are_on_device(int device, const zstd::text_division& division) {
    const std::size_t cuts = division.cut_count();
    const std::size_t tiles = units::tiles_in(division.lines.text_room) + std::size_t{1};
    return on_device(device, division.cuts, cuts * sizeof(std::uint32_t)) &&
           on_device(device, division.places, cuts * sizeof(std::uint32_t)) &&
           on_device(device, division.extents, (division.lines.extent_count + cuts) * sizeof(extent)) &&
           on_device(device, division.slice_ends, division.slice_count * sizeof(std::uint32_t)) &&
           on_device(device, division.last_bytes, division.slice_count * sizeof(std::uint32_t)) &&
           on_device(device, division.lines.tile_pieces, tiles * sizeof(std::uint32_t));
  }

  static void write_extents(const frame_launch& launch) {
    for (std::uint32_t i = 0; i < launch.batch.frame_count; ++i) {
      launch.extents[i] = zstd::extent_of(launch.batch.frames[i], launch.batch.results[i]);
    }
  }

  // The sum of the rows of extents, without the rows.
  static void count_text(const frame_launch& launch, std::span<const extent> extents, std::uint32_t* to) {
    constexpr std::size_t values = 256;
    std::fill_n(to, values, 0U);
    for (const extent& each : extents) {
      for (std::uint32_t at = each.begin; at < each.end; ++at) ++to[launch.batch.text[at]];
    }
  }

  static void sum_groups(const frame_launch& launch) {
    constexpr std::size_t values = 256;
    const zstd::text_division& division = launch.division;
    for (std::uint32_t group = 0; group < division.group_count; ++group) {
      const std::uint32_t first = division.first_frame_of(group);
      count_text(launch, {launch.extents + first, division.groups[group].frame_end - first},
                 launch.totals + group * values);
    }
  }

  static void sum_slices(const frame_launch& launch) {
    constexpr std::size_t values = 256;
    const zstd::text_division& division = launch.division;
    zstd::divide_on_host(division);
    for (std::uint32_t slice = 0; slice < division.slice_count; ++slice) {
      const std::uint32_t first = slice == 0 ? 0 : division.slice_ends[slice - 1];
      count_text(launch, {division.extents + first, division.slice_ends[slice] - first},
                 launch.totals + slice * values);
    }
  }

  void measure_units(int device, const frame_launch& launch) {
    const units::unit_launch& measured = launch.units;
    const std::uint32_t frames = launch.batch.frame_count;
    if (!on_device(device, measured.classes, sizeof(units::class_table)) ||
        !on_device(device, measured.tile_pieces, (units::tiles_in(measured.text_room) + 1) * sizeof(std::uint32_t)) ||
        !on_device(device, measured.extent_pieces, (frames + std::size_t{1}) * sizeof(std::uint32_t)) ||
        !on_device(device, measured.rows, std::size_t{measured.row_room} * measured.counters * sizeof(std::uint16_t))) {
      return;
    }
    const units::row_selection& selected = measured.selection;
    if (measured.strings != nullptr && !on_device(device, measured.strings, sizeof(units::searched_strings))) return;
    if (measured.selects_rows() &&
        (!on_device(device, selected.tile_rows, (units::tiles_in(measured.text_room) + 1) * sizeof(std::uint32_t)) ||
         !on_device(device, selected.extent_rows, (frames + std::size_t{1}) * sizeof(std::uint32_t)) ||
         !on_device(device, selected.rows,
                    std::size_t{measured.row_room} * measured.counters * sizeof(std::uint16_t)))) {
      return;
    }
    units::measure_on_host(measured);
  }

  void count(int device, const kernel_launch& launch) {
    constexpr std::size_t values = 256;
    if (!on_device(device, launch.bytes, launch.chunk_bytes) ||
        !on_device(device, launch.extents, launch.extent_count * sizeof(extent)) ||
        !on_device(device, launch.rows, launch.extent_count * values * sizeof(std::uint32_t))) {
      return;
    }
    for (std::size_t i = 0; i < launch.extent_count; ++i) {
      for (std::size_t at = launch.extents[i].begin; at < launch.extents[i].end; ++at) {
        ++launch.rows[i * values + std::to_integer<std::size_t>(launch.bytes[at])];
      }
    }
  }

  std::shared_ptr<ledger> ledger_;
  std::vector<device_properties> devices_;
  std::mutex mutex_;
  std::map<std::thread::id, int> current_;
  memory_map host_;
  std::map<int, memory_map> device_;
  std::map<event_handle, std::shared_ptr<fake_event>> events_;
  std::map<stream_handle, std::unique_ptr<fake_stream>> streams_;
};

}  // namespace

void ledger::misused(const std::string& misuse) {
  const std::lock_guard lock(mutex_);
  misuses_.push_back(misuse);
}

std::vector<std::string> ledger::misuses() const {
  const std::lock_guard lock(mutex_);
  return misuses_;
}

void ledger::context_made(int device) {
  const std::lock_guard lock(mutex_);
  contexts_.insert(device);
}

std::set<int> ledger::contexts() const {
  const std::lock_guard lock(mutex_);
  return contexts_;
}

device_properties fake_device() {
  return {.name = "fake device", .compute_major = 9, .compute_minor = 0, .multiprocessors = 4, .memory_bytes = 1 << 30};
}

std::unique_ptr<runtime> make_fake_runtime(std::shared_ptr<ledger> shared_ledger,
                                           std::vector<device_properties> devices) {
  return std::make_unique<fake_runtime>(std::move(shared_ledger), std::move(devices));
}

}  // namespace gpuhist::gpu::cuda
