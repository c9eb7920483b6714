// An output that cannot be written.
#pragma once

#include <system_error>

namespace gpuhist::io {

/// What could not be written, and why, for people.
struct destination_error : std::system_error {
  using std::system_error::system_error;

  bool is_reported = false;  ///< a message was already printed
};

}  // namespace gpuhist::io
