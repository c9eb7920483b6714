#include "config/settings.hpp"

#include "config/suggest.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"

// Included only here, as a header-only library: nothing is linked, however a distribution built its library.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <system_error>

namespace gpuhist::config {
namespace {

constexpr std::size_t largest_file = std::size_t{1} << 20U;

[[noreturn]] void cannot_be_read(const std::string& path, std::string_view named_by, int error) {
  throw usage_error(std::string(named_by) + ": " + quote(path) +
                    " cannot be read: " + std::system_category().message(error));
}

/// Uses read(2), so that a directory or a failing disk is reported by its errno.
std::string content_of(const std::string& path, std::string_view named_by) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) cannot_be_read(path, named_by, errno);
  std::string content(largest_file + 1, '\0');
  std::size_t filled = 0;
  ssize_t got = 0;
  do {
    got = ::read(fd, content.data() + filled, content.size() - filled);
    if (got > 0) filled += static_cast<std::size_t>(got);
  } while ((got > 0 && filled < content.size()) || (got < 0 && errno == EINTR));
  const int error = got < 0 ? errno : 0;
  ::close(fd);
  if (error != 0) cannot_be_read(path, named_by, error);
  if (filled > largest_file) {
    throw usage_error(std::string(named_by) + ": " + quote(path) +
                      " is larger than 1MiB, the limit of a configuration file");
  }
  content.resize(filled);
  return content;
}

/// For messages: "takes no ...".
std::string_view name_of(toml::node_type type) {
  switch (type) {
    case toml::node_type::table:
      return "table";
    case toml::node_type::array:
      return "array";
    case toml::node_type::string:
      return "string";
    case toml::node_type::integer:
      return "integer";
    case toml::node_type::floating_point:
      return "number with a fraction";
    case toml::node_type::boolean:
      return "boolean";
    default:
      return "date or time";
  }
}

/// For messages: "give ...".
std::string_view right_type(value_kind kind) {
  switch (kind) {
    case value_kind::flag:
      return "true or false";
    case value_kind::list:
      return "a string, or an array of strings";
    case value_kind::number:
      return "an integer";
    case value_kind::numbers:
      return R"("all", an integer, or an array of integers)";
    case value_kind::size:
      return R"(an integer, or a string such as "8MiB")";
    default:
      return "a string";
  }
}

/// The value as text; nothing if the option does not take this type.
std::optional<std::string> text_of(const toml::node& node, value_kind kind) {
  const bool takes_integers = kind == value_kind::number || kind == value_kind::numbers || kind == value_kind::size;
  if (const auto* flag = node.as_boolean(); flag != nullptr && kind == value_kind::flag) {
    return flag->get() ? "true" : "false";
  }
  if (const auto* number = node.as_integer(); number != nullptr && takes_integers) return std::to_string(number->get());
  const bool takes_strings = kind != value_kind::flag && kind != value_kind::number;
  if (const auto* text = node.as_string(); text != nullptr && takes_strings) return text->get();
  return std::nullopt;
}

class reader {
 public:
  reader(const std::string& path, std::string_view named_by)
      : shown_(on_one_line(path)), content_(content_of(path, named_by)) {}

  settings read() {
    const toml::table table = parsed();
    settings found;
    for (auto&& [key, node] : table) add(row_named(key), node, where(key), found);
    return found;
  }

  job_file read_job() {
    const toml::table table = parsed();
    job_file found;
    for (auto&& [key, node] : table) {
      const std::string place = place_of(key);
      if (key.str() == "inputs") {
        add_inputs(node, place, found.inputs);
      } else {
        add(row_of_job(key), node, place, found.options);
      }
    }
    return found;
  }

