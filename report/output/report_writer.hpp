// Writes reports during a run and keeps them apart from the status line on a terminal. A stage of a pipeline does not
// end if its report cannot be written, because other processes wait for the bytes.
#pragma once

#include "pipeline/counts/finished_inputs.hpp"
#include "report/formats/report.hpp"
#include "report/output/destination.hpp"
#include "report/output/messages.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace gpuhist::report {

/// One thread.
class report_writer {
 public:
  /// The effect of a report that cannot be written.
  enum class fault {
    ends_run,    ///< throws destination_error at once
    is_put_off,  ///< prints a message at once, writes nothing more, and finish_run() throws destination_error
  };

  /// Borrows the first three arguments. `run`: the name of the run in lines (render_target::run), or empty. `sections`:
  /// of snapshots. With fault::is_put_off no call waits for the lock of the file: reports are kept until the lock is
  /// free. More than 8 MiB of kept lines are an error.
  report_writer(destination& output, const report_format& format, console& screen, fault effect, std::string run,
                table_sections sections = {})
      : output_(output), format_(format), screen_(screen), effect_(effect), run_(std::move(run)), sections_(sections) {}

  [[nodiscard]] const std::string& run() const { return run_; }

  /// Writes whole lines. The status line is erased before.
  void write(std::string_view lines);

  /// Lines of units in the format, which this object writes. Borrows this object and `frame`, the schemes and measures
  /// of the run. Precondition: the format has such lines.
  [[nodiscard]] units::unit_line_output unit_lines(const run_report& frame);

  /// Writes a line for each input that is not omitted. `frame`: the schemes and measures of the run. Precondition: the
  /// format has such lines. The result then contains no inputs.
  void write_inputs(const run_report& frame, std::span<const pipeline::completed_input> completed);

  /// Writes a snapshot. A kept snapshot is replaced by the next one.
  void write_snapshot(std::shared_ptr<const run_report> now);

  /// Attempts to write the kept reports, in order. Returns true if none is left.
  bool write_kept();

  /// Whether reports may be kept: write_kept() must then be called regularly.
  [[nodiscard]] bool may_keep() const { return effect_ == fault::is_put_off && output_.has_lock(); }

  /// From here on errors are thrown at once, and no report is kept.
  void note_run_finished() { effect_ = fault::ends_run; }

  /// After note_run_finished(): throws the error that was put off, if any, and writes the kept reports.
  void finish_run();

  /// Writes the last report.
  void write_result(const run_report& result, table_sections sections = {}) { write_one(result, sections); }

 private:
  using snapshot = std::shared_ptr<const run_report>;
  using record = std::variant<std::string, snapshot>;  // lines, or a snapshot

  bool write_record(const record& kept);
  bool write_one(std::string_view lines);
  bool write_one(const snapshot& now) { return write_one(*now, sections_); }
  bool write_one(const run_report& content, table_sections sections);
  bool write_above_status_line(const std::function<void(const text_sink&)>& pieces);
  void keep(std::string_view lines);
  void put_off(const destination_error& error);
  [[nodiscard]] render_target target(table_sections sections) const;

  destination& output_;
  const report_format& format_;
  console& screen_;
  fault effect_;
  const std::string run_;
  const table_sections sections_;
  std::optional<destination_error> failed_{};
  std::deque<record> kept_{};
  std::size_t kept_bytes_ = 0;  // of lines
  bool inputs_are_written_ = false;
};

}  // namespace gpuhist::report
