// The host engine with a real thread pool.
#include "contract/engine_contract.hpp"
#include "gpu/host/host_engine.hpp"

#include <doctest/doctest.h>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace gpuhist::gpu {
namespace {

TEST_CASE("the host engine keeps the contract on a thread pool") {
  for (const unsigned threads : {1U, 4U}) {
    CAPTURE(threads);
    boost::asio::thread_pool pool(threads);
    contract::keeps_the_contract([&](engine_request request) {
      request.run = [&pool](std::function<void()> task) { boost::asio::post(pool, std::move(task)); };
      request.threads = threads;
      return std::make_unique<host::host_engine>(request);
    });
    pool.join();
  }
}

TEST_CASE("a job that the executor does not accept is counted by the submitting thread") {
  const engine_request request{.counted = contract::letters_partition(), .run = [](const std::function<void()>&) {
                                 throw std::runtime_error("the pool has ended");
                               }};
  host::host_engine engine(request);
  contract::job_memory memory(10, 1, 9);
  const extent all{0, 10};
  const auto text = contract::text_bytes(10, 1);
  engine.submit(memory.prepare(text, {&all, 1}));
  CHECK(memory.answers() == 1);
  CHECK(std::ranges::equal(memory.wait(), contract::count_obviously(text, {&all, 1}, request.counted)));
}

TEST_CASE("the host engine counts with the best kernel, and reports its name and the number of threads") {
  const engine_request request{.counted = contract::letters_partition(), .run = {}, .threads = 7};
  const auto stats = host::host_engine(request).stats();
  CHECK(stats.kernel == host::best_kernel(host::prepare(request.counted)).full_name());
  CHECK(stats.workers == 7);
  CHECK(stats.device.empty());
  CHECK(!stats.timeline);
}

}  // namespace
}  // namespace gpuhist::gpu
