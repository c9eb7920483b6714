// What the user typed cannot be meant: the message says what, where, and what would be right. Exit status 2.
#pragma once

#include <stdexcept>

namespace gpuhist::config {

struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace gpuhist::config
