// `gpuhist sample`: the shares of buckets in much text from a random sample of it, with bounds.
#include "batch/job_planning.hpp"
#include "batch/sampling.hpp"
#include "command/command_frame.hpp"
#include "command/commands.hpp"
#include "command/plan.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "library/results.hpp"
#include "report/formats/sample_report.hpp"
#include "report/output/destination.hpp"
#include "report/output/messages.hpp"
#include "report/output/terminal.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::command {
namespace {

constexpr double failure_probability = 0.001;  // that a share is outside of its bounds
constexpr std::size_t most_draws = std::size_t{1} << 18U;

void check(const config::options& typed) {
  const std::string format = format_name_of(typed);
  if (format != "table" && format != "json") {
    throw config::option_error(typed.format ? "format" : "output",
                               "a sample has no format " + config::quote(format) + "; give table or json");
  }
  if (typed.sample_error && typed.given.contains("size")) {
    throw config::option_error("error", "decides how much is read; leave --size out");
  }
}

std::uint64_t seed_of(const config::options& typed) {
  if (typed.seed) return *typed.seed;
  std::random_device device;
  return std::uint64_t{device()} << 20U ^ device();  // below 2^53: readers of JSON keep all digits
}

// Cells of plain text are small, so that there are many, but so large that to find them takes less time than to read
// them.
std::uint64_t cell_of(std::uint64_t sample_bytes) {
  constexpr std::uint64_t cells = 16'384;
  constexpr std::uint64_t smallest = std::uint64_t{4} << 10U;
  constexpr std::uint64_t largest = std::uint64_t{16} << 20U;
  return std::clamp(std::bit_floor(std::max<std::uint64_t>(sample_bytes / cells, 1)), smallest, largest);
}

// The samples so far, in the order in which they were drawn.
class drawn_samples {
 public:
  explicit drawn_samples(const plan& planned) : plan_(planned) {}

  [[nodiscard]] std::size_t draws() const { return cell_of_draw_.size(); }

  void add(const std::vector<batch::drawn_cell>& cells, std::size_t draws) {
    const std::size_t first = counts_.size();
    cell_of_draw_.resize(cell_of_draw_.size() + draws);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      for (const std::size_t draw : cells[i].draws) cell_of_draw_[draw] = first + i;
    }
    next_ = first;
    counts_.resize(first + cells.size());
  }

  // The next cell, in the order of add().
  void note(const pipeline::input_report& cell) {
    if (next_ == counts_.size()) return;
    std::optional<gpu::tally>& counted = counts_[next_++];
    if (cell.complete && cell.verified.bytes() > 0) counted = cell.verified;
    read_bytes_ += cell.verified.bytes() + cell.unverified.bytes();
  }

  void add_to(report::sample_report& to, double alpha) const {
    to.draws = draws();
    to.cells = counts_.size();
    to.read_bytes = read_bytes_;
    to.failed_draws = static_cast<std::uint64_t>(
        std::ranges::count_if(cell_of_draw_, [&](std::size_t cell) { return !counts_[cell].has_value(); }));
    const std::size_t buckets = std::accumulate(
        plan_.schemes.begin(), plan_.schemes.end(), std::size_t{0},
        [](std::size_t sum, const pipeline::scheme_view& each) { return sum + each.scheme.buckets.size(); });
    to.schemes.clear();
    for (const pipeline::scheme_view& each : plan_.schemes) {
      to.schemes.push_back(of(each, alpha / static_cast<double>(buckets)));
    }
  }

 private:
  [[nodiscard]] report::sampled_scheme of(const pipeline::scheme_view& view, double alpha) const {
    report::sampled_scheme made{.name = view.scheme.name, .buckets = view.scheme.buckets, .shares = {}};
    std::vector<std::vector<double>> shares(made.buckets.size(), std::vector<double>(counts_.size()));
    for (std::size_t cell = 0; cell < counts_.size(); ++cell) {
      if (!counts_[cell]) continue;
      const std::vector<std::uint64_t> folded = view.fold(*counts_[cell]);
      const auto all = static_cast<double>(counts_[cell]->bytes());
      for (std::size_t i = 0; i < folded.size(); ++i) shares[i][cell] = static_cast<double>(folded[i]) / all;
    }
    for (const std::vector<double>& each : shares) made.shares.push_back(of(each, alpha));
    return made;
  }

  [[nodiscard]] report::sampled_share of(const std::vector<double>& by_cell, double alpha) const {
    std::vector<double> at_least;
    std::vector<double> at_most;
    double sum = 0;
    std::size_t read = 0;
    for (const std::size_t cell : cell_of_draw_) {
      const bool is_known = counts_[cell].has_value();
      at_least.push_back(by_cell[cell]);
      at_most.push_back(is_known ? by_cell[cell] : 1);
      sum += by_cell[cell];
      read += is_known ? 1 : 0;
    }
    return {.share = read > 0 ? sum / static_cast<double>(read) : 0,
            .within = report::measures::interval_of_mean(at_least, at_most, alpha)};
  }