 private:
  [[nodiscard]] toml::table parsed() const {
    try {
      return toml::parse(content_);
    } catch (const toml::parse_error& error) {
      const toml::source_position at = error.source().begin;
      std::string_view cause = error.description();
      if (cause.starts_with("Error ")) cause.remove_prefix(std::string_view("Error ").size());
      throw usage_error(shown_ + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) +
                        ": not TOML: " + on_one_line(cause));
    }
  }

  /// "job.toml:3:1: max_errors"
  [[nodiscard]] std::string place_of(const toml::key& key) const {
    const toml::source_position at = key.source().begin;
    return shown_ + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + on_one_line(key.str());
  }

  [[nodiscard]] const option_row& row_of_job(const toml::key& key) const {
    std::string name(key.str());
    std::ranges::replace(name, '_', '-');
    std::vector<std::string_view> names = {"inputs"};
    for (const option_row& row : option_table()) {
      if (!row.is_setting() || !row.taken_by(command::batch) || row.key() == "config") continue;
      if (row.key() == name) return row;
      names.push_back(row.key());
    }
    const auto meant = likely_name(name, names);
    throw usage_error(place_of(key) + ": unknown key of a job; " +
                      (meant
                           ? "did you mean " + std::string(*meant) + "?"
                           : "keys are inputs, and the options that gpuhist --help batch lists, without their dashes"));
  }

  static void add_inputs(const toml::node& node, const std::string& place, std::vector<std::string>& to) {
    const auto add_name = [&](const toml::node& each) {
      const auto* const name = each.as_string();
      if (name == nullptr || name->get().empty()) {
        throw usage_error(place + ": takes no " + std::string(name_of(each.type())) +
                          "; give a string, or an array of strings, that are not empty");
      }
      to.push_back(name->get());
    };
    if (const auto* const array = node.as_array()) {
      for (const toml::node& each : *array) add_name(each);
    } else {
      add_name(node);
    }
  }

  [[nodiscard]] std::string where(const toml::key& key) const {
    return shown_ + ":" + std::to_string(key.source().begin.line) + ": " + on_one_line(key.str());
  }

  [[nodiscard]] const option_row& row_named(const toml::key& key) const {
    std::vector<std::string_view> names;
    for (const option_row& row : option_table()) {
      if (!row.is_setting()) continue;
      if (row.key() == key.str() && key.str() == "config") {
        throw usage_error(where(key) + ": a configuration file cannot name another one; give --config FILE");
      }
      if (row.key() == key.str()) return row;
      if (row.key() != "config") names.push_back(row.key());
    }
    const auto meant = likely_name(key.str(), names);
    throw usage_error(where(key) + ": unknown option; " +
                      (meant ? "did you mean " + std::string(*meant) + "?"
                             : "keys are the long names without their dashes, as chunk-size"));
  }

  static void add(const option_row& row, const toml::node& node, const std::string& origin, settings& into) {
    const bool is_list = row.kind == value_kind::list || row.kind == value_kind::numbers;
    if (const auto* array = node.as_array(); array != nullptr && is_list && !array->empty()) {
      add_all(row, *array, origin, into);
      return;
    }
    into.push_back({&row, checked_text(row, node, origin), origin});
  }

  /// Each element of a list is a setting of its own; the numbers of devices are one setting together.
  static void add_all(const option_row& row, const toml::array& array, const std::string& origin, settings& into) {
    std::string together;
    for (const toml::node& each : array) {
      const std::string text = checked_text(row, each, origin);
      if (row.kind == value_kind::list) into.push_back({&row, text, origin});
      together += (together.empty() ? "" : ",") + text;
    }
    if (row.kind != value_kind::list) into.push_back({&row, together, origin});
  }

  static std::string checked_text(const option_row& row, const toml::node& node, const std::string& origin) {
    if (auto text = text_of(node, row.kind)) return *std::move(text);
    const bool empty_array = node.is_array() && node.as_array()->empty();
    throw usage_error(origin + ": takes no " + std::string(empty_array ? "empty array" : name_of(node.type())) +
                      "; give " + std::string(right_type(row.kind)));
  }

  std::string shown_;
  std::string content_;
};

}  // namespace

settings settings_of_file(const std::string& path, std::string_view named_by) { return reader(path, named_by).read(); }

job_file read_job_file(const std::string& path) { return reader(path, "gpuhist batch").read_job(); }

}  // namespace gpuhist::config
