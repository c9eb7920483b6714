// An output that cannot be written.
#pragma once

#include <system_error>

namespace gpuhist::io {

/// A write that failed: names the destination and the cause. `code()` is EPIPE if the consumer has closed the stream,
/// and std::errc::no_lock_available if a stop signal ended the wait for a file that another process has locked.
struct destination_error : std::system_error {
  using std::system_error::system_error;

  bool is_reported = false;  ///< a message was printed when the error occurred
};

}  // namespace gpuhist::io
