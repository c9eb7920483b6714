// Forwards a stream to a callback: the run writes to a pipe, and a thread reads it.
#pragma once

#include "io/descriptor.hpp"

#include <cstddef>
#include <exception>
#include <functional>
#include <span>
#include <thread>

namespace gpuhist::pipeline {

/// Used by one thread. The callback is called on a thread of this object.
class callback_sink {
 public:
  /// Throws std::system_error if there is no pipe or no thread.
  explicit callback_sink(std::function<void(std::span<const std::byte>)> sink);
  callback_sink(const callback_sink&) = delete;
  callback_sink& operator=(const callback_sink&) = delete;
  /// As finish(), without the exception.
  ~callback_sink();

  /// The end of the pipe that is written.
  [[nodiscard]] int descriptor() const { return writing_.get(); }

  /// Waits until the callback has received everything that was written. Throws its exception: after one, the pipe has
  /// no reader.
  void finish();

 private:
  void forward() noexcept;

  std::function<void(std::span<const std::byte>)> sink_;
  io::descriptor reading_;
  io::descriptor writing_;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace gpuhist::pipeline
