// Runs one coroutine, or one wait, to its end on the threads of a pool. Rethrows its exception.
#pragma once

#include "async/task_group.hpp"
#include "async/worker_pool.hpp"

#include <utility>

namespace gpuhist::test {

template <typename T>
T run(async::executor& pool, async::task<T> coroutine) {
  return async::run_blocking(pool, std::move(coroutine));
}

template <typename Wait>
void run_wait(async::executor& pool, Wait wait) {
  const auto until = [](Wait& awaited) -> async::task<> { static_cast<void>(co_await awaited()); };
  async::run_blocking(pool, until(wait));
}

}  // namespace gpuhist::test
