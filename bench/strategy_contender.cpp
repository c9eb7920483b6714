// A strategy of the catalogue, as the benchmark times it: cleared counters are the caller's matter, cleared scratch
// memory is part of what a count with this strategy costs.
#include "bench/contender.hpp"

namespace gpuhist::bench {
namespace {

using gpu::cuda::kernels::count_of;
using kernels::strategy;

class strategy_contender final : public contender {
 public:
  strategy_contender(const strategy& of, bins what, const machine& on, unsigned coarsening)
      : of_(of),
        what_(what),
        multiprocessors_(on.multiprocessors),
        coarsening_(of.has_coarsening ? coarsening : 0),
        counters_(count_of(what) * sizeof(unsigned long long)),
        scratch_bytes_(of.scratch_bytes == nullptr ? 0 : of.scratch_bytes(what, on.multiprocessors)),
        scratch_(scratch_bytes_ == 0 ? nullptr : std::make_unique<device_bytes>(scratch_bytes_)) {}

  void clear(const stream& on) override {
    check(cudaMemsetAsync(counters_.as(), 0, count_of(what_) * sizeof(unsigned long long), on.get()));
  }

  void run(std::span<const std::uint8_t> bytes, const stream& on) override {
    if (scratch_) check(cudaMemsetAsync(scratch_->as(), 0, scratch_bytes_, on.get()));
    check(of_.launch({.bytes = bytes.data(),
                      .size = bytes.size(),
                      .counters = counters_.as<unsigned long long>(),
                      .counted = what_,
                      .scratch = scratch_ ? scratch_->as<void>() : nullptr,
                      .multiprocessors = multiprocessors_,
                      .coarsening = coarsening_},
                     on.get()));
  }

  bin_counts counts(std::uint64_t, const stream& on) override {
    bin_counts host(count_of(what_));
    check(cudaMemcpyAsync(host.data(), counters_.as(), host.size() * sizeof host[0], cudaMemcpyDeviceToHost, on.get()));
    on.wait();
    return host;
  }

 private:
  const strategy& of_;
  bins what_;
  int multiprocessors_;
  unsigned coarsening_;
  device_bytes counters_;
  std::size_t scratch_bytes_;
  std::unique_ptr<device_bytes> scratch_;
};

static_assert(sizeof(bin_counts::value_type) == sizeof(unsigned long long));

}  // namespace

entrant strategy_entrant(const strategy& of, role kind, bins what, const machine& on, unsigned coarsening) {
  return {.name = std::string(of.name),
          .kind = kind,
          .what = std::make_unique<strategy_contender>(of, what, on, coarsening)};
}

}  // namespace gpuhist::bench
