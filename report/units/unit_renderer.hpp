// Renders selected units as lines of text. Most of a line is rendered by the thread that reads the unit. The place of
// the unit in its input may be known later only; it is added when the line is written:
//
//     {"kind":"unit",...,"name":"a.log"  ,"unit":2,"line":2,"offset":11  ,"verified":true,...}
//     beginning, for each input          place                           end
#pragma once

#include "report/units/held_memory.hpp"
#include "report/units/unit_result.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::report::units {

/// A form of the lines of units. Any thread may use it.
class unit_renderer {
 public:
  unit_renderer() = default;
  unit_renderer(const unit_renderer&) = delete;
  unit_renderer& operator=(const unit_renderer&) = delete;
  virtual ~unit_renderer() = default;

  /// The beginning of the lines of all units of an input. `input`: its name, raw bytes.
  [[nodiscard]] virtual std::string beginning_of(const std::string& input) const = 0;

  /// Appends the place of a unit.
  virtual void add_place(const unit_place& place, std::string& to) const = 0;

  /// Appends what follows the place, with the line feed. It does not depend on number, line and offset of the unit.
  virtual void add_end(const unit_record& found, std::string& to) const = 0;
};

/// Lines of units of one input, in their order, each without its beginning and its place.
struct rendered_units {
  struct line {
    unit_place place;
    std::size_t end = 0;  ///< in `ends`, after the line
  };

  std::shared_ptr<const std::string> input;  ///< its name
  std::vector<line> lines{};
  paged_bytes ends{};

  void add(const unit_place& place, std::string_view end) {
    ends.append(std::as_bytes(std::span(end)));
    lines.push_back({.place = place, .end = ends.size()});
  }

  /// Bytes of memory.
  [[nodiscard]] std::size_t bytes() const { return lines.size() * sizeof(line) + ends.size(); }
};

/// Where the lines of units go.
struct unit_line_output {
  std::unique_ptr<const unit_renderer> form{};          ///< null: no lines are rendered
  std::function<void(std::string_view lines)> write{};  ///< receives whole lines

  /// Passes lines to `to`, many in one call, because each call may be a system call or several.
  void write_all(std::span<const rendered_units> found, const std::function<void(std::string_view lines)>& to) const;
};

}  // namespace gpuhist::report::units
