// `gpuhist filter [FILE...]`: typed options -> plan -> run, which writes the text of the units that are kept -> result.
#include "command/command_frame.hpp"
#include "command/commands.hpp"
#include "command/filter_run.hpp"
#include "command/plan.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "io/output_files.hpp"
#include "library/file_run.hpp"
#include "library/results.hpp"
#include "report/formats/report.hpp"
#include "report/output/destination.hpp"
#include "report/output/messages.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace gpuhist::command {
namespace {

namespace fs = std::filesystem;

// The text and the result would overwrite each other. Devices and FIFOs take both.
void refuse_one_file_for_both(const config::options& typed) {
  if (!typed.result) return;
  const auto refuse = [&](const std::string& output) {
    throw config::option_error("result",
                               report::printable(*typed.result) + " is also " + output + "; give another file");
  };
  const bool is_standard_output = names_standard_output(*typed.result);
  if (!typed.output) return is_standard_output ? refuse("the output of the text") : void();
  if (is_standard_output && names_standard_output(*typed.output)) return refuse("--output");
  std::error_code ignored;
  const fs::path result = fs::absolute(*typed.result, ignored);
  const fs::path output = fs::absolute(*typed.output, ignored);
  if (fs::exists(result, ignored) ? fs::is_regular_file(result, ignored) && fs::equivalent(result, output, ignored)
                                  : result.lexically_normal() == output.lexically_normal()) {
    refuse("--output");
  }
}

// Neither the text nor the result is an input.
void set_both_outputs(plan& planned, const report::destination& text, const config::options& typed,
                      const dropped_units* dropped) {
  if (dropped == nullptr) return library::set_outputs(planned, text.files());
  const std::string output_name = std::exchange(planned.output_name, name_of_result(typed));
  library::set_outputs(planned, dropped->file.files());
  planned.output_name = output_name;
  library::set_outputs(planned, text.files());
  planned.output_name += " or " + typed.where("--result");
  const auto both = std::make_shared<io::output_files>();
  both->include(text.files());
  both->include(dropped->file.files());
  library::set_outputs(planned, both);
}

// Text that misses a part must not look like a whole: a regular file gets its name only if the run was complete, except
// for what --skip-damage skipped.
bool publish(const plan& planned, const library::finished_run& finished, const std::string& name,
             report::destination& text) {
  const bool is_complete = finished.outcome.status == run_status::complete;
  if (is_complete || lacks_damaged_text_only(planned, finished)) {
    text.commit();
  } else if (!text.pending_path().empty()) {
    const bool lacks_fields = finished.outcome.result.shared().content.units->missing.has_value();
    report::complain(name + " was not written, because " +
                     (lacks_fields ? "lines are without field" : "the text is not complete"));
  }
  return is_complete;
}

ending filter_into_one(const config::options& typed, const io::open_descriptors& open_descriptors) {
  plan planned = make_plan(typed);
  refuse_one_file_for_both(typed);
  report::destination text(typed.output, report::writing::whole, open_descriptors);
  planned.descriptors = open_descriptors;
  report::console screen;
  const std::unique_ptr<dropped_units> dropped = open_result(typed, screen, open_descriptors);
  set_both_outputs(planned, text, typed, dropped.get());
  const command_frame frame(planned.measuring.warning);
  planned.pass_through_descriptor = text.descriptor();
  const library::finished_run finished = run_filter(planned, frame, screen, dropped.get());
  const std::string name = planned.output ? report::printable(*planned.output) : "standard output";
  return frame.end(finished, [&] {
    return conclude_filter(
        planned, finished, name, dropped.get(), [&] { return publish(planned, finished, name, text); },
        [&] {
          return text.pending_path().empty()
                     ? summary_words()
                     : summary_words{.before = "of the text that was read, ", .after = " would be kept"};
        });
  });
}

}  // namespace

ending filter_inputs(const config::options& typed, const io::open_descriptors& open_descriptors) {
  return typed.output_dir ? filter_into_folder(typed, open_descriptors) : filter_into_one(typed, open_descriptors);
}

}  // namespace gpuhist::command
