// Reports that are written while a run lasts, beside the line that people see on a terminal. A stage of a pipeline does
// not end because its report cannot be written: others wait for the bytes.
#pragma once

#include "pipeline/report/formats/report.hpp"
#include "pipeline/report/output/destination.hpp"
#include "pipeline/report/output/messages.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gpuhist::pipeline {

/// One thread.
class report_writer {
 public:
  enum class fault {
    ends_run,    ///< what cannot be written is thrown at once, as destination_error
    is_put_off,  ///< it is told at once, nothing more is written, and it is thrown by throw_fault()
  };

  /// Borrows the first two. `run`: what lines name (render_target::run), or empty.
  report_writer(destination& where, console& screen, fault what, std::string run)
      : where_(where), screen_(screen), what_(what), run_(std::move(run)) {}

  [[nodiscard]] const std::string& run() const { return run_; }

  /// What a report may know of the destination. Borrows the name of the run.
  [[nodiscard]] render_target target() const;

  /// As destination::write(). The line of status is out of the way.
  void write(std::string_view text);
  void write(const std::function<void(const text_sink&)>& pieces);

  /// From here on nothing is put off.
  void note_run_finished() { what_ = fault::ends_run; }

  /// Throws what was put off.
  void throw_fault() const;

 private:
  template <typename Text>
  void write_beside(const Text& text);

  destination& where_;
  console& screen_;
  fault what_;
  const std::string run_;
  std::optional<destination_error> failed_{};
};

}  // namespace gpuhist::pipeline
