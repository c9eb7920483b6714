// What --each measures, selects and ranks: plain values, part of the plan.
#pragma once

#include "pipeline/counts/spilled_bytes.hpp"
#include "report/conditions/formula.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace gpuhist::report::units {

/// What the units are.
struct unit_shape {
  enum class form : std::uint8_t {
    text,     ///< the text of an input is divided into units
    inputs,   ///< each input is a unit
    windows,  ///< each window is a unit
  };

  form divides = form::text;
  std::byte delimiter{'\n'};             ///< ends a unit, and belongs to it; without `bytes`
  std::optional<std::uint64_t> bytes{};  ///< every unit has so many bytes, except the last of an input

  [[nodiscard]] bool divides_text() const { return divides == form::text; }
  [[nodiscard]] bool are_lines() const { return !bytes && delimiter == std::byte{'\n'}; }
};

/// Which text is passed through.
struct filtering {
  enum class kept : std::uint8_t {
    selected,  ///< that of units for which the condition holds
    others,    ///< that of all other units
  };

  kept units = kept::selected;
  /// Text is observed when it has been verified or found damaged, and units with damaged text are not kept: neither
  /// what was decoded of them, nor the line or record that a gap cuts, before it and after it.
  bool drops_unverified = false;
  std::size_t in_memory = std::size_t{16} << 20U;  ///< bytes of a unit that is not complete; more are spilled
  pipeline::spill_folder spilled_to{};

  [[nodiscard]] bool keeps(double holds) const { return (holds == 1.0) == (units == kept::selected); }
};

/// Lines are JSON objects, and the value of a field is measured instead of the line.
struct field_of_lines {
  std::string name;
  std::size_t max_bytes = 0;  ///< of a line; longer lines are without field
};

/// The units with the highest values.
struct ranking {
  unsigned number = 1;  ///< of units, at least 1
  gates::formula by;
};

struct unit_plan {
  unit_shape shape;
  std::string each;                         ///< as typed: "line"
  std::optional<field_of_lines> field{};    ///< only of lines; nothing: the units themselves are measured
  std::optional<gates::condition> where{};  ///< nothing: no unit is selected
  std::optional<filtering> filter{};        ///< requires `where`; nothing: text is not filtered
  std::optional<ranking> top{};
  std::optional<gates::formula> distribution{};
  std::vector<double> quantiles{};  ///< of the distribution, in percent
  /// Of selected units and kept text that readers of later text hold together until the text before has been read.
  std::size_t held_bytes = std::size_t{128} << 20U;

  /// Whether inputs and windows must be counted by byte value. (Units of text have counts of their own.)
  [[nodiscard]] bool needs_byte_counts() const {
    return !shape.divides_text() && ((where && where->needs_byte_counts()) || (top && top->by.needs_byte_counts()) ||
                                     (distribution && distribution->needs_byte_counts()));
  }
};

}  // namespace gpuhist::report::units
