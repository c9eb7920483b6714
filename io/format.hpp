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
  std::string_view hint{};        ///< for formats that are not readable: the remedy
  bool counted = false;           ///< not readable: its bytes are counted as they are, with a notice
  bool is_plain = false;          ///< text that is neither compressed nor an archive: "raw"
  bool on_device = false;         ///< a device can decode its frames
  bool has_split_points = false;  ///< an input can be divided between frames (io/zstd/zstd_split_points.hpp)

  /// For readable compressed formats; null for others.
  std::unique_ptr<decoder> (*make_decoder)(const decoder_limits&) = nullptr;
  std::unique_ptr<splitter> (*make_splitter)() = nullptr;
  part_format parts{};  ///< how one frame is decoded by several threads; empty: it is not
  /// As `parts`, for the input in a file, as the end of the file describes it; null: it does not. Moves the position of
  /// the file, which can seek. A description that is damaged or missing is no error. Throws std::bad_alloc.
  part_format (*read_parts)(byte_reader& file) = nullptr;
  /// What the head of a file states about frames that are decoded from somewhere else on; null: no format states any.
  std::shared_ptr<const frame_context> (*read_head)(byte_reader& file) = nullptr;
  std::string_view frame_magic{};  ///< by which frames are searched after damage; empty: they are not searched
  archive_kind archive = archive_kind::none;  ///< detected by io/archive/archive_format.hpp, not by detect()
};

/// The number of leading bytes that detect() needs; fewer only if the input is shorter. See skippable_head_bytes().
inline constexpr std::size_t detection_bytes = 24;

/// The number of leading bytes that settle_format() needs to detect a zlib stream.
inline constexpr std::size_t zlib_head_bytes = 512;

/// zstd and lz4 share skippable frames: the first frame of another kind decides, if it begins within so many bytes.
inline constexpr std::size_t max_skipped_bytes = std::size_t{5} << 20U;

/// The number of leading bytes that decide the format of an input that begins with `head`. 0: more do not help.
std::size_t skippable_head_bytes(std::span<const std::byte> head);

/// The format by content. Never null: content without a known magic number is "raw".
const format& detect(std::span<const std::byte> head);

/// Whether more bytes after `head` could change the result of detect(). Typed text is decided at once, so a terminal
/// user does not wait.
bool is_undecided(std::span<const std::byte> head);

/// The format that a name's suffix promises (".zst"), or null, also if it is not read and counted as it is. If several
/// formats have the suffix, the first one.
const format* promised_by(std::string_view name);

/// The readable format with this name ("raw", "zstd"), or null.
const format* format_named(std::string_view name);

/// The values of --input-format, "auto" first.
std::vector<std::string_view> input_format_names();

/// may_be_text() checks so many bytes.
inline constexpr std::size_t text_head_bytes = 512;

/// Whether the first of these bytes can be text: they have no control character that occurs only in binary data, or
/// begin with the byte order mark of UTF-16 or UTF-32.
bool may_be_text(std::span<const std::byte> head);

struct settled_format {
  const format& found;
  std::optional<io::notice> notice{};
  std::optional<archive_kind> archive{};  ///< what `forced` states of its text; nothing: settle_archive() decides

  /// The bytes are of a format that is not read, and are counted as they are, whatever the name promises.
  [[nodiscard]] bool is_unknown() const { return notice && notice->kind == notice_kind::unknown_compression; }
};

/// Decides the format of an input: `forced`, or if that is null, the format by content. Within a forced archive format,
/// the compression is that of the content, and the name promises nothing. If the name promises another format, there is
/// a notice. A format without a magic number (.lzma) is found only by its name, or forced. Throws
/// input_error (at offset 0) if the format is recognised but not readable; if the name promises a format, and the
/// content is none of the table and no text; and what the rules refuse. With content_rules::skip_damage, such content
/// is of the promised format.
settled_format settle_format(std::string_view name, std::span<const std::byte> head, const format* forced,
                             const content_rules& rules = {});

/// The notice for decompressed content that is not text but of a format of the table: one compression around a text is
/// decoded. `outer`: the name of the format around it; `name`: of the input, with the suffix of that format or without.
/// Throws input_error if the rules refuse it.
std::optional<notice> notice_of_inner(std::string_view outer, std::string_view name, std::span<const std::byte> head,
                                      const content_rules& rules);

}  // namespace gpuhist::io
