// Messages of libarchive as clauses in the words of gpuhist.
#pragma once

#include "io/failure.hpp"

#include <string>
#include <string_view>

namespace gpuhist::io {

/// "ZIP decompression failed (-3)" -> "its data does not decode". Other messages lose their numeric codes and line
/// ends. An empty message is possible. `input_ended`: libarchive has asked for bytes after the end of the input.
std::string clause_of(std::string_view message, bool input_ended);

/// What a message means for an input.
struct message_meaning {
  failure_kind kind = failure_kind::damaged;  ///< refused: something is not supported
  std::string_view remedy{};                  ///< a clause; empty: none is known
};
message_meaning meaning_of(std::string_view message);

/// Whether the message states that more bytes are needed.
bool is_short(std::string_view message);

}  // namespace gpuhist::io
