// How messages name options: as the command line has them, or as fields of the public interface. One table.
#pragma once

#include "io/option_naming.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace gpuhist::pipeline {

/// The field of counting_options or file_options for an option of the command.
std::string_view field_of_files(std::string_view option);

/// The field of read_options or counting_options, without the name of the structure: what is read with a field was
/// counted with the field of the same name.
std::string_view field_of_reading(std::string_view option);

/// A value. Options are identified by their long name on the command line: "--threads".
class option_names {
 public:
  /// The place where the value of an option was set, for those that were not set on the command line.
  using origins = std::map<std::string, std::string, std::less<>>;

  /// Fields of counting_options and file_options: "counting_options::threads".
  option_names() = default;

  /// Fields of counting_options and input_options, for inputs that a program feeds.
  static option_names of_counter();

  /// Options of the command.
  explicit option_names(origins known) : naming_(io::as_typed), origins_(std::move(known)) {}

  /// The names for the parts of a run, which know no origins.
  [[nodiscard]] io::option_naming naming() const { return naming_; }

  [[nodiscard]] bool is_command() const { return naming_ == io::as_typed; }

  /// The option, or the place of its value: before the cause of an error.
  [[nodiscard]] std::string where(std::string_view option) const;

  /// The option: in the remedy of an error. Empty if the caller cannot set it.
  [[nodiscard]] std::string name(std::string_view option) const { return std::string(naming_(option)); }

  /// The option with a value: "--engine host", "counting_options::counting_engine host".
  [[nodiscard]] std::string with(std::string_view option, std::string_view value) const {
    return name(option) + " " + std::string(value);
  }

  /// The option, and on the command line a placeholder: "--baseline RESULT.json", "counting_options::baseline".
  [[nodiscard]] std::string with_placeholder(std::string_view option, std::string_view placeholder) const {
    return is_command() ? with(option, placeholder) : name(option);
  }

 private:
  io::option_naming naming_ = field_of_files;
  origins origins_;
};

}  // namespace gpuhist::pipeline