  const plan& plan_;
  std::vector<std::size_t> cell_of_draw_;
  std::vector<std::optional<gpu::tally>> counts_;  // of each cell; nothing: it could not be read
  std::size_t next_ = 0;
  std::uint64_t read_bytes_ = 0;
};

double widest_error(const report::sample_report& content) {
  double widest = 0;
  for (const report::sampled_scheme& scheme : content.schemes) {
    for (const report::sampled_share& each : scheme.shares) {
      widest = std::max({widest, each.within.at_most - each.share, each.share - each.within.at_least});
    }
  }
  return widest;
}

// Reads further cells. Returns whether the run was stopped.
library::finished_run read_more(plan& planned, const batch::sampled_inputs& inputs, std::mt19937_64& random,
                                std::size_t draws, drawn_samples& to, const command_frame& frame,
                                report::console& screen) {
  const std::vector<batch::drawn_cell> cells = inputs.draw(random, to.draws(), draws);
  batch::manifest pieces;
  for (const batch::drawn_cell& each : cells) pieces.entries.push_back(each.entry);
  std::vector<std::size_t> all(cells.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  planned.looked_up =
      std::make_shared<const pipeline::looked_up_inputs>(batch::inputs_of(pieces, all, batch::no_text_of(planned)));
  to.add(cells, draws);
  library::process_hooks hooks = frame.hooks(screen);
  hooks.on_input = [&](const pipeline::input_report& cell) { to.note(cell); };
  return library::file_run(planned, {}, frame.stop().get_token(), std::move(hooks)).run();
}

void complain_of_failures(const pipeline::input_reports& inputs, bool quiet) {
  for (const pipeline::input_report& each : inputs) {
    if (!each.complete && !quiet) report::complain(report::printable(each.name) + ": " + each.error);
  }
}

}  // namespace

ending sample(const config::options& typed, const io::open_descriptors& open_descriptors) {
  check(typed);
  plan planned = make_plan(typed);
  planned.descriptors = open_descriptors;
  report::destination output(typed.output, report::writing::whole, open_descriptors);
  library::set_outputs(planned, output.files());
  const command_frame frame;
  report::console screen;
  const std::uint64_t first_bytes = typed.sample_error ? std::uint64_t{64} << 20U : typed.sample_bytes;
  const batch::sampled_inputs inputs(planned, cell_of(typed.sample_error ? std::uint64_t{1} << 30U : first_bytes));
  report::sample_report made{.schemes = {},
                             .confidence = 1 - failure_probability,
                             .seed = seed_of(typed),
                             .text_bytes = inputs.text_bytes(),
                             .unsampled = inputs.unsampled()};
  bool has_failed = false;
  for (const report::left_out& each : made.unsampled) {
    if (each.has_failed) report::complain(report::printable(each.name) + ": " + report::printable(each.cause));
    has_failed = has_failed || each.has_failed;
  }
  if (inputs.text_bytes() == 0) {
    report::complain("there is no text of which a sample can be taken" +
                     (made.unsampled.empty() || has_failed
                          ? std::string()
                          : ": " + report::printable(made.unsampled.front().name) + ": " +
                                report::printable(made.unsampled.front().cause)));
    return frame.end(ending::input_failed);
  }
  std::mt19937_64 random(made.seed);
  drawn_samples samples(planned);
  auto draws = static_cast<std::size_t>(
      std::clamp(std::round(static_cast<double>(first_bytes) / inputs.bytes_of_draw()), 1.0, double{most_draws}));
  // after each round bounds are compared, so that all rounds together may fail with the probability
  for (unsigned round = 1;; ++round) {
    const library::finished_run finished = read_more(planned, inputs, random, draws, samples, frame, screen);
    complain_of_failures(finished.outcome.result.shared().content.inputs, planned.quiet);
    has_failed = has_failed || finished.outcome.status == run_status::incomplete;
    if (finished.is_stopped) return frame.end(ending::input_failed, ": there is no result", finished.end_at_once);
    samples.add_to(made, typed.sample_error ? failure_probability / (round * (round + 1.0)) : failure_probability);
    if (!typed.sample_error || widest_error(made) <= *typed.sample_error / 100 || samples.draws() >= most_draws) break;
    draws = samples.draws();
  }
  if (typed.sample_error && widest_error(made) > *typed.sample_error / 100) {
    report::complain("--error: not reached with " + config::grouped(samples.draws()) + " draws; the bounds are wider");
    has_failed = true;
  }
  output.write(format_name_of(typed) == "json" ? report::render_sample_json(made)
                                               : report::render_sample_table(made, report::target_for(output)));
  output.commit();
  return frame.end(has_failed ? ending::input_failed : ending::counted_all);
}

}  // namespace gpuhist::command
