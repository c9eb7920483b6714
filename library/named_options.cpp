#include "gpuhist/named_options.hpp"

#include "config/option_values.hpp"
#include "config/settings.hpp"
#include "config/suggest.hpp"
#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "library/errors.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist {

struct named_options::state {
  config::settings given;
};

named_options::named_options() : state_(std::make_unique<state>()) {}
named_options::named_options(const named_options& other) : state_(std::make_unique<state>(*other.state_)) {}
named_options::named_options(named_options&& other) noexcept = default;
named_options& named_options::operator=(const named_options& other) {
  state_ = std::make_unique<state>(*other.state_);
  return *this;
}
named_options& named_options::operator=(named_options&& other) noexcept = default;
named_options::~named_options() = default;

void named_options::set(std::string_view name, std::string_view value) {
  translated([&] {
    const config::option_row* const row = config::find_run_option(name);
    if (row == nullptr) {
      const std::vector<std::string> known = option_names();
      const std::vector<std::string_view> names(known.begin(), known.end());
      throw config::usage_error(config::no_such_name(name, names));
    }
    config::setting entry{.row = row, .value = std::string(value), .origin = {}};
    if (row->is_flag()) entry.value = config::parse_switch(entry.value);
    config::check_value(entry);
    state_->given.push_back(std::move(entry));
  });
}

file_options named_options::files() const {
  return translated([&] { return config::resolve_run(state_->given).run; });
}

counting_options named_options::counting() const {
  return translated([&] {
    for (const config::setting& each : state_->given) {
      if (!each.row->is_of_counter()) throw config::option_error(each.row->key(), "is for count_files() only");
    }
    return config::resolve_run(state_->given).run.counting;
  });
}

std::vector<std::string> option_names() {
  std::vector<std::string> made;
  for (const config::option_row& row : config::option_table()) {
    if (row.is_of_run()) made.emplace_back(row.key());
  }
  return made;
}

}  // namespace gpuhist
