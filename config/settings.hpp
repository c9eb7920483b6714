// Settings from several places, and which of them hold: a file's give way to the environment's, and those to what was
// typed.
#pragma once

#include "config/option_table.hpp"

#include <span>
#include <string>
#include <vector>

namespace gpuhist::config {

/// One value of an option, not yet checked.
struct setting {
  const option_row* row = nullptr;
  std::string value;        ///< "true" or "false" for a flag
  std::string origin;       ///< what messages call the place: "GPUHIST_THREADS", "job.toml:3: threads"; empty: typed
  bool taken_back = false;  ///< "--no-threads": as if no value stood before it, here or at a lower level
};

/// All settings of one place, in its order.
using settings = std::vector<setting>;

/// The options that hold for a command. Of each option the highest level that has it is taken, with all it says there;
/// what the command does not take is left alone. Every value is checked, also one that does not hold. Levels go from
/// the lowest to the highest. Throws usage_error that begins with the place.
options resolve(command what, std::span<const settings> levels);

}  // namespace gpuhist::config
