#include "library/callback_sink.hpp"

#include "library/signal_free_thread.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

callback_sink::callback_sink(std::function<void(std::span<const std::byte>)> sink) : sink_(std::move(sink)) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::system_category());
  reading_ = io::descriptor(ends[0]);
  writing_ = io::descriptor(ends[1]);
  thread_ = start_without_signals([this] { forward(); });
}

callback_sink::~callback_sink() {
  writing_ = {};
  if (thread_.joinable()) thread_.join();
}

void callback_sink::finish() {
  writing_ = {};
  thread_.join();
  if (failure_) std::rethrow_exception(failure_);
}

void callback_sink::forward() noexcept {
  constexpr std::size_t block = std::size_t{256} << 10U;
  try {
    std::vector<std::byte> buffer(block);
    for (;;) {
      const ssize_t size = ::read(reading_.get(), buffer.data(), buffer.size());
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) throw std::system_error(errno, std::system_category());
      if (size == 0) break;
      sink_(std::span(buffer).first(static_cast<std::size_t>(size)));
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
  reading_ = {};  // a writer then fails
}

}  // namespace gpuhist::pipeline
