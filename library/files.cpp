// gpuhist::count_files.
#include "gpuhist/files.hpp"

#include "config/usage_error.hpp"
#include "library/errors.hpp"
#include "library/event_publisher.hpp"
#include "library/file_run.hpp"
#include "library/signals.hpp"

#include <exception>
#include <optional>

namespace gpuhist {
namespace {

void check_pass_through(const file_options& options) {
  if (!options.pass_through) return;
  const bool has_descriptor = options.pass_through->descriptor >= 0;
  if (has_descriptor != static_cast<bool>(options.pass_through->sink)) return;
  throw error(errc::invalid_argument,
              has_descriptor ? "pass_through_options: descriptor and sink are given; give one of them"
                             : "pass_through_options: neither descriptor nor sink is given; give one of them");
}

void check_filter(const file_options& options) {
  if (!options.counting.units || options.counting.units->filter == unit_filter::none) return;
  if (options.pass_through && options.pass_through->forwarded == pass_through_options::content::text) return;
  throw error(errc::invalid_argument, "unit_options::filter: requires file_options::pass_through of text");
}

// `of_callback`: set to the exception of a callback before it is thrown.
file_outcome run_files(const file_options& options, const file_events& events, std::exception_ptr& of_callback) {
  library::counting_plan planned = library::make_plan(options);
  planned.joins_waker = true;
  const library::blocked_sigpipe blocked;
  std::optional<library::callback_sink> sink;
  if (options.pass_through && options.pass_through->sink) {
    sink.emplace(options.pass_through->sink);
    planned.pass_through_descriptor = sink->descriptor();
  }
  library::file_run run(planned, events, options.counting.stop);
  file_outcome made;
  try {
    made = run.run().outcome;
  } catch (...) {
    of_callback = run.thrown_by_callback();
    throw;
  }
  try {
    if (sink) sink->finish();
  } catch (...) {
    of_callback = std::current_exception();
    throw;
  }
  return made;
}

}  // namespace

file_outcome count_files(const file_options& options, const file_events& events) {
  check_pass_through(options);
  check_filter(options);
  std::exception_ptr of_callback;
  try {
    return run_files(options, events, of_callback);
  } catch (...) {
    if (of_callback) std::rethrow_exception(of_callback);
    rethrow_as_error(std::current_exception());
  }
}

}  // namespace gpuhist
