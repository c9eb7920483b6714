// The inputs of a run, in their order, also if the run is stopped during the search for them.
#include "pipeline/flow/inputs/input_list.hpp"

#include "async/event_loop.hpp"
#include "async/worker_pool.hpp"
#include "command/plan.hpp"
#include "tests/support/run_coroutine.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::pipeline;

TEST_CASE("a stop during the walk of a tree never loses a file without a report, however late it arrives") {
  const test::temporary_folder folder;
  std::filesystem::create_directory(folder / "tree");
  for (int i = 0; i < 5000; ++i) {
    std::filesystem::create_symlink("nowhere", folder / ("tree/link" + std::to_string(i)));
  }
  static_cast<void>(folder.file("tree/text", "text"));  // the last entry in their order
  config::options typed;
  typed.inputs = {folder / "tree"};
  typed.recursive = true;
  typed.engine = "host";
  const plan planned = make_plan(typed);
  for (std::chrono::microseconds delay{0}; delay < std::chrono::milliseconds(10);
       delay += std::chrono::microseconds(50)) {
    CAPTURE(delay.count());
    async::event_loop loop;
    async::worker_pool pool(1);
    std::stop_source stop;
    input_list list(planned, loop, stop.get_token());
    std::vector<listed_input> all;
    {
      const std::jthread stopper([&] {
        std::this_thread::sleep_for(delay);
        stop.request_stop();
      });
      all = test::run(pool, list.next(10));
    }
    const std::vector<listed_input> unread = list.unreached();
    all.insert(all.end(), unread.begin(), unread.end());
    // a stop between the last file and the end of the walk leaves both: the file, and the tree that may hold more
    REQUIRE((all.size() == 1 || all.size() == 2));
    for (const listed_input& each : all) CHECK(each.error.is_none() == each.name.ends_with("text"));
    if (all.size() == 2) CHECK(all[0].name != all[1].name);
  }
}
