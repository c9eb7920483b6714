#include "report/output/report_writer.hpp"

#include "report/output/stop_signal.hpp"
#include "report/output/terminal.hpp"

#include <string>
#include <utility>

namespace gpuhist::report {
namespace {

constexpr std::size_t max_kept_bytes = std::size_t{8} * 1024 * 1024;

}  // namespace

render_target report_writer::target(table_sections sections) const {
  render_target target = target_for(output_);
  target.run = run_;
  target.sections = sections;
  target.inputs_are_written = inputs_are_written_;
  return target;
}

void report_writer::write(std::string_view lines) {
  if (write_kept() && write_one(lines)) return;
  if (!failed_) keep(lines);
}

units::unit_line_output report_writer::unit_lines(const run_report& frame) {
  return {.form = format_.unit_lines(frame, run_), .write = [this](std::string_view lines) { write(lines); }};
}

void report_writer::write_inputs(const run_report& frame, std::span<const pipeline::completed_input> completed) {
  inputs_are_written_ = true;
  std::string lines;
  for (const pipeline::completed_input& each : completed) {
    if (!each.how.is_omitted) lines += format_.input_line(frame, run_, each.report);
  }
  if (!lines.empty()) write(lines);
}

void report_writer::write_snapshot(snapshot now) {
  if (write_kept() && write_one(now)) return;
  if (failed_) return;
  std::erase_if(kept_, [](const record& each) { return std::holds_alternative<snapshot>(each); });
  kept_.emplace_back(std::move(now));
}

bool report_writer::write_kept() {
  while (!failed_ && !kept_.empty()) {
    if (!write_record(kept_.front())) return false;
    if (const auto* lines = std::get_if<std::string>(&kept_.front())) kept_bytes_ -= lines->size();
    kept_.pop_front();
  }
  return !failed_;
}

void report_writer::keep(std::string_view lines) {
  kept_bytes_ += lines.size();
  kept_.emplace_back(std::string(lines));
  if (kept_bytes_ <= max_kept_bytes) return;
  try {
    output_.fail_locked();
  } catch (const destination_error& error) {
    put_off(error);
  }
}

bool report_writer::write_record(const record& kept) {
  return std::visit([this](const auto& each) { return write_one(each); }, kept);
}

bool report_writer::write_one(std::string_view lines) {
  return write_above_status_line([lines](const text_sink& out) { out(lines); });
}

bool report_writer::write_one(const run_report& content, table_sections sections) {
  return write_above_status_line([&](const text_sink& out) { format_.render(content, target(sections), out); });
}

// Erases the status line also if the report goes to a pipe, whose reader may write to the same terminal. After a failed
// write nothing more is written, because the destination may end with an incomplete line.
bool report_writer::write_above_status_line(const std::function<void(const text_sink&)>& pieces) {
  const auto after_status_line = [&](const text_sink& out) {
    screen_.clear();
    pieces(out);
  };
  bool is_written = true;
  try {
    if (effect_ == fault::ends_run) {
      output_.write(after_status_line);
    } else {
      is_written = output_.try_write(after_status_line);
    }
  } catch (const destination_error& error) {
    if (effect_ == fault::ends_run) throw;
    put_off(error);
    is_written = false;
  }
  if (output_.is_terminal()) screen_.restore();
  return is_written;
}

// After a stop signal no more bytes are passed through.
void report_writer::put_off(const destination_error& error) {
  const bool continues = stop_signal_of_process == 0;
  failed_ = error;
  failed_->is_reported = true;
  kept_.clear();
  screen_.say("gpuhist: " + std::string(error.what()) +
              (continues ? "; the bytes are still passed through, but" : ";") + " nothing more is reported\n");
}

void report_writer::finish_run() {
  if (failed_) throw destination_error(*failed_);
  write_kept();
}

}  // namespace gpuhist::report
