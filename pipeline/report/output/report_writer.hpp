// Reports that are written while a run lasts, beside the line that people see on a terminal. A stage of a pipeline does
// not end because its report cannot be written: others wait for the bytes.
#pragma once

#include "pipeline/report/formats/report.hpp"
#include "pipeline/report/output/destination.hpp"
#include "pipeline/report/output/messages.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {

/// One thread.
class report_writer {
 public:
  enum class fault {
    ends_run,    ///< what cannot be written is thrown at once, as destination_error
    is_put_off,  ///< it is reported at once, nothing more is written, and it is thrown by finish_run()
  };

  /// Borrows all but `run`: what lines name (render_target::run), or empty. With fault::is_put_off nothing waits for
  /// the lock of the file: reports are kept until it is free. More than 8 MiB of lines are a fault.
  report_writer(destination& where, const report_format& format, console& screen, fault what, std::string run)
      : where_(where), format_(format), screen_(screen), what_(what), run_(std::move(run)) {}

  [[nodiscard]] const std::string& run() const { return run_; }

  /// Writes whole lines, as destination::write(). The line of status is out of the way.
  void write(std::string_view lines);

  /// A snapshot. One that is kept is replaced by the next.
  void write_snapshot(const report& now);

  /// Attempts to write what is kept, in its order. Whether nothing is left.
  bool write_kept();

  /// Whether reports may be kept, so that write_kept() is to be called from time to time.
  [[nodiscard]] bool may_keep() const { return what_ == fault::is_put_off && where_.has_lock(); }

  /// From here on nothing is put off or kept.
  void note_run_finished() { what_ = fault::ends_run; }

  /// After run_is_over(): throws what was put off, and writes what is kept.
  void finish_run();

  /// The last report.
  void write_result(const report& result) { write_one(result); }

 private:
  using record = std::variant<std::string, report>;  // lines, or a snapshot

  bool write_record(const record& what);
  bool write_one(std::string_view lines);
  bool write_one(const report& what);
  bool write_beside(const std::function<void(const text_sink&)>& pieces);
  void keep(std::string_view lines);
  void put_off(const destination_error& error);
  [[nodiscard]] render_target target() const;

  destination& where_;
  const report_format& format_;
  console& screen_;
  fault what_;
  const std::string run_;
  std::optional<destination_error> failed_{};
  std::deque<record> kept_{};
  std::size_t kept_bytes_ = 0;  // of lines
};

}  // namespace gpuhist::pipeline
