// What kind of failure keeps an input from being complete. Decisions are made by the kind; the text beside it is for
// people only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuhist::io {

enum class failure_kind : std::uint8_t {
  none,
  not_read,       ///< the run ended before this input was begun
  stopped,        ///< the run ended while this input was read
  unreadable,     ///< the system refuses to open or to read it
  damaged,        ///< its content is not what its format, its name or a checksum says
  refused,        ///< the program does not count it: an unknown format, a limit, a rule
  out_of_memory,  ///< memory could not be allocated
  not_counted,    ///< it was read, but the counting engine failed
  unknown         ///< a result that was read back does not say it
};

/// "not_read", ...: as reports write it; empty for `none`.
std::string_view name_of(failure_kind kind);

/// The kind with this name; nothing where there is none.
std::optional<failure_kind> failure_kind_named(std::string_view name);

/// The run ended before the input did, and nothing is wrong with the input.
constexpr bool is_cut_short(failure_kind kind) {
  return kind == failure_kind::not_read || kind == failure_kind::stopped;
}

}  // namespace gpuhist::io
