// Runs one coroutine to its end on a thread pool of its own, as a test wants it: throws what it threw.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <utility>

namespace gpuhist::test {

template <typename T>
T run(boost::asio::thread_pool& pool, boost::asio::awaitable<T> coroutine) {
  return boost::asio::co_spawn(pool, std::move(coroutine), boost::asio::use_future).get();
}

}  // namespace gpuhist::test
