// Times a strategy of the catalogue. Clearing the counters is not timed; clearing the scratch memory is timed, because
// it is a cost of the strategy.
#include "bench/contender.hpp"

namespace gpuhist::bench {
namespace {

using gpu::cuda::kernels::count_of;
using kernels::strategy;

class strategy_contender final : public contender {
 public:
  strategy_contender(const strategy& measured, bins counted, const machine& device, unsigned coarsening)
      : strategy_(measured),
        counted_(counted),
        multiprocessors_(device.multiprocessors),
        coarsening_(measured.has_coarsening ? coarsening : 0),
        counters_(count_of(counted) * sizeof(unsigned long long)),
        scratch_bytes_(measured.scratch_bytes == nullptr ? 0 : measured.scratch_bytes(counted, device.multiprocessors)),
        scratch_(scratch_bytes_ == 0 ? nullptr : std::make_unique<device_bytes>(scratch_bytes_)) {}

  void clear(const stream& on) override {
    check(cudaMemsetAsync(counters_.as(), 0, count_of(counted_) * sizeof(unsigned long long), on.get()));
  }

  void run(std::span<const std::uint8_t> bytes, const stream& on) override {
    if (scratch_) check(cudaMemsetAsync(scratch_->as(), 0, scratch_bytes_, on.get()));
    check(strategy_.launch({.bytes = bytes.data(),
                            .size = bytes.size(),
                            .counters = counters_.as<unsigned long long>(),
                            .counted = counted_,
                            .scratch = scratch_ ? scratch_->as<void>() : nullptr,
                            .multiprocessors = multiprocessors_,
                            .coarsening = coarsening_},
                           on.get()));
  }

  bin_counts counts(std::uint64_t, const stream& on) override {
    bin_counts host(count_of(counted_));
    check(cudaMemcpyAsync(host.data(), counters_.as(), host.size() * sizeof host[0], cudaMemcpyDeviceToHost, on.get()));
    on.wait();
    return host;
  }

 private:
  const strategy& strategy_;
  bins counted_;
  int multiprocessors_;
  unsigned coarsening_;
  device_bytes counters_;
  std::size_t scratch_bytes_;
  std::unique_ptr<device_bytes> scratch_;
};

static_assert(sizeof(bin_counts::value_type) == sizeof(unsigned long long));

}  // namespace

entrant strategy_entrant(const strategy& measured, role kind, bins counted, const machine& device,
                         unsigned coarsening) {
  return {.name = std::string(measured.name),
          .kind = kind,
          .implementation = std::make_unique<strategy_contender>(measured, counted, device, coarsening)};
}

}  // namespace gpuhist::bench
