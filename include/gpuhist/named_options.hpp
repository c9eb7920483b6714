// Options by name, for programs and bindings that take them as text.
//
//     gpuhist::named_options options;
//     options.set("buckets", "letters");
//     options.set("memory-limit", "1GiB");
//     gpuhist::file_options read = options.files();
//     read.inputs = {"january.log.zst"};
#pragma once

#include <gpuhist/api.hpp>
#include <gpuhist/files.hpp>
#include <gpuhist/options.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist {

/// Options by their names and texts, as on the command line, in a job file and in the environment: ("memory-limit",
/// "1GiB"). One table defines them (gpuhist --help all). A value.
class GPUHIST_API named_options {
 public:
  named_options();
  named_options(const named_options&);
  named_options(named_options&&) noexcept;
  named_options& operator=(const named_options&);
  named_options& operator=(named_options&&) noexcept;
  ~named_options();

  /// Repeated values of a list are added ("buckets", "fail-if", ...); otherwise the last one holds. A flag takes "true"
  /// or "false" (also 1, yes, on, ...). Throws errc::invalid_argument for an unknown name and for a value that is
  /// refused.
  void set(std::string_view name, std::string_view value);

  /// The options of count_files(), without inputs. "keep-if" and "drop-if" set unit_options::where and filter;
  /// "pass-through" sets file_options::pass_through, to which the caller adds a descriptor or a sink. Throws
  /// errc::invalid_argument if options need or exclude others.
  [[nodiscard]] file_options files() const;

  /// The options of a counter. Also throws errc::invalid_argument for an option that only count_files() has.
  [[nodiscard]] counting_options counting() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// The names that set() takes, in the order of the help.
[[nodiscard]] GPUHIST_API std::vector<std::string> option_names();

}  // namespace gpuhist
