#include "library/counting_plan.hpp"

#include "config/option_table.hpp"
#include "config/option_values.hpp"
#include "config/usage_error.hpp"
#include "gpu/engines.hpp"
#include "library/resolve.hpp"
#include "pipeline/flow/inputs/input_list.hpp"
#include "pipeline/flow/inputs/listed_input.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

namespace gpuhist::library {
namespace {

io::path_filter resolve_filter(const tree_options& trees) {
  io::path_filter made;
  for (const std::string& each : trees.include) made.include.emplace_back(each);
  for (const std::string& each : trees.exclude) made.exclude.emplace_back(each);
  return made;
}

bool contains_standard_input(const std::vector<std::string>& inputs) {
  return std::ranges::find(inputs, "-") != inputs.end();
}

void check_standard_input(const file_options& options) {
  const bool is_list = options.list && options.list->path == "-";
  const bool is_input = contains_standard_input(options.inputs);
  if (is_list && is_input) {
    throw config::option_error("files-from",
                               "standard input cannot be an input ('-') and the list of inputs; give one of them");
  }
  if ((is_list || is_input) && !options.standard_input) {
    throw config::usage_error(std::string(is_list ? "--files-from" : "file_options::inputs") +
                              ": '-' is standard input; set file_options::standard_input, or write './-' for a file");
  }
}

void resolve_inputs(const file_options& options, counting_plan& planned) {
  if (options.inputs.empty() && !options.list) {
    throw config::usage_error("file_options::inputs: there are none; give paths, or file_options::list");
  }
  check_standard_input(options);
  planned.inputs = options.inputs;
  planned.standard_input = options.standard_input;
  if (options.list) {
    planned.list = options.list->path;
    planned.list_end = options.list->terminator;
  }
  if (options.trees) {
    planned.trees = {.filter = resolve_filter(*options.trees), .follow_links = options.trees->follow_symlinks};
  }
}

gpu::engine_forecast forecast(const counting_plan& so_far) {
  if (so_far.engine == "host" && (!so_far.devices.empty() || so_far.all_devices)) {
    throw config::option_error("devices",
                               "--engine host counts on no device; give --engine cuda (or auto), or no --devices");
  }
  try {
    return gpu::forecast_engine(so_far.engine, {.counted = so_far.partition,
                                                .run = {},
                                                .streams = so_far.streams,
                                                .devices = so_far.devices,
                                                .all_devices = so_far.all_devices});
  } catch (const gpu::engine_error& refused) {
    throw gpu::engine_error(std::string("--devices: ") + refused.what());
  }
}

void check_followed(const file_options& options) {
  if (!options.follow) return;
  if (options.list) throw config::option_error("follow", "follows named files and trees; leave out --files-from");
  if (contains_standard_input(options.inputs)) {
    throw config::option_error("follow", "needs names of files; a stream is read until it ends in any case");
  }
  if (options.encoding != text_encoding::automatic && options.encoding != text_encoding::utf8) {
    throw config::option_error("text-encoding",
                               "cannot be combined with --follow, which counts text as it is; write tail -c +1 -F "
                               "FILE | gpuhist --text-encoding utf-16");
  }
  if (options.utf8) {
    throw config::option_error("utf8", "cannot be combined with --follow; the text of a file that grows has no end");
  }
  if (options.pass_through) {
    throw config::option_error("pass-through",
                               "cannot be combined with --follow; write tail -F FILE | gpuhist --pass-through");
  }
}

io::text_encoding encoding_of(const file_options& options) {
  switch (options.encoding) {
    case text_encoding::automatic:
      return io::text_encoding::by_mark;
    case text_encoding::utf8:
      return io::text_encoding::utf8;
    case text_encoding::utf16:
      return io::text_encoding::utf16;
    case text_encoding::utf16le:
      return io::text_encoding::utf16le;
    case text_encoding::utf16be:
      return io::text_encoding::utf16be;
  }
  return io::text_encoding::by_mark;
}

bool is_regular(const std::string& input) {
  struct stat found{};
  const int failed = input == "-" ? ::fstat(STDIN_FILENO, &found) : ::stat(input.c_str(), &found);
  return failed == 0 && (S_ISREG(found.st_mode) || S_ISDIR(found.st_mode));
}

// Windows of time need inputs with times of arrival.
void check_time_of_inputs(const file_options& options, const counting_plan& so_far) {
  if (!so_far.windows || so_far.windows->unit != pipeline::pane_unit::milliseconds) return;
  if (options.follow || options.list || !std::ranges::all_of(options.inputs, is_regular)) return;
  throw config::option_error("window",
                             "all inputs are files, and their text has no times of arrival; give bytes or lines, such "
                             "as 64MiB or 100000lines");
}

void resolve_pass_through(const file_options& options, counting_plan& planned) {
  if (!options.pass_through) return;
  const bool is_text = options.pass_through->forwarded == pass_through_options::content::text;
  planned.passes_through = is_text ? pass_through_options::content::text : pass_through_options::content::input;
  planned.pass_through_descriptor = options.pass_through->descriptor;
}

// The option for which frames are decoded in sequence. Where parts of a fixed size begin depends on all text before.
std::string_view option_in_order(const counting_plan& planned) {
  const bool filters = planned.units && planned.units->filter;
  if (planned.windows) return "--window";
  if (planned.units && planned.units->shape.divides_text() && planned.units->shape.bytes) return "--each";
  if (planned.units && planned.units->drops_duplicates()) return "--duplicates drop";
  return planned.passes_through == pass_through_options::content::text && !filters ? "--pass-through=text" : "";
}

decltype(file_options::snapshot_every) resolve_interval(const file_options& options) {
  if (!options.snapshot_every) return std::nullopt;
  const auto* const time = std::get_if<std::chrono::milliseconds>(&*options.snapshot_every);
  const auto* const size = std::get_if<std::uint64_t>(&*options.snapshot_every);
  if ((time != nullptr && time->count() > 0) || (size != nullptr && *size > 0)) return options.snapshot_every;
  throw config::option_error("snapshot-every", "is not above 0");
}

// What is counted and checked.
void resolve_counts(const file_options& file, std::span<const asked_value> reported, counting_plan& planned) {
  const counting_options& options = file.counting;
  const std::vector<config::scheme> schemes = resolve_schemes(options);
  planned.measuring = resolve_measuring(options);
  const formula_context known{.schemes = schemes,
                              .measuring = planned.measuring,
                              .has_pairs = options.pairs,
                              .of_windows = options.windows && options.watch.windows,
                              .has_malformed = file.utf8,
                              .is_fed = planned.is_fed};
  planned.watched = resolve_watch(options, known);
  planned.units = resolve_units(file, known, planned.watched, reported);
  const bool by_byte = options.byte_counts || !planned.measuring.asked.empty() || planned.watched.needs_byte_counts() ||
                       (planned.units && planned.units->needs_byte_counts());
  planned.partition = by_byte ? gpu::partition::identity() : pipeline::coarsest_partition(schemes);
  planned.pairs = resolve_pairs(options, schemes);
  for (const config::scheme& each : schemes) {
    planned.schemes.push_back(pipeline::view_through(each, planned.partition, planned.pairs));
  }
  planned.byte_counts = options.byte_counts;
  planned.ignore_case = options.ignore_case;
}

// What counts.
void resolve_engines(const counting_options& options, counting_plan& planned) {
  planned.engine = resolve_engine(options.counting_engine);
  planned.kernel = resolve_kernel(options, planned.partition);
  planned.threads = resolve_threads(options.threads);
  planned.streams = options.streams;
  planned.device_memory = options.device_memory;
  planned.devices = options.devices;
  planned.all_devices = options.all_devices;
  planned.forecast = forecast(planned);
}

counting_plan plan_of(const file_options& options, bool is_fed, std::span<const asked_value> reported = {}) {
  if (!options.counting.baseline_file.empty()) {
    file_options loaded = options;
    std::string warning = load_baseline(loaded.counting);
    counting_plan made = plan_of(loaded, is_fed, reported);
    made.measuring.warning = std::move(warning);
    return made;
  }
  config::check_ranges(options);
  counting_plan planned;
  planned.is_fed = is_fed;
  resolve_inputs(options, planned);
  planned.label = options.label;
  planned.forced_format = resolve_input_format(options.format);
  planned.dictionary = resolve_dictionary(options.dictionary);
  if (options.max_output > 0) planned.max_output = options.max_output;
  planned.spilled_to.path = options.counting.temporary_folder;
  planned.decided = config::decided_options(options);
  planned.skip_damage = options.skip_damage;
  planned.strict_names = options.strict_names;
  planned.fail_on_unknown = options.fail_on_unknown;
  planned.encoding = encoding_of(options);
  planned.count_unverified = options.count_unverified;
  planned.follow = options.follow;
  planned.validates_utf8 = options.utf8;
  check_followed(options);
  resolve_counts(options, reported, planned);
  if (planned.units && planned.units->lines && planned.units->lines->closes_windows()) {
    planned.archives_refused = "is an archive, and --allowed-lateness is for one text; extract it, or leave it out";
  }
  planned.watched.growing = options.follow;
  resolve_engines(options.counting, planned);
  if (planned.forecast.shared && !planned.list && !planned.follow) {
    planned.source_bytes = pipeline::expected_source_bytes(planned.inputs, planned.trees);
  }
  resolve_pass_through(options, planned);
  planned.windows = resolve_windows(options.counting);
  if (planned.windows) planned.windows->interleaved = options.follow;
  check_time_of_inputs(options, planned);
  planned.in_order_for = option_in_order(planned);
  planned.snapshot_every = resolve_interval(options);
  size_buffers(options, planned);
  return planned;
}

}  // namespace

counting_plan make_plan(const file_options& options, std::span<const asked_value> reported) {
  return plan_of(options, false, reported);
}

counting_plan make_plan(const counting_options& options) {
  constexpr std::uint64_t default_memory_limit = std::uint64_t{256} << 20U;
  file_options fed{.inputs = {"/dev/null"}, .counting = options};  // none is read
  if (options.memory_limit == 0) fed.counting.memory_limit = default_memory_limit;
  counting_plan planned = plan_of(fed, true);
  planned.inputs.clear();
  planned.source_bytes.reset();
  if (planned.windows) planned.windows->interleaved = true;
  return planned;
}

void set_outputs(counting_plan& planned, std::shared_ptr<const io::output_files> outputs) {
  planned.outputs = std::move(outputs);
  pipeline::refuse_outputs_as_inputs(planned);
}

report::run_report make_report(const counting_plan& planned, report::run_report::kind kind,
                               pipeline::run_counts counts) {
  report::run_report made;
  static_cast<pipeline::run_counts&>(made) = std::move(counts);
  if (planned.validates_utf8 && !made.utf8) made.utf8.emplace();
  made.type = kind;
  made.schemes = planned.schemes;
  made.byte_counts = planned.byte_counts;
  made.measuring = planned.measuring;
  made.ignore_case = planned.ignore_case;
  if (planned.units && planned.units->lines && planned.units->lines->matches) {
    for (const report::lines::match_expression& each : planned.units->lines->matches->expressions()) {
      made.matches.push_back(each.name);
    }
  }
  return made;
}

}  // namespace gpuhist::library
