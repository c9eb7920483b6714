#include "io/archive/seven_zip_decoder.hpp"

#include "io/bzip2/bzip2_decoder.hpp"
#include "io/xz/lzma_coder.hpp"

#include <isa-l/crc.h>
#include <lzma.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace gpuhist::io {
namespace {

using stream_method = seven_zip_stream::method;

/// The options of a filter; liblzma allocates them.
class lzma_filter_options {
 public:
  lzma_filter_options(lzma_vli id, std::span<const std::byte> properties) {
    filters_[0] = {.id = id, .options = nullptr};
    filters_[1] = {.id = LZMA_VLI_UNKNOWN, .options = nullptr};
    is_valid_ = checked(lzma_properties_decode(filters_.data(), nullptr,
                                               reinterpret_cast<const std::uint8_t*>(properties.data()),
                                               properties.size())) == LZMA_OK;
  }
  lzma_filter_options(const lzma_filter_options&) = delete;
  lzma_filter_options& operator=(const lzma_filter_options&) = delete;
  ~lzma_filter_options() { std::free(filters_[0].options); }  // NOLINT: allocated by liblzma with malloc()

  [[nodiscard]] bool is_valid() const { return is_valid_ && filters_[0].options != nullptr; }
  [[nodiscard]] lzma_options_lzma& lzma() { return *static_cast<lzma_options_lzma*>(filters_[0].options); }
  [[nodiscard]] lzma_filter* list() { return filters_.data(); }

 private:
  std::array<lzma_filter, 2> filters_{};
  bool is_valid_ = false;
};

// No match reaches back beyond the begin of the text, so a dictionary of the size of the text is enough.
bool decode_lzma(const seven_zip_stream& stream, std::span<const std::byte> packed, std::span<std::byte> text) {
  const bool is_second = stream.coder == stream_method::lzma2;
  lzma_filter_options options(is_second ? LZMA_FILTER_LZMA2 : LZMA_FILTER_LZMA1,
                              std::span(stream.properties).first(stream.number_of_properties));
  if (!options.is_valid()) return false;
  constexpr std::uint64_t least_dictionary = 4096;
  lzma_options_lzma& lzma = options.lzma();
  lzma.dict_size = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(lzma.dict_size, std::max<std::uint64_t>(text.size(), least_dictionary)));
  if (!is_second) {
    options.list()->id = LZMA_FILTER_LZMA1EXT;
    lzma.ext_flags = LZMA_LZMA1EXT_ALLOW_EOPM;
    lzma_set_ext_size(lzma, text.size());
  }
  lzma_coder coder;
  if (checked(lzma_raw_decoder(&coder.stream(), options.list())) != LZMA_OK) return false;
  const lzma_progress first = coder.run(packed, text);
  if (first.written != text.size()) return false;
  if (first.code == LZMA_STREAM_END) return first.consumed == packed.size();
  if (first.code != LZMA_OK) return false;
  std::byte more{};  // LZMA2 has an end mark, and is not finished without room for more text
  const lzma_progress last = coder.run(packed.subspan(first.consumed), {&more, 1});
  return last.code == LZMA_STREAM_END && last.written == 0 && first.consumed + last.consumed == packed.size();
}

bool decode_bzip2(decoder& bzip2, std::span<const std::byte> packed, std::span<std::byte> text) {
  bzip2.restart({});
  std::size_t written = 0;
  std::size_t consumed = 0;
  for (;;) {
    const fill_result got = bzip2.fill(packed.subspan(consumed), text.subspan(written));
    consumed += got.consumed;
    written += got.produced;
    if (got.status == fill_status::frame_verified) return consumed == packed.size() && written == text.size();
    if (got.status != fill_status::output_full || (got.consumed == 0 && got.produced == 0)) return false;
  }
}

class seven_zip_list_decoder final : public member_decoder {
 public:
  using stream_list = std::shared_ptr<const std::vector<seven_zip_stream>>;

  explicit seven_zip_list_decoder(stream_list streams) : streams_(std::move(streams)) {}

  std::optional<std::uint64_t> decode(const file_source& file, const listed_member& member,
                                      std::span<std::byte> room) override {
    const seven_zip_stream& stream = (*streams_)[member.number];
    const auto packed = room.first(static_cast<std::size_t>(member.packed));
    if (file.read_at(packed, stream.offset) < packed.size()) return std::nullopt;
    const auto padded = room.subspan(packed.size());
    std::fill_n(padded.begin(), whole_inflater::padding, std::byte{0});
    const auto text = padded.subspan(whole_inflater::padding, static_cast<std::size_t>(member.bytes));
    if (!decoder_.decode(stream, packed, text)) return std::nullopt;
    return stream.key;
  }

 private:
  const stream_list streams_;
  seven_zip_decoder decoder_;
};

}  // namespace

bool seven_zip_decoder::decode(const seven_zip_stream& stream, std::span<const std::byte> packed,
                               std::span<std::byte> text) {
  if (stream.coder == stream_method::deflate) {
    if (packed.size() > whole_inflater::max_bytes || text.size() > whole_inflater::max_bytes) return false;
    return inflater_.inflate(packed, text) == stream.crc;
  }
  bool is_complete = false;
  switch (stream.coder) {
    case stream_method::copy:
      is_complete = packed.size() == text.size();
      if (is_complete) std::copy_n(packed.data(), packed.size(), text.data());
      break;
    case stream_method::bzip2:
      if (!bzip2_) bzip2_ = make_bzip2_decoder({});
      is_complete = decode_bzip2(*bzip2_, packed, text);
      break;
    case stream_method::lzma:
    case stream_method::lzma2:
      is_complete = decode_lzma(stream, packed, text);
      break;
    case stream_method::deflate:
      break;
  }
  return is_complete &&
         crc32_gzip_refl(0, reinterpret_cast<const std::uint8_t*>(text.data()), text.size()) == stream.crc;
}

member_list list_seven_zip_members(byte_reader& file, std::size_t most_list_bytes, std::uint64_t max_text) {
  const auto streams =
      std::make_shared<const std::vector<seven_zip_stream>>(read_seven_zip_streams(file, most_list_bytes, max_text));
  member_list list{
      .list_bytes = streams->capacity() * sizeof(seven_zip_stream) + streams->size() * sizeof(listed_member),
      .work_bytes = seven_zip_decoder::work_bytes,
      .make_decoder = [streams] { return std::make_unique<seven_zip_list_decoder>(streams); }};
  list.members.reserve(streams->size());
  for (const seven_zip_stream& each : *streams) {
    const std::size_t number = list.members.size();
    list.work_bytes = std::max(list.work_bytes, seven_zip_decoder::work_bytes + static_cast<std::size_t>(each.bytes));
    list.members.push_back({.position = first_seven_zip_key(number),
                            .packed = each.packed,
                            .bytes = each.bytes,
                            .crc = each.crc,
                            .number = number});
  }
  return list;
}

}  // namespace gpuhist::io
