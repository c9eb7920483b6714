// Random inputs, decoded in parts and by the decoder alone. Decoders and buffers are kept from input to input, so that
// there can be millions of them.
#pragma once

#include "tests/contract/part_contract.hpp"

#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace gpuhist::test {

class part_fuzzer {
 public:
  part_fuzzer(const decoder_maker& make, const part_decoder_maker& make_parts)
      : alone_(make()), with_parts_(make()), part_decoder_(make_parts()), out_(16U << 10U) {}

  struct results {
    decoding alone;
    decoding with_parts;
    bool is_cut = false;  ///< decoding stopped at `most_text`
  };

  /// Decodes `packed` twice, fed part by part: without parts, and with each part decoded and offered before its bytes.
  results decode(std::span<const std::byte> packed, const part_shape& shape, std::size_t most_text) {
    results both;
    alone_->restart({});
    with_parts_->restart({});
    const bool ended = feed(*alone_, packed, shape, most_text, false, both.alone);
    both.is_cut = !feed(*with_parts_, packed, shape, most_text, true, both.with_parts) || !ended;
    return both;
  }

  /// Parts in which something was decoded.
  [[nodiscard]] std::size_t parts() const { return parts_; }

 private:
  /// False if there is more than `most_text`.
  bool feed(io::decoder& decoder, std::span<const std::byte> packed, const part_shape& shape, std::size_t most_text,
            bool offers_parts, decoding& result) {
    std::shared_ptr<io::decoded_part> before;
    std::size_t at = 0;
    for (std::size_t begin = 0; begin < packed.size(); begin += shape.part_bytes) {
      const std::size_t end = std::min(packed.size(), begin + shape.part_bytes);
      if (offers_parts) decoder.offer(before = decode_part(packed, begin, end, shape, before.get()));
      for (io::fill_status status = io::fill_status::output_full; status != io::fill_status::needs_input;) {
        const auto in = packed.subspan(at, end - at);
        const io::fill_result filled = decoder.fill(in, out_);
        check_call(filled, in.size(), out_.size());
        status = filled.status;
        at += filled.consumed;
        result.plain.insert(result.plain.end(), out_.begin(),
                            out_.begin() + static_cast<std::ptrdiff_t>(filled.produced));
        if (status == io::fill_status::failed) {
          result.failed = true;
          result.error = decoder.fault(0);
          return true;
        }
        if (status == io::fill_status::frame_verified)
          result.ends.push_back({.packed = at, .plain = result.plain.size()});
        if (result.plain.size() > most_text) return false;
      }
    }
    result.missing = decoder.missing_at_end(0);
    return true;
  }

  std::shared_ptr<io::decoded_part> decode_part(std::span<const std::byte> packed, std::size_t begin, std::size_t end,
                                                const part_shape& shape, const io::decoded_part* before) {
    const auto rest = packed.subspan(end, std::min(shape.look_ahead, packed.size() - end));
    // copies of exactly these sizes, so that the address sanitizer detects a read beyond a piece
    const byte_vector own(packed.begin() + static_cast<std::ptrdiff_t>(begin),
                          packed.begin() + static_cast<std::ptrdiff_t>(end));
    const byte_vector after(rest.begin(), rest.end());
    const std::vector<std::span<const std::byte>> pieces{own, after};
    std::shared_ptr<io::decoded_part> part = part_decoder_->decode({.offset = begin,
                                                                    .size = own.size(),
                                                                    .pieces = pieces,
                                                                    .ends_input = end + after.size() == packed.size(),
                                                                    .begins_frame = begin == 0,
                                                                    .max_bytes = shape.max_bytes});
    if (part == nullptr) return part;
    part->link(before);
    part->finish();
    ++parts_;
    return part;
  }

  std::unique_ptr<io::decoder> alone_;
  std::unique_ptr<io::decoder> with_parts_;
  std::unique_ptr<io::part_decoder> part_decoder_;
  byte_vector out_;
  std::size_t parts_ = 0;
};

}  // namespace gpuhist::test
