// The command: typed options -> plan -> run -> report. Messages and exit codes are made here and nowhere else.

#include "config/options.hpp"
#include "config/usage_error.hpp"
#include "gpu/engines.hpp"
#include "pipeline/destination.hpp"
#include "pipeline/driver.hpp"
#include "pipeline/input_failure.hpp"
#include "pipeline/plan.hpp"
#include "pipeline/report.hpp"

#include <fcntl.h>
#include <langinfo.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <variant>

namespace {

using namespace gpuhist;

enum exit_status { counted_all = 0, input_failed = 1, wrong_usage = 2 };

void write_to_standard_error(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void complain(std::string_view message) { write_to_standard_error("gpuhist: " + std::string(message) + "\n"); }

// Ends the process as the signal would have: shells see 128+n, service managers a clean stop.
[[noreturn]] void end_by_signal(int signal) {
  std::fflush(nullptr);
  std::signal(signal, SIG_DFL);
  ::raise(signal);
  std::_Exit(128 + signal);  // the signal was blocked
}

// What is opened first takes the number of a closed standard descriptor, and input would be read from it. So it is made
// to be something that can be opened but not used: /dev/null, for the wrong direction.
void occupy_closed_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

// NOLINTBEGIN(concurrency-mt-unsafe): no thread runs yet
bool writes_utf8() {
  std::setlocale(LC_CTYPE, "");
  return std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
}
// NOLINTEND(concurrency-mt-unsafe)

pipeline::render_target target_for(const pipeline::destination& where) {
  return {.unicode = writes_utf8(), .width = where.terminal_width().value_or(80)};
}

void complain_of_inputs(const pipeline::outcome& done) {
  std::size_t not_read = 0;
  for (const pipeline::input_report& each : done.result.inputs) {
    if (each.error == pipeline::not_read() && ++not_read > 1) continue;  // one line for all of them, below
    if (!each.error.empty()) complain(pipeline::printable(each.name) + ": " + pipeline::printable(each.error));
  }
  if (not_read > 1) complain("and " + std::to_string(not_read - 1) + " more inputs were not read");
  if (!done.engine_failure.empty()) complain(pipeline::printable(done.engine_failure));
}

int count(const config::options& typed) {
  const pipeline::plan plan = pipeline::make_plan(typed);
  pipeline::destination where(plan.output, plan.snapshot_every.has_value());
  const pipeline::render_target target = target_for(where);
  const pipeline::outcome done = pipeline::run(
      plan, {.snapshot = [&](const pipeline::report& now) { where.write(plan.format->render(now, target)); },
             .watch_signals = true});
  complain_of_inputs(done);
  where.write(plan.format->render(done.result, target));
  where.commit();
  // the other formats carry it inside
  if (done.result.stats && plan.format->name == "table")
    write_to_standard_error(pipeline::render_stats(*done.result.stats));
  if (done.signal != 0) {
    complain("ended by SIG" + std::string(::sigabbrev_np(done.signal)) +
             ": the counts are of what was read until then");
    end_by_signal(done.signal);
  }
  return done.result.complete ? counted_all : input_failed;
}

int run(int argc, const char* const* argv) {
  const auto parsed = config::parse_command_line(argc, argv);
  if (const auto* typed = std::get_if<config::options>(&parsed)) return count(*typed);
  pipeline::destination where(std::nullopt, false);
  where.write(std::get<config::information>(parsed).text);
  return counted_all;
}

}  // namespace

int main(int argc, char** argv) {
  occupy_closed_descriptors();
  // a consumer that leaves is told by EPIPE, after which we end by SIGPIPE ourselves, unless our parent ignores it
  const bool pipe_signal_is_ignored = std::signal(SIGPIPE, SIG_IGN) == SIG_IGN;
  try {
    return run(argc, argv);
  } catch (const config::usage_error& e) {
    complain(std::string(e.what()) + "\ngpuhist: see gpuhist --help");
    return wrong_usage;
  } catch (const gpu::engine_error& e) {
    complain(e.what());
    return wrong_usage;
  } catch (const pipeline::destination_error& e) {
    if (e.code() == std::errc::broken_pipe && !pipe_signal_is_ignored) end_by_signal(SIGPIPE);
    complain(e.what());
    return input_failed;
  } catch (const std::exception& e) {
    complain(e.what());
    return input_failed;
  }
}
