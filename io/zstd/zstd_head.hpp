// The dictionary that .warc.zst files store in their first frame, a skippable one: as it is, or compressed. All frames
// after it need it (iipc, "Use of Zstandard compression in WARC").
#pragma once

#include "io/byte_reader.hpp"
#include "io/decoder.hpp"
#include "io/zstd/zstd_dictionary.hpp"
#include "io/zstd/zstd_frame.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::io {

/// What the first frame states about those after it.
class zstd_head final : public frame_context {
 public:
  /// `content`: of the skippable frame. `name`: of a dictionary in it, in messages. Throws std::bad_alloc.
  explicit zstd_head(std::span<const std::byte> content, std::string name = "the first frame");

  /// The content is too large to be kept.
  explicit zstd_head(std::string_view fault) : fault_(fault) {}

  /// Bytes of a dictionary, as it is and compressed: trained ones have 100 KiB to 1 MiB.
  static constexpr std::size_t max_bytes = std::size_t{4} << 20U;

  /// Null: the frame holds none, or fault() says why it cannot be used.
  [[nodiscard]] const std::shared_ptr<const zstd_dictionary>& dictionary() const { return dictionary_; }

  /// A clause; empty: none.
  [[nodiscard]] std::string_view fault() const { return fault_; }

  [[nodiscard]] bool is_in_file() const override { return true; }

 private:
  void set(std::span<const std::byte> dictionary, std::string name);

  std::shared_ptr<const zstd_dictionary> dictionary_;
  std::string_view fault_;
};

/// Collects the content of the first frame, whose bytes pass in order.
class zstd_head_reader {
 public:
  /// `first_bytes`: the header of a skippable frame, which is the first one of its input.
  void begin(std::span<const std::byte> first_bytes);

  /// Bytes of its content.
  void add(std::span<const std::byte> bytes);

  /// The frame has ended. Null: it is not meant to hold a dictionary. Throws std::bad_alloc.
  [[nodiscard]] std::shared_ptr<const zstd_head> end();

 private:
  enum class state { other, collecting, too_large };

  state state_ = state::other;
  std::vector<std::byte> content_;
};

/// Of an input in a file, whose frames are decoded from somewhere else on. Null: nothing is stated. Moves the position
/// of the file, which can seek. Throws input_error, std::bad_alloc.
std::shared_ptr<const frame_context> read_zstd_head(byte_reader& file);

}  // namespace gpuhist::io
