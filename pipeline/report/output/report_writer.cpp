#include "pipeline/report/output/report_writer.hpp"

#include "pipeline/report/output/terminal.hpp"

#include <string>

namespace gpuhist::pipeline {

render_target report_writer::target() const {
  render_target target = target_for(where_);
  target.run = run_;
  return target;
}

void report_writer::write(std::string_view text) { write_beside(text); }

void report_writer::write(const std::function<void(const text_sink&)>& pieces) { write_beside(pieces); }

// A report in a pipe may come out on the terminal that shows how far the run is. Behind one that failed may stand the
// half of a line, which nothing is to be glued to.
template <typename Text>
void report_writer::write_beside(const Text& text) {
  if (failed_) return;
  screen_.clear();
  try {
    where_.write(text);
  } catch (const destination_error& error) {
    if (what_ == fault::ends_run) throw;
    failed_ = error;
    screen_.say("gpuhist: " + std::string(error.what()) + "; what comes is handed on, and nothing more is reported\n");
  }
  if (where_.is_terminal()) screen_.restore();
}

void report_writer::throw_fault() const {
  if (failed_) throw destination_error(*failed_);
}

}  // namespace gpuhist::pipeline
