#include "samples/tables.hpp"

#include "samples/thresholds.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace gpuhist::gpu::samples {
namespace {

// Cells for each bin of a guided estimate, and the limits of their number. 2048 cells of 256 bins fit in shared memory
// beside the counters.
constexpr std::uint32_t cells_per_bin = 8;
constexpr std::uint32_t min_cells = 16;
constexpr std::uint32_t max_cells = 1U << 20U;

template <class Carrier>
class chooser {
 public:
  using key = key_of_carrier<Carrier>;

  chooser(sample_type type, const std::vector<double>& edges, const std::vector<key>& thresholds)
      : type_(type), all_(keys_of<Carrier>(type)), edges_(edges), thresholds_(thresholds) {}

  // The direct estimate of the smallest tolerance; a tolerance above 0.5 if there is none.
  [[nodiscard]] binning<Carrier> direct() const {
    binning<Carrier> best = common();
    best.tolerance = 1;
    const auto consider = [&](binning<Carrier> made) {
      if (!usable(made)) return;
      made.tolerance = tolerance(made);
      if (made.tolerance < best.tolerance) best = made;
    };
    if (thresholds_.empty()) return best;
    const auto steps = static_cast<float>(bins());
    if constexpr (std::is_floating_point_v<Carrier>) {
      consider(on_values(steps));
    } else {
      // Half an integer before the first one of a bin, estimates are farther from thresholds: none is on one.
      for (const double before : {0.5, 0.0}) consider(on_integers(steps, before));
    }
    return best;
  }

  // The estimate of devices. Not usable if its errors are too large.
  [[nodiscard]] quick_binning<Carrier> quick() const {
    quick_binning<Carrier> best;
    float smallest = largest_tolerance;
    for (const double before : {0.5, 0.0}) {
      if (std::is_floating_point_v<Carrier> && before != 0) continue;
      const quick_binning<Carrier> made = quick_of(static_cast<float>(bins()), before);
      const float error = made.usable ? quick_tolerance(made) : 1;
      if (error > smallest) continue;
      smallest = error;
      best = made;
      // the rest of a position is rounded, too
      best.clear = 0.5F - error - 0x1p-20F;
    }
    return best;
  }

  [[nodiscard]] quick_binning<Carrier> quick_cells() const { return quick_of(cells(), 0); }

  // A guide for cells by `cell_of(key)`, which does not decrease.
  template <class CellOf>
  [[nodiscard]] std::vector<std::uint32_t> guide_for(const CellOf& cell_of) const {
    std::vector<std::uint32_t> guide(static_cast<std::size_t>(cells()) + 2);
    std::uint32_t before = 0;
    for (std::size_t cell = 0; cell < guide.size(); ++cell) {
      std::uint32_t end = before;
      while (end < thresholds_.size() && cell_of(thresholds_[end]) == cell) ++end;
      guide[cell] = guide_entry{.before = before, .inside = end - before}.packed();
      before = end;
    }
    return guide;
  }

  static double search_length(const std::vector<std::uint32_t>& guide) {
    double steps = 0;
    for (const std::uint32_t packed : guide) {
      const double inside = guide_entry::of(packed).inside;
      steps += inside * std::log2(inside + 1);
    }
    return steps;
  }

  // The guided estimate with the shortest searches, if samples are equally frequent in all bins.
  void make_guided(tables<Carrier>& into) const {
    into.guided = on_keys(cells());
    into.guide = guide_of(into.guided);
    if constexpr (std::is_floating_point_v<Carrier>) {
      if (auto made = on_values(cells()); usable(made)) {
        made.ceiling = made.steps + 0.5F;
        if (auto guide = guide_of(made); search_length(guide) < search_length(into.guide)) {
          into.guided = made;
          into.guide = std::move(guide);
        }
      }
    }
  }

  // Quick cells are used unless searches become longer.
  void make_quick_cells(tables<Carrier>& into) const {
    into.quick_cells = quick_cells();
    if (!into.quick_cells.usable || thresholds_.empty() || !reaches_infinity()) {
      into.quick_cells.usable = false;
      return;
    }
    into.quick_guide =
        guide_for([&](key at) { return quick_position_of(into.quick_cells, carrier_of<Carrier>(at)).slot; });
    into.quick_cells.usable = search_length(into.quick_guide) <= 1.5 * search_length(into.guide) + 1;
  }

 private:
  [[nodiscard]] std::uint32_t bins() const { return static_cast<std::uint32_t>(edges_.size() - 1); }

  [[nodiscard]] binning<Carrier> common() const {
    binning<Carrier> made;
    made.bins = bins();
    made.limit = static_cast<std::uint32_t>(thresholds_.size());
    const key first = thresholds_.empty() ? all_.first : thresholds_.front();
    const key last = thresholds_.empty() ? all_.last : thresholds_.back();
    made.low = first == all_.first ? first : first - 1;
    made.high = last;
    made.centre = made.low + (made.high - made.low) / 2;
    return made;
  }

  // Of a direct estimate. Bins after the last threshold are never reached.
  [[nodiscard]] float ceiling(float steps) const {
    return thresholds_.size() == edges_.size() ? steps + 0.5F : static_cast<float>(thresholds_.size()) - 0.5F;
  }

  [[nodiscard]] binning<Carrier> on_values(float steps) const {
    binning<Carrier> made = common();
    made.on_keys = false;
    made.origin = static_cast<Carrier>(edges_.front());
    made.scale = static_cast<float>(static_cast<double>(steps) / (edges_.back() - edges_.front()));
    made.steps = steps;
    made.ceiling = ceiling(steps);
    return made;
  }

