#include "command/filter_run.hpp"

#include "command/file_guard.hpp"
#include "command/filter/folder_record.hpp"
#include "command/filter/output_folder.hpp"
#include "command/filter/output_names.hpp"
#include "command/filter/text_encoder.hpp"
#include "command/job_options.hpp"
#include "command/run_messages.hpp"
#include "command/typed_options.hpp"
#include "config/size.hpp"
#include "config/usage_error.hpp"
#include "library/default_memory_limit.hpp"
#include "library/file_run.hpp"
#include "library/resolve.hpp"
#include "library/results.hpp"
#include "report/formats/report.hpp"
#include "report/formats/table_sections.hpp"
#include "report/formats/text.hpp"
#include "report/output/messages.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace gpuhist::command {

namespace {

std::string units_text(std::uint64_t number, std::uint64_t bytes) {
  return config::grouped(number) + " (" + config::number_of(bytes, "byte") + ")";
}

// "; 3 lines are without field, and were dropped"
std::string missing_text(const plan& planned, std::uint64_t lines) {
  if (lines == 0) return "";
  const bool are_selected = planned.units->selects_missing();
  const bool are_kept = planned.units->filter->keeps(are_selected ? 1.0 : report::gates::unknown);
  return "; " + config::number_of(lines, "line") + (lines == 1 ? " is" : " are") + " without field, and " +
         (lines == 1 ? "was " : "were ") + (are_kept ? "kept" : "dropped");
}

// "kept 9,990 (1,020,304 bytes) of 10,000 (1,024,000 bytes), each line"
std::string summary_of_filter(const plan& planned, const report::units::unit_totals& found,
                              const summary_words& words) {
  const report::units::unit_totals kept = report::units::kept_of(found, planned.units->filter->units);
  std::string text = words.before + units_text(kept.seen, kept.bytes) + " of " + units_text(found.seen, found.bytes) +
                     words.after + ", each " + planned.units->each;
  if (found.unverified > 0) {
    text += "; dropped " + units_text(found.unverified, found.unverified_bytes) + " with unverified text";
  }
  return text + missing_text(planned, found.without_field);
}

void write_result(const report::run_report& result, dropped_units& to) {
  to.writer.write_result(result);
  to.file.commit();
}

}  // namespace

bool lacks_damaged_text_only(const plan& planned, const library::finished_run& finished) {
  const file_outcome& outcome = finished.outcome;
  const report::run_report& result = outcome.result.shared().content;
  const bool is_whole_run = !finished.is_stopped && outcome.status == run_status::incomplete &&
                            outcome.result.error().empty() && !outcome.pass_through_error &&
                            outcome.not_passed_through == 0;
  if (!planned.skip_damage || !is_whole_run || result.units->early_ends > 0) return false;
  if (result.units->missing) return false;
  return std::ranges::all_of(result.inputs, [](const pipeline::input_report& each) {
    const bool has_skipped = each.error_kind == io::failure_kind::refused && each.number_of_lost_ranges > 0;
    return each.complete || each.error_kind == io::failure_kind::damaged || has_skipped;
  });
}

dropped_units::dropped_units(const std::string& name, report::console& screen, const io::open_descriptors& inherited)
    : file(name, report::writing::whole, inherited),
      writer(file, *report::find_report_format("jsonl"), screen, report::report_writer::fault::ends_run,
             report::make_run_id()) {}

std::unique_ptr<dropped_units> open_result(const config::options& typed, report::console& screen,
                                           const io::open_descriptors& inherited) {
  return typed.result ? std::make_unique<dropped_units>(*typed.result, screen, inherited) : nullptr;
}

std::string name_of_result(const config::options& typed) {
  return typed.where("--result") + " " + report::printable(*typed.result);
}

library::finished_run run_filter(const plan& planned, const command_frame& frame, report::console& screen,
                                 dropped_units* dropped, output_folder* outputs) {
  file_events events;
  if (!planned.quiet) {
    events.on_notice = [&screen](std::string_view notice) {
      screen.say("gpuhist: " + report::printable(notice) + "\n");
    };
  }
  library::process_hooks hooks = frame.hooks(screen);
  if (dropped != nullptr) {
    hooks.unit_lines = [dropped](const report::run_report& of_run) { return dropped->writer.unit_lines(of_run); };
  }
  if (outputs != nullptr) {
    hooks.outlets = outputs;
    hooks.on_input = [outputs](const pipeline::input_report& input) { outputs->note_finished(input); };
  }
  return library::file_run(planned, events, frame.stop().get_token(), std::move(hooks)).run();
}

