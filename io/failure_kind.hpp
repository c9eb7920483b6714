// The kinds of failure that keep an input from being complete. The program decides by the kind; the text of the error
// is for users only.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuhist::io {

enum class failure_kind : std::uint8_t {
  none,
  not_read,       ///< the run ended before this input was started
  stopped,        ///< the run ended while this input was being read
  unreadable,     ///< the system refuses to open or read it
  damaged,        ///< its content contradicts its format, its name or a checksum
  refused,        ///< the program does not count it: an unknown format, a limit, a rule
  out_of_memory,  ///< memory, file descriptors or threads could not be allocated
  not_counted,    ///< it was read, but the count engine failed
  unknown         ///< a result that was read from a file does not state it
};

/// What failed.
enum class failure_origin : std::uint8_t {
  input,              ///< the input itself
  archive,            ///< the archive or frame around this member, whose failure ended the reading of the member
  archive_after_end,  ///< the archive or frame around this member, which was read to its end
};

/// "not_read", ...: the name in reports; empty for `none`.
std::string_view name_of(failure_kind kind);

/// The kind with this name; nothing if there is none.
std::optional<failure_kind> failure_kind_named(std::string_view name);

/// The kind of an input that cannot be opened or read with this errno: out_of_memory if the process or the system has
/// no memory or descriptors left, else unreadable.
failure_kind kind_of_errno(int error);

/// Whether the run ended before the input did, without an error of the input.
constexpr bool is_cut_short(failure_kind kind) {
  return kind == failure_kind::not_read || kind == failure_kind::stopped;
}

}  // namespace gpuhist::io