  [[nodiscard]] binning<Carrier> on_integers(float steps, double before) const {
    binning<Carrier> made = common();
    const double centre = value_at<Carrier>(type_, made.centre);
    made.shift = static_cast<float>(edges_.front() - before - centre);
    made.scale = static_cast<float>(static_cast<double>(steps) / (edges_.back() - edges_.front()));
    made.steps = steps;
    made.ceiling = ceiling(steps);
    return made;
  }

  [[nodiscard]] binning<Carrier> on_keys(float steps) const {
    binning<Carrier> made = common();
    const auto half = static_cast<double>(made.high - made.low) / 2;
    made.shift = static_cast<float>(-half);
    made.scale = half > 0 ? static_cast<float>(static_cast<double>(steps) / (2 * half)) : 1.0F;
    made.steps = steps;
    made.ceiling = steps + 0.5F;
    return made;
  }

  static bool usable(const binning<Carrier>& made) {
    return std::isfinite(made.scale) && made.scale > 0 && std::isfinite(made.shift);
  }

  [[nodiscard]] float estimate_at(const binning<Carrier>& in, key at) const {
    return estimate(in, carrier_of<Carrier>(at));
  }

  // How far the estimate of a threshold is below its number, or that of the key before it above its number, at most.
  [[nodiscard]] float tolerance(const binning<Carrier>& in) const {
    float largest = 0;
    for (std::size_t i = 0; i < thresholds_.size(); ++i) {
      const auto number = static_cast<float>(i);
      largest = std::max(largest, number - estimate_at(in, thresholds_[i]));
      if (thresholds_[i] != all_.first) largest = std::max(largest, estimate_at(in, thresholds_[i] - 1) - number);
      if (largest > largest_tolerance) break;
    }
    return largest;
  }

  [[nodiscard]] float cells() const {
    return static_cast<float>(std::clamp(std::bit_ceil(cells_per_bin * bins()), min_cells, max_cells));
  }

  [[nodiscard]] std::vector<std::uint32_t> guide_of(const binning<Carrier>& in) const {
    return guide_for([&](key at) { return nearest(estimate_at(in, at)).slot(); });
  }

  // Whether every threshold is the key of a value: the one after infinity is not.
  [[nodiscard]] bool reaches_infinity() const { return thresholds_.back() <= all_.last; }

  [[nodiscard]] quick_binning<Carrier> quick_of(float steps, double before) const {
    const double lower = edges_.front() - before;
    const double largest = static_cast<double>(steps) + 1.5;
    const double scale = static_cast<double>(steps) / (edges_.back() - edges_.front()) / largest;
    quick_binning<Carrier> made{.is_unsigned = type_ == sample_type::uint32,
                                .origin = static_cast<typename quick_binning<Carrier>::difference>(lower),
                                .scale = static_cast<float>(scale),
                                .offset = static_cast<float>(1 / largest),
                                .steps = static_cast<float>(largest)};
    made.usable = std::isnormal(made.scale) && made.scale > 0 && std::isfinite(made.origin);
    return made;
  }

  // As tolerance(), for quick positions. The largest value of the type must not be beyond the last threshold's slot.
  [[nodiscard]] float quick_tolerance(const quick_binning<Carrier>& in) const {
    if (thresholds_.empty() || !reaches_infinity()) return 1;
    const auto position = [&](key at) {
      const quick_position found = quick_position_of(in, carrier_of<Carrier>(at));
      return static_cast<double>(found.slot) + static_cast<double>(found.from_middle) + 0.5;
    };
    double largest = 0;
    if (thresholds_.size() != edges_.size())
      largest = position(all_.last) - static_cast<double>(thresholds_.size() + 1);
    for (std::size_t i = 0; i < thresholds_.size() && largest <= static_cast<double>(largest_tolerance); ++i) {
      const auto number = static_cast<double>(i + 1);
      largest = std::max(largest, number - position(thresholds_[i]));
      if (thresholds_[i] != all_.first) largest = std::max(largest, position(thresholds_[i] - 1) - number);
    }
    return static_cast<float>(largest);
  }

  sample_type type_;
  key_range<key> all_;
  const std::vector<double>& edges_;
  const std::vector<key>& thresholds_;
};

}  // namespace

template <class Carrier>
tables<Carrier> make_tables(sample_type type, const std::vector<double>& edges,
                            std::vector<key_of_carrier<Carrier>> thresholds) {
  const chooser<Carrier> choose(type, edges, thresholds);
  tables<Carrier> made;
  made.direct = choose.direct();
  made.quick = choose.quick();
  if (!made.is_direct() || !made.quick.usable) choose.make_guided(made);
  if (!made.quick.usable) choose.make_quick_cells(made);
  made.thresholds = std::move(thresholds);
  return made;
}

template tables<std::uint32_t> make_tables(sample_type, const std::vector<double>&, std::vector<std::uint32_t>);
template tables<float> make_tables(sample_type, const std::vector<double>&, std::vector<std::uint32_t>);
template tables<std::uint64_t> make_tables(sample_type, const std::vector<double>&, std::vector<std::uint64_t>);
template tables<double> make_tables(sample_type, const std::vector<double>&, std::vector<std::uint64_t>);

}  // namespace gpuhist::gpu::samples