ending::status conclude_filter(const plan& planned, const library::finished_run& finished,
                               const std::string& output_name, dropped_units* dropped,
                               const std::function<bool()>& publish, const std::function<summary_words()>& words) {
  const file_outcome& outcome = finished.outcome;
  const report::run_report& result = outcome.result.shared().content;
  print_failures(planned, outcome, output_name, passed_text::kept);
  if (!planned.quiet) print_skipped(planned, outcome);
  suggest_command(planned.inputs);
  const bool is_complete = publish() && outcome.status == run_status::complete;
  if (dropped != nullptr) write_result(result, *dropped);
  if (result.stats)
    report::write_to_standard_error(report::render_stats(*result.stats, report::target_for_standard_error()));
  if (consumer_left(outcome))
    throw io::destination_error(EPIPE, std::system_category(), "cannot write standard output");
  if (!planned.quiet && !outcome.pass_through_error) {
    report::complain(summary_of_filter(planned, result.units->totals, words()));
    report::write_to_standard_error(report::rule_lines(*result.units, report::target_for_standard_error()));
  }
  return is_complete ? ending::counted_all : ending::input_failed;
}

// Typed options -> plan -> list of inputs -> outputs to be written -> run -> result.

namespace {

namespace fs = std::filesystem;

std::uint64_t threads_of(const config::options& typed) { return library::resolve_threads(typed.run.counting.threads); }

std::uint64_t memory_of_encoder_of(const config::options& typed) {
  return memory_of_encoder(typed.compress.value_or(config::output_compression{}));
}

// Each thread filters one input at a time. Encoders get up to half of the memory limit, the run gets the rest.
config::options with_room_for_encoders(config::options typed) {
  const std::uint64_t of_thread = memory_of_encoder_of(typed);
  const std::uint64_t limit = library::memory_limit_of(typed.run.counting);
  if (of_thread > limit / 2) {
    throw config::option_error("memory-limit", "compressing an output needs " + config::format_size(of_thread) +
                                                   ", more than half of the limit of " + config::format_size(limit) +
                                                   "; give a lower level in --compress, or a higher limit");
  }
  typed.run.counting.threads = static_cast<unsigned>(std::min(threads_of(typed), limit / 2 / of_thread));
  typed.run.counting.memory_limit = limit - typed.run.counting.threads * of_thread;
  return typed;
}

plan make_folder_plan(const config::options& typed) {
  plan made = make_plan(with_room_for_encoders(typed));
  if (made.threads < threads_of(typed)) {
    config::options unlimited = typed;  // for messages: with a higher limit there are as many threads as were requested
    unlimited.run.counting.memory_limit = config::no_memory_limit;
    unlimited.run.dictionary.clear();  // it may be a stream, which was read
    made.buffers.besides_windows = make_plan(unlimited).buffers.besides_windows;
  }
  made.buffers.besides_windows.bytes += threads_of(typed) * memory_of_encoder_of(typed);
  if (typed.shard && made.units->drops_duplicates()) {
    throw config::option_error(
        "shard", "cannot be combined with " + typed.where("--duplicates") +
                     " drop, which compares with all inputs before; drop duplicates of the outputs of all "
                     "shards, in a run of its own");
  }
  if (typed.resume && made.units->drops_duplicates()) {
    throw config::option_error("resume",
                               "cannot be combined with --duplicates drop, which compares all inputs; give "
                               "--force to filter all of them again");
  }
  made.passes_through.reset();
  made.archives_refused = "is an archive, and its members have no outputs in " + typed.where("--output-dir") +
                          "; extract it and give its files, or give --output for the text of all members";
  return made;
}

void refuse_result_as_output(const config::options& typed, const std::vector<planned_output>& outputs) {
  if (!typed.result) return;
  std::error_code ignored;
  const auto resolved = [&](const fs::path& path) {
    return fs::weakly_canonical(fs::absolute(path, ignored), ignored);
  };
  const fs::path result = resolved(*typed.result);
  const fs::path name = result.lexically_relative(resolved(fs::path(*typed.output_dir) / record_name).parent_path());
  const bool is_output = std::ranges::any_of(outputs, [&](const planned_output& each) { return name == each.name; });
  if (!is_output && !is_record_name(name.string())) return;
  throw config::usage_error(name_of_result(typed) + " is also an output in --output-dir; give another file");
}

folder_work work_of(const config::options& typed, std::vector<planned_output> all,
                    const pipeline::looked_up_inputs& found, const earlier_outputs& earlier) {
  return outputs_to_write(*typed.output_dir, std::move(all), found, earlier,
                          {.are_resumed = typed.resume,
                           .are_replaced = typed.force,
                           .may_lack_text = typed.run.skip_damage,
                           .named_by = typed.where("--output-dir"),
                           .read = read_files(typed)});
}

// The inputs of these outputs, and those with errors.
pipeline::looked_up_inputs remaining_inputs(const pipeline::looked_up_inputs& found,
                                            std::vector<planned_output>& outputs) {
  pipeline::looked_up_inputs made{.inputs = {}, .skipped = found.skipped, .empty_trees = found.empty_trees};
  auto next = outputs.begin();
  for (std::size_t i = 0; i < found.inputs.size(); ++i) {
    const bool has_output = next != outputs.end() && next->input == i;
    if (has_output) (next++)->input = made.inputs.size();
    if (has_output || !found.inputs[i].error.is_none()) made.inputs.push_back(found.inputs[i]);
  }
  return made;
}

std::string number_of_more(std::size_t number, const char* state) {
  return number == 0 ? "" : ", " + config::grouped(number) + " more " + (number == 1 ? "was " : "were ") + state;
}

// "clean: 12 outputs, 3 more were complete; ": before what the inputs of this run had.
std::string text_of(const config::options& typed, const output_folder& outputs, std::size_t complete) {
  const std::size_t failed = outputs.failures().size();
  return report::printable(*typed.output_dir) + ": " + config::number_of(outputs.written(), "output") +
         number_of_more(complete, "complete") + number_of_more(failed, "not written") +
         (failed == 0 ? "; " : "; together they would have ");
}

// One run over the inputs whose outputs are missing.
class folder_filter {
 public:
  folder_filter(const config::options& typed, const io::open_descriptors& open_descriptors)
      : typed_(typed), planned_(make_folder_plan(typed)) {
    planned_.descriptors = open_descriptors;
    dropped_ = open_result(typed, screen_, open_descriptors);
    if (!dropped_) return;
    planned_.output_name = name_of_result(typed);
    library::set_outputs(planned_, dropped_->file.files());
  }

