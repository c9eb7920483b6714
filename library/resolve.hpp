// Names and numbers of options, resolved with the tables and the machine.
#pragma once

#include "config/scheme.hpp"
#include "gpu/tally.hpp"
#include "gpuhist/files.hpp"
#include "gpuhist/options.hpp"
#include "io/format.hpp"
#include "io/zstd/zstd_dictionary.hpp"
#include "pipeline/counts/windows/panes.hpp"
#include "report/conditions/formula.hpp"
#include "report/conditions/watcher.hpp"
#include "report/measures/measure.hpp"
#include "report/units/unit_plan.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::library {

// All throw config::usage_error; errors of one option are config::option_error. `option`: its key, "threads".

/// Throws for a name that a table does not have.
[[noreturn]] void unknown_name(std::string_view option, std::string_view name,
                               const std::vector<std::string_view>& known);

/// Null if each input's content decides: an empty name, or "auto".
const io::format* resolve_input_format(const std::string& name);

/// Null if the path is empty.
std::shared_ptr<const io::zstd_dictionary> resolve_dictionary(const std::string& path);

/// The name of the engine in gpu/engines.
std::string_view resolve_engine(engine chosen);

/// As given, or the number of cores, at most 64.
unsigned resolve_threads(unsigned given);

/// Refuses a kernel that the engine does not have, and a host kernel that cannot count this partition. Does not probe
/// for devices.
std::string resolve_kernel(const counting_options& options, const gpu::partition& counted);

std::vector<config::scheme> resolve_schemes(const counting_options& options);

/// The classes of pairs; nothing if pairs are not counted.
std::optional<gpu::partition> resolve_pairs(const counting_options& options, std::span<const config::scheme> schemes);

/// What names in formulas and conditions refer to. Borrows everything.
struct formula_context {
  std::span<const config::scheme> schemes;
  const report::measures::measuring& measuring;
  bool has_pairs = false;
  bool has_words = false;                   ///< the number of words of units is counted
  bool of_windows = false;                  ///< the formulas are evaluated for windows
  bool has_malformed = false;               ///< the number of malformed UTF-8 sequences is counted: --utf8, or of units
  bool is_fed = false;                      ///< run_plan::is_fed
  std::vector<std::string_view> columns{};  ///< names that are no formulas; for messages
  report::gates::line_names* lines = nullptr;  ///< facts of lines; null: formulas are not evaluated for lines
};

/// Names that a formula may have besides those of buckets and measures; for messages.
std::vector<std::string_view> possible_names(const formula_context& known);

/// The value of `option`. Throws for unknown names, and for measures that need a baseline or pairs if there are none.
report::gates::formula resolve_formula(std::string_view option, const std::string& text, const formula_context& known);
report::gates::condition resolve_condition(std::string_view option, const std::string& text,
                                           const formula_context& known);

/// Throws config::usage_error for an unknown measure, for a measure that needs a baseline if there is none, and for a
/// baseline that has no byte counts or is empty.
report::measures::measuring resolve_measuring(const counting_options& options);

/// A number of the values of a formula, and the option that asks for it.
struct asked_value {
  std::string_view option;
  report::gates::line_fact of;
};

/// Null: no units are measured. `reported`: of groups and windows, besides those of the options. Throws
/// config::usage_error for values outside their limits, for options that require others, and for unknown names.
std::shared_ptr<const report::units::unit_plan> resolve_units(const file_options& options, const formula_context& known,
                                                              const report::gates::watch_list& watched,
                                                              std::span<const asked_value> reported = {});

/// Throws config::usage_error for unknown names, for measures that need a baseline if there is none, and for options
/// that require a condition if there is none.
report::gates::watch_list resolve_watch(const counting_options& options, const formula_context& known);

/// Nothing without windows. Throws config::usage_error.
std::optional<pipeline::window_shape> resolve_windows(const counting_options& options);

/// Replaces counting_options::baseline_file by its content. Returns a warning about an incomplete result; empty: none.
/// Throws config::option_error for a file that cannot be read, has no byte counts or is empty.
std::string load_baseline(counting_options& options);

}  // namespace gpuhist::library
