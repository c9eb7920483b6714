// Decodes single streams of a 7z archive (seven_zip_streams).
#pragma once

#include "io/archive/member_list.hpp"
#include "io/archive/seven_zip_streams.hpp"
#include "io/archive/whole_inflater.hpp"
#include "io/byte_reader.hpp"
#include "io/decoder.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace gpuhist::io {

/// Used by one thread at a time.
class seven_zip_decoder {
 public:
  static constexpr std::size_t work_bytes = std::size_t{8} << 20U;  ///< besides the dictionary, which is not larger
                                                                    ///< than the text

  /// Decodes `packed`, which whole_inflater::padding readable zeros follow, to `text`. Returns whether the packed bytes
  /// are exactly a text with this size and the CRC-32 of the stream. Throws std::bad_alloc.
  bool decode(const seven_zip_stream& stream, std::span<const std::byte> packed, std::span<std::byte> text);

 private:
  whole_inflater inflater_;
  std::unique_ptr<decoder> bzip2_{};
};

/// The member_lister of 7z: members of a non-solid archive. The position of a text is its seven_zip_key().
member_list list_seven_zip_members(byte_reader& file, std::size_t most_list_bytes, std::uint64_t max_text);

}  // namespace gpuhist::io
