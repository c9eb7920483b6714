// `gpuhist [FILE...]`: typed options -> plan -> run -> report.
#include "pipeline/commands.hpp"
#include "pipeline/destination.hpp"
#include "pipeline/driver.hpp"
#include "pipeline/input_failure.hpp"
#include "pipeline/messages.hpp"
#include "pipeline/plan.hpp"
#include "pipeline/report.hpp"
#include "pipeline/terminal.hpp"

#include <cstddef>
#include <cstring>
#include <string>

namespace gpuhist::pipeline {
namespace {

void complain_of_inputs(const outcome& done) {
  std::size_t unread = 0;
  for (const input_report& each : done.result.inputs) {
    if (each.error == not_read() && ++unread > 1) continue;  // one line for all of them, below
    if (!each.error.empty()) complain(printable(each.name) + ": " + printable(each.error));
  }
  if (unread > 1) complain("and " + std::to_string(unread - 1) + " more inputs were not read");
  if (!done.engine_failure.empty()) complain(printable(done.engine_failure));
}

}  // namespace

ending count(const config::options& typed) {
  const plan planned = make_plan(typed);
  destination where(planned.output, planned.snapshot_every.has_value());
  const render_target target = target_for(where);
  const outcome done =
      run(planned, {.snapshot = [&](const report& now) { where.write(planned.format->render(now, target)); },
                    .watch_signals = true});
  complain_of_inputs(done);
  where.write(planned.format->render(done.result, target));
  where.commit();
  if (done.result.stats && !planned.format->carries_stats)
    write_to_standard_error(render_stats(*done.result.stats, target));
  if (done.signal != 0) {
    complain("ended by SIG" + std::string(::sigabbrev_np(done.signal)) +
             ": the counts are of what was read until then");
  }
  return {.exit_status = done.result.complete ? ending::counted_all : ending::input_failed, .signal = done.signal};
}

}  // namespace gpuhist::pipeline
