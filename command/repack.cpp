// `gpuhist repack [FILE...] -o OUT`: options -> plan -> archive.
#include "command/repack/repack.hpp"
#include "command/command_frame.hpp"
#include "command/commands.hpp"
#include "config/size.hpp"
#include "config/text.hpp"
#include "report/formats/report.hpp"
#include "report/output/messages.hpp"

#include <cstdint>
#include <cstdio>
#include <string>

namespace gpuhist::command {
namespace {

std::string decimal(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// "1 GiB of text in 179 MiB (17.4 %), 128 frames, verified; 180 MiB read in 4.2 s"
std::string summary_of(const repacked& archive) {
  std::string text =
      config::format_size(archive.text_bytes) + " of text in " + config::format_size(archive.output_bytes);
  if (archive.text_bytes != 0) {
    const double share = static_cast<double>(archive.output_bytes) / static_cast<double>(archive.text_bytes);
    text += " (" + decimal("%.1f", 100 * share) + " %)";
  }
  text += ", " + config::number_of(archive.frames, "frame") + ", verified; ";
  return text + config::format_size(archive.input_bytes) + " read in " + decimal("%.3g", archive.seconds) + " s";
}

}  // namespace

ending repack_inputs(const config::options& typed, const io::open_descriptors& open_descriptors) {
  repack_plan planned = make_repack_plan(typed);
  planned.descriptors = open_descriptors;
  const command_frame frame;
  const repacked archive = repack(planned, {.stop = frame.stop().get_token(), .attach = frame.attach()});
  const std::string name = report::printable(planned.output);
  for (const std::string& notice : archive.notices) {
    if (!typed.quiet) report::complain(notice);
  }
  if (!typed.quiet && archive.threads != 0 && archive.threads < planned.threads) {
    report::complain(
        "warning: only " + std::to_string(archive.threads) + " of " + std::to_string(planned.threads) +
        " threads could be started; raise the limit on processes (ulimit -u) or of the container (pids.max)");
  }
  if (!archive.complete) return frame.end(ending::input_failed, ": " + name + " was not written");
  if (!typed.quiet) report::complain(name + ": " + summary_of(archive));
  return frame.end(ending::counted_all, ": " + name + " is complete");
}

}  // namespace gpuhist::command
