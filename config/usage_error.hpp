// A mistake in the command line, the environment, the configuration, or the options of a program. The message names the
// place, the error and the remedy. Exit status 2.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace gpuhist::config {

struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A mistake in the value of one option: "--threads: the error; the remedy". The command replaces the name by the place
/// of the value, such as GPUHIST_THREADS.
class option_error : public usage_error {
 public:
  /// `option`: its key, "threads".
  option_error(std::string_view option, std::string error)
      : usage_error("--" + std::string(option) + ": " + error), option_(option), error_(std::move(error)) {}

  [[nodiscard]] const std::string& option() const { return option_; }
  /// The message without the name.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  std::string option_;
  std::string error_;
};

}  // namespace gpuhist::config
