// How messages name options: as the command line has them, or as fields of the public interface.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace gpuhist::pipeline {

/// A value. Options are identified by their long name on the command line: "--threads".
class option_names {
 public:
  /// The place where the value of an option was set, for those that were not set on the command line.
  using origins = std::map<std::string, std::string, std::less<>>;

  /// Fields: "counting_options::threads".
  option_names() = default;

  /// Options of the command.
  explicit option_names(origins known) : is_command_(true), origins_(std::move(known)) {}

  /// The option, or the place of its value: before the cause of an error.
  [[nodiscard]] std::string where(std::string_view option) const;

  /// The option: in the remedy of an error.
  [[nodiscard]] std::string name(std::string_view option) const;

  /// The option with a value: "--engine host", "counting_options::counting_engine host".
  [[nodiscard]] std::string with(std::string_view option, std::string_view value) const {
    return name(option) + " " + std::string(value);
  }

 private:
  bool is_command_ = false;
  origins origins_;
};

}  // namespace gpuhist::pipeline
