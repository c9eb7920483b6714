#include "batch/job_outputs.hpp"

#include "library/event_publisher.hpp"
#include "library/unit_reports.hpp"
#include "report/formats/report_changes.hpp"
#include "report/formats/report_json.hpp"

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace gpuhist::batch {

namespace {

using json = nlohmann::ordered_json;

// A line for each report; `is_wanted` selects them.
void write_lines(result_files& to, const char* name, const report::run_report& frame, const manifest& inputs,
                 const job_ledger& ledger, bool (*is_wanted)(const pipeline::input_report&)) {
  to.write(name, [&](const report::text_sink& out) {
    for (std::size_t i = 0; i < inputs.entries.size(); ++i) {
      ledger.for_each_report(i, [&](const pipeline::input_report& each) {
        if (is_wanted(each)) out(report::input_json_line(frame, {}, each));
      });
    }
  });
}

report::run_report report_of(const library::counting_plan& planned, pipeline::run_counts counts) {
  return library::make_report(planned, report::run_report::kind::result, std::move(counts));
}

}  // namespace

bool write_outputs(result_files& to, const library::counting_plan& planned, const manifest& inputs,
                   const job_ledger& ledger, const recorded_units& units, const job_description& job) {
  pipeline::run_counts none;
  none.partition = planned.partition;
  const report::run_report frame = report_of(planned, std::move(none));
  write_lines(to, "files.jsonl", frame, inputs, ledger, [](const pipeline::input_report&) { return true; });
  write_lines(to, "errors.jsonl", frame, inputs, ledger,
              [](const pipeline::input_report& each) { return !each.complete; });
  pipeline::run_counts sum = ledger.counts();
  sum.complete = sum.complete && ledger.finished() == inputs.entries.size();
  report::run_report total = report_of(planned, std::move(sum));
  total.units = write_unit_outputs(to, planned, inputs.entries.size(), ledger, units);
  const report::units::change_result* const changes =
      total.units && total.units->changes ? &*total.units->changes : nullptr;
  if (changes != nullptr) {
    to.write("changes.txt", [&](const report::text_sink& out) { out(report::change_lines(total, *changes, {})); });
  }
  to.write("job.json", [&](const report::text_sink& out) {
    out(report::as_line(job_as_json(inputs, ledger, job, total.complete)));
  });
  report::object_text line;
  report::add_totals(line.members, total, {});
  line.members.add_number("input_count", std::uint64_t{ledger.reports()});
  to.write("total.json", [&](const report::text_sink& out) { out(line.take() + "\n"); });
  return changes != nullptr && changes->has_findings();
}

namespace {

// Opens each file once it is needed: a part without lines need not have one.
class line_readers {
 public:
  line_readers(const std::vector<line_files>& files, std::filesystem::path line_files::* which)
      : files_(files), which_(which), open_(files.size()) {}

  void copy(const line_extents& lines, std::uint32_t source, const report::text_sink& out) {
    if (lines.all.empty()) return;
    if (!open_.at(source)) open_[source] = std::make_unique<line_reader>(files_[source].*which_);
    open_[source]->copy(lines, out);
  }

 private:
  const std::vector<line_files>& files_;
  std::filesystem::path line_files::* which_;
  std::vector<std::unique_ptr<line_reader>> open_;
};

void write_recorded(result_files& to, const char* name, std::size_t entries, const recorded_units& found,
                    std::filesystem::path line_files::* which, line_extents input_units::* lines) {
  line_readers from(found.files, which);
  to.write(name, [&](const report::text_sink& out) {
    for (std::size_t entry = 0; entry < entries; ++entry) {
      found.ledger.for_each(
          entry, [&](const input_units& recorded, std::uint32_t source) { from.copy(recorded.*lines, source, out); });
    }
  });
}

// The units are the inputs of the job: measured as in an ordinary run.
report::units::unit_result measure_inputs(const library::counting_plan& planned, std::size_t entries,
                                          const job_ledger& inputs, const report::text_sink& out) {
  const std::shared_ptr<const report::run_report> frame = library::frame_of(planned);
  library::unit_reports measured(planned, nullptr, {}, nullptr,
                                 {.form = report::find_report_format("jsonl")->unit_lines(*frame, {}),
                                  .write = [&](std::string_view lines) { out(lines); }});
  for (std::size_t entry = 0; entry < entries; ++entry) {
    inputs.for_each_report(entry, [&](const pipeline::input_report& each) { measured.judge(each); });
  }
  return measured.result();
}

}  // namespace

std::optional<report::units::unit_result> write_unit_outputs(result_files& to, const library::counting_plan& planned,
                                                             std::size_t entries, const job_ledger& inputs,
                                                             const recorded_units& found) {
  std::optional<report::units::unit_result> made;
  if (planned.windows) {
    write_recorded(to, "windows.jsonl", entries, found, &line_files::windows, &input_units::window_lines);
  }
  if (!planned.units) return made;
  const bool selects = planned.units->lists_selected();
  if (reads_units(planned)) {
    if (selects) write_recorded(to, "units.jsonl", entries, found, &line_files::units, &input_units::unit_lines);
    return found.ledger.result();
  }
  if (!selects) return measure_inputs(planned, entries, inputs, [](std::string_view) {});
  to.write("units.jsonl", [&](const report::text_sink& out) { made = measure_inputs(planned, entries, inputs, out); });
  return made;
}

}  // namespace gpuhist::batch
