// Detects the format of an input by content, and compares it with the format that the name promises. One table, one row
// per format.
#pragma once

#include "io/archive/archive_format.hpp"
#include "io/byte_reader.hpp"
#include "io/decoder.hpp"
#include "io/notice.hpp"
#include "io/part_decoder.hpp"
#include "io/splitter.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::io {

/// One row of the table of formats.
struct format {
  std::string_view name;          ///< "raw", "zstd", "gzip", ...
  bool readable = false;          ///< false: recognised only so that it is refused and not counted as text
  std::string_view hint{};        ///< for formats that are not readable: a command that passes their text on
  bool is_plain = false;          ///< text that is neither compressed nor an archive: "raw"
  bool on_device = false;         ///< devices decode its frames
  bool has_split_points = false;  ///< an input can be divided between frames (io/zstd/zstd_seek_table.hpp)

  /// For readable compressed formats; null for others.
  std::function<std::unique_ptr<decoder>(const decoder_limits&)> make_decoder{};
  std::unique_ptr<splitter> (*make_splitter)() = nullptr;
  part_format parts{};  ///< how one frame is decoded by several threads; empty: it is not
  /// As `parts`, for the input in a file, as the end of the file describes it; null: it does not. Moves the position of
  /// the file, which can seek. A description that is damaged or missing is no error. Throws std::bad_alloc.
  part_format (*read_parts)(byte_reader& file) = nullptr;
  /// What the head of a file states about frames that are decoded from somewhere else on; null: no format states any.
  std::shared_ptr<const frame_context> (*read_head)(byte_reader& file) = nullptr;
  std::string_view frame_magic{};  ///< by which frames are searched after damage; empty: they are not searched
  archive_kind archive = archive_kind::none;  ///< detected by io/archive/archive_format.hpp, not by detect()
  bool is_encoding = false;                   ///< of text: converted to UTF-8, not decompressed
};

/// The number of leading bytes that detect() needs; fewer only if the input is shorter. See bytes_for_format().
inline constexpr std::size_t detection_bytes = 24;

/// zstd and lz4 share skippable frames: the first frame of another kind decides, if it begins within so many bytes.
inline constexpr std::size_t max_skipped_bytes = std::size_t{5} << 20U;

/// The format by content. Never null: content without a known magic number is "raw".
const format& detect(std::span<const std::byte> head);

/// The number of leading bytes that decide the identity of an input that begins with `head`. 0: those of `head` do.
/// Typed text is decided at once, so a terminal user does not wait.
std::size_t bytes_for_format(std::span<const std::byte> head);

/// The format that a name's suffix promises (".zst"), or null. If several formats have the suffix, the first one.
const format* promised_by(std::string_view name);

/// The readable format with this name ("raw", "zstd"), or null.
const format* format_named(std::string_view name);

/// The format of text in UTF-16, "utf-16le" or "utf-16be". `compression`: around the text; null: none.
const format& encoded_format(text_encoding encoding, const format* compression = nullptr);

/// The values of --input-format, "auto" first.
std::vector<std::string_view> input_format_names();

/// may_be_text() checks so many bytes.
inline constexpr std::size_t text_head_bytes = 512;

/// Whether the first of these bytes can be text: they have no control character that occurs only in binary data, or
/// begin with the byte order mark of UTF-16 or UTF-32.
bool may_be_text(std::span<const std::byte> head);

/// What an input is by its name and first bytes.
struct identity {
  const io::format& format;
  std::optional<io::notice> notice{};
  std::optional<archive_kind> archive{};  ///< as which archive its text is read; nothing: identify_text() decides
};

/// Decides the format of an input: `forced`, or if that is null, the format by content. Within a forced archive format,
/// the compression is that of the content, and the name promises nothing. If the name promises another format, there is
/// a notice, and there is one if content of no format looks compressed. A format without a magic number (.lzma) is
/// found only by its name, or forced. `head`: as many bytes as bytes_for_format() states, or any more. Throws
/// input_error (at offset 0) if the format is recognised but not readable; if the name promises a format, and the
/// content is none of the table and no text; and what the rules refuse. With content_rules::skip_damage, such content
/// is of the promised format.
identity identify(std::string_view name, std::span<const std::byte> head, const format* forced,
                  const content_rules& rules = {});

/// Decides which archive the text of an input is, as settle_archive(). `outer`: its compression, which was decoded;
/// null: none. Throws input_error (refused) if the text is of a format of the table, because one compression around a
/// text is decoded.
settled_archive identify_text(std::string_view name, std::span<const std::byte> text, const format* outer,
                              const content_rules& rules);

}  // namespace gpuhist::io
