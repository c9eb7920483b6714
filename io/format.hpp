// Which format bytes are in: found by content, held against what the name promises. One table, one row a format.
#pragma once

#include "io/archive/archive_format.hpp"
#include "io/decoder.hpp"
#include "io/splitter.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::io {

/// One row of the table of formats.
struct format {
  std::string_view name;    ///< "raw", "zstd", "gzip", ...
  bool readable = false;    ///< false: recognised, so that it is refused and not counted as if it were text
  std::string_view hint{};  ///< for formats that are not readable: what to do instead

  /// Of readable formats that are compressed; null for others.
  std::unique_ptr<decoder> (*make_decoder)(const decoder_limits&) = nullptr;
  std::unique_ptr<splitter> (*make_splitter)() = nullptr;
  std::string_view frame_magic{};  ///< what every frame that is looked for behind damage begins with; empty: none is
  archive_kind archive = archive_kind::none;  ///< what holds members is found by io/archive_format.hpp, not by detect()
};

/// How many leading bytes detect() wants to see; fewer only where the input is shorter.
inline constexpr std::size_t detection_bytes = 8;

/// How many settle_format() wants to see, to know a zlib stream, too.
inline constexpr std::size_t zlib_head_bytes = 512;

/// The format by content. Never null: what has no known magic number is "raw".
const format& detect(std::span<const std::byte> head);

/// Whether more bytes behind `head` could change what detect() says of it: whoever types text is not kept waiting.
bool is_undecided(std::span<const std::byte> head);

/// The format that a name's suffix promises (".zst"), or null where it promises nothing; the first one where it may be
/// that of several.
const format* promised_by(std::string_view name);

/// A readable format by name ("raw", "zstd"), or null.
const format* format_named(std::string_view name);

/// The names that --input-format takes, "auto" first.
std::vector<std::string_view> input_format_names();

/// Settles the format of an input: by content where `forced` is null, held against the name. Throws input_error (at
/// offset 0) for a broken promise or for a format that is recognised but not readable. A format without a magic number
/// (.lzma) is only ever found by its name, or forced.
const format& settle_format(std::string_view name, std::span<const std::byte> head, const format* forced);

}  // namespace gpuhist::io