  ending run() {
    const std::string options = options_of_output(typed_, planned_);
    const pipeline::looked_up_inputs found = library::look_up_inputs(planned_);
    const fs::path folder = *typed_.output_dir;
    const config::shard_choice shard = shard_of(typed_);
    std::vector<planned_output> all = plan_outputs(typed_, planned_, found, shard);
    refuse_result_as_output(typed_, all);
    const folder_lock lock(folder, shard);  // what is in the folder is looked up when no other process writes to it
    folder_work work = work_of(typed_, std::move(all), found, read_record(folder, options));
    folder_record record(folder, record_name_of(shard), options);
    const auto remaining = std::make_shared<pipeline::looked_up_inputs>(remaining_inputs(found, work.outputs));
    planned_.looked_up = remaining;
    output_folder outputs(folder, std::move(work.outputs), *remaining, record, *planned_.units);
    return run_with(outputs, work);
  }

 private:
  ending run_with(output_folder& outputs, const folder_work& work) {
    const command_frame frame(planned_.measuring.warning);
    const library::finished_run finished = run_filter(planned_, frame, screen_, dropped_.get(), &outputs);
    return frame.end(finished, [&] {
      return conclude_filter(
          planned_, finished, report::printable(*typed_.output_dir), dropped_.get(),
          [&] { return print_failures(outputs, work); },
          [&] { return summary_words{.before = text_of(typed_, outputs, work.complete) + "kept "}; });
    });
  }

  // The exit status does not depend on how many runs the outputs took.
  [[nodiscard]] bool print_failures(const output_folder& outputs, const folder_work& work) const {
    const std::vector<std::string> failures = outputs.failures();
    for (const std::string& each : failures) report::complain(each);
    if (work.lacking_text > 0) {
      report::complain(report::printable(*typed_.output_dir) + ": " + config::grouped(work.lacking_text) +
                       " of the outputs that were complete " + (work.lacking_text == 1 ? "lacks" : "lack") +
                       " damaged text of the input");
    }
    return failures.empty() && work.lacking_text == 0;
  }

  const config::options& typed_;
  report::console screen_;
  plan planned_;
  std::unique_ptr<dropped_units> dropped_;
};

}  // namespace

ending filter_into_folder(const config::options& typed, const io::open_descriptors& open_descriptors) {
  return folder_filter(typed, open_descriptors).run();
}

}  // namespace gpuhist::command
