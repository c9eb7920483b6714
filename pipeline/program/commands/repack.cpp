// `gpuhist repack [FILE...] -o OUT`: options -> plan -> archive.
#include "pipeline/program/repack/repack.hpp"
#include "config/size.hpp"
#include "pipeline/program/commands/commands.hpp"
#include "pipeline/report/formats/report.hpp"
#include "pipeline/report/output/messages.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace gpuhist::pipeline {
namespace {

std::string decimal(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// "1 GiB of text in 179 MiB (17.4 %), 128 frames, verified; 180 MiB read in 4.2 s"
std::string told(const repacked& done) {
  std::string text = config::format_size(done.text_bytes) + " of text in " + config::format_size(done.output_bytes);
  if (done.text_bytes != 0) {
    const double share = static_cast<double>(done.output_bytes) / static_cast<double>(done.text_bytes);
    text += " (" + decimal("%.1f", 100 * share) + " %)";
  }
  text += ", " + std::to_string(done.frames) + (done.frames == 1 ? " frame" : " frames") + ", verified; ";
  return text + config::format_size(done.input_bytes) + " read in " + decimal("%.3g", done.seconds) + " s";
}

}  // namespace

ending repack_inputs(const config::options& typed, const io::open_descriptors& given) {
  repack_plan planned = make_repack_plan(typed);
  planned.descriptors = given;
  const repacked done = repack(planned, {.watch_signals = true});
  const std::string name = printable(planned.output);
  if (!typed.quiet && done.threads != 0 && done.threads < planned.threads) {
    complain("warning: only " + std::to_string(done.threads) + " of " + std::to_string(planned.threads) +
             " threads could be started; raise the limit on processes (ulimit -u) or of the container (pids.max)");
  }
  if (done.signal != 0) {
    complain("ended by SIG" + std::string(::sigabbrev_np(done.signal)) +
             (done.complete ? ": " + name + " is complete" : ": there is no " + name));
  } else if (!typed.quiet) {
    complain(name + ": " + told(done));
  }
  return {.exit_status = done.complete ? ending::counted_all : ending::input_failed, .signal = done.signal};
}

}  // namespace gpuhist::pipeline
