// Parses the command line: CLI11 splits it by the table of options, whose rows then take effect.
#include "config/options.hpp"

#include "config/option_table.hpp"
#include "config/quote.hpp"
#include "config/suggest.hpp"
#include "config/usage_error.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <string_view>

#ifndef GPUHIST_VERSION
#error "GPUHIST_VERSION comes from config/CMakeLists.txt"
#endif

namespace gpuhist::config {
namespace {

constexpr const char* description = "Counts what text is made of, as fast as the hardware delivers it.";

constexpr const char* examples =
    "Sizes: 65536, 64K (= 64KiB), 16MiB, 1GB. Durations: 500ms, 10s, 5m, 1h.\n"
    "\n"
    "Examples:\n"
    "  cat access.log | gpuhist --buckets letters\n"
    "  gpuhist --format json --output counts.json january.log february.log.zst\n"
    "  producer | gpuhist --snapshot-every 1s --stats";

class formatter : public CLI::Formatter {
 public:
  formatter() { column_width(30); }

  std::string make_usage(const CLI::App* /*app*/, std::string /*name*/) const override {
    return "usage: gpuhist [OPTIONS] [FILE...]   no FILE, or '-': standard input; '--' ends the options\n\n";
  }

  std::string make_group(std::string group, bool /*positional*/, std::vector<const CLI::Option*> opts) const override {
    std::string text = group + ":\n";
    for (const CLI::Option* each : opts) text += make_option(each, false);
    return text;
  }
};

/// CLI11 only splits and prints: FILEs are what it leaves over, because as a positional of many values it would take
/// a file called "[a,b]" or "{}" apart.
class parser {
 public:
  parser() {
    app_.set_help_flag();
    app_.allow_extras();
    app_.formatter(std::make_shared<formatter>());
    app_.footer(examples);
    for (const option_row& row : option_table()) options_.push_back(add(row));
    help_ = app_.add_flag("-h,--help", help_of_help_)->group("Help")->disable_flag_override();
    version_ = app_.add_flag("--version", help_of_version_)->group("Help")->disable_flag_override();
  }

  std::variant<options, information> parse(std::vector<std::string> arguments) {
    split(std::move(arguments));
    refuse_unknown();
    if (help_->count() > 0) return information{app_.help()};
    if (version_->count() > 0) return information{"gpuhist " GPUHIST_VERSION "\n"};
    return typed();
  }

 private:
  CLI::Option* add(const option_row& row) {
    const std::string names(row.names);
    const std::string help(row.help);
    CLI::Option* const added = row.value.empty() ? app_.add_flag(names, help)->disable_flag_override()
                                                 : app_.add_option(names, help)->type_name(std::string(row.value));
    added->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    return added->group(std::string(row.group));
  }

  void split(std::vector<std::string> arguments) {
    for (const std::string& each : arguments) {
      if (each == "--") break;
      // CLI11 would take "--output= x" for "--output x"
      if (each.starts_with("--") && each.find('=') == each.size() - 1) refuse_empty(each.substr(0, each.size() - 1));
    }
    std::reverse(arguments.begin(), arguments.end());  // CLI11 wants it so
    try {
      app_.parse(arguments);
    } catch (const CLI::ArgumentMismatch& mismatch) {
      const std::string message = mismatch.what();  // begins with the name, with or without its dashes
      const std::string name = message.substr(0, message.find_first_of(": "));
      refuse_value(name.starts_with("--") ? name : "--" + name);
    } catch (const CLI::ParseError& error) {
      throw usage_error(std::string(error.what()) + "; see gpuhist --help");
    }
  }

  /// "--name=": the option itself says what it thinks of an empty value.
  [[noreturn]] void refuse_empty(const std::string& name) const {
    options nowhere;
    for (const option_row& row : option_table()) {
      if (row.long_name() == name && !row.value.empty()) apply(row, nowhere, "");
    }
    refuse_value(name);
  }

  /// A value that is missing, or given to a flag.
  [[noreturn]] void refuse_value(const std::string& name) const {
    for (const option_row& row : option_table()) {
      if (row.long_name() != name || row.value.empty()) continue;
      throw usage_error(name + ": the value is missing; write " + name + " " + std::string(row.value));
    }
    if (app_.get_option_no_throw(name) == nullptr) throw unknown(name);
    throw usage_error(name + ": takes no value; write " + name + " alone");
  }

  void refuse_unknown() const {
    for (const std::string& each : app_.remaining()) {
      if (each == "--") return;
      if (each.size() > 1 && each.front() == '-') throw unknown(each);
    }
  }

  [[nodiscard]] static usage_error unknown(const std::string& argument) {
    std::vector<std::string_view> names = {"--help", "--version"};
    for (const option_row& row : option_table()) names.push_back(row.long_name());
    const std::string name = argument.substr(0, argument.find('='));
    const std::string with_dashes = (name.starts_with("--") ? "" : "-") + name;
    const std::string in_quotes = quote(name);
    const std::string message = in_quotes.substr(1, in_quotes.size() - 2) + ": unknown option; ";
    const auto meant = name.size() > 2 ? nearest_name(with_dashes, names) : std::nullopt;
    if (meant) return usage_error(message + "did you mean " + std::string(*meant) + "?");
    return usage_error(message + "see gpuhist --help (a file of that name goes after --)");
  }

  [[nodiscard]] options typed() const {
    options result;
    for (std::size_t i = 0; i < options_.size(); ++i) {
      const option_row& row = option_table()[i];
      // in the order typed, so that of a repeated option the last one holds
      for (const std::string& value : options_[i]->results()) apply(row, result, value);
    }
    if (result.buckets.empty()) result.buckets = {"classes"};
    bool after_mark = false;
    for (const std::string& each : app_.remaining()) {
      if (each == "--" && !after_mark) {
        after_mark = true;
      } else {
        result.inputs.push_back(each);
      }
    }
    return result;
  }

  static void apply(const option_row& row, options& into, const std::string& value) {
    try {
      row.apply(into, value);
    } catch (const usage_error& error) {
      throw usage_error(std::string(row.long_name()) + ": " + error.what());
    }
  }

  const std::string help_of_help_ = "print this text";
  const std::string help_of_version_ = "print the version";
  CLI::App app_{description, "gpuhist"};
  std::vector<CLI::Option*> options_;  // as option_table()
  CLI::Option* help_ = nullptr;
  CLI::Option* version_ = nullptr;
};

}  // namespace

std::variant<options, information> parse_command_line(int argc, const char* const* argv,
                                                      std::span<const std::string> /*environment*/) {
  return parser{}.parse(argc > 1 ? std::vector<std::string>(argv + 1, argv + argc) : std::vector<std::string>{});
}

}  // namespace gpuhist::config
