// Notices: what deserves a remark about an input that is counted all the same. A notice changes neither whether the
// input is complete nor the exit status.
#pragma once

#include "io/text_encoding.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhist::io {

enum class notice_kind : std::uint8_t {
  name_differs,         ///< its content is not what its name promises; the content decides
  unknown_compression,  ///< its bytes look compressed, and are counted as they are
  no_end_marker,        ///< the marker at its end is missing, and everything before it is intact (BGZF)
  trailing_data,        ///< what follows the end of the archive is not counted
  no_end_blocks,        ///< the archive has no end, and an outer layer verifies that it is whole
  replaced_characters,  ///< its text is not valid in its encoding: U+FFFD is counted in the place of wrong bytes
  unknown,              ///< a result that was read from a file has a kind of a later version
};

/// A remark about one input. The text does not name the input.
struct notice {
  notice_kind kind = notice_kind::unknown;
  std::string text;

  bool operator==(const notice&) const = default;
};

/// "name_differs", ...: the name in reports.
std::string_view name_of(notice_kind kind);

/// The kind with this name; `unknown` if there is none.
notice_kind notice_kind_named(std::string_view name);

/// How content is handled that is not what its name promises, or is of no format that is read.
struct content_rules {
  bool strict_names = false;                     ///< name_differs is a failure
  bool fail_on_unknown = false;                  ///< unknown_compression is a failure
  bool skip_damage = false;                      ///< after damage, decoding resumes at the next frame
  text_encoding encoding = text_encoding::utf8;  ///< of the text of all inputs
};

/// What a notice says, and what the failure says that replaces it.
struct notice_words {
  std::string cause;
  std::string consequence;  ///< what is done all the same
  std::string remedy;
};

/// Cause and consequence as a notice. Throws input_error (refused) with cause and remedy if the rules make it a
/// failure.
notice noted(notice_kind kind, const notice_words& words, const content_rules& rules);

}  // namespace gpuhist::io
