#include "io/zstd/zstd_head.hpp"

#include "io/frame_magic.hpp"

#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace gpuhist::io {
namespace {

constexpr std::string_view too_large = "is larger than 4 MiB";
constexpr std::string_view damaged = "is damaged";

bool begins_with(std::span<const std::byte> bytes, std::uint32_t magic) {
  return bytes.size() >= magic_bytes && may_begin(bytes, magic);
}

}  // namespace

zstd_head::zstd_head(std::span<const std::byte> content, std::string name) {
  if (begins_with(content, ZSTD_MAGIC_DICTIONARY)) {
    set(content, std::move(name));
    return;
  }
  if (!begins_with(content, ZSTD_MAGICNUMBER)) return;
  const unsigned long long stated = ::ZSTD_getFrameContentSize(content.data(), content.size());
  if (stated == ZSTD_CONTENTSIZE_ERROR) {
    fault_ = damaged;
    return;
  }
  std::vector<std::byte> text(std::min<unsigned long long>(stated, max_bytes));  // the size may be unknown: the largest
  const std::size_t size = ::ZSTD_decompress(text.data(), text.size(), content.data(), content.size());
  if (::ZSTD_isError(size) != 0) {
    fault_ = ::ZSTD_getErrorCode(size) == ZSTD_error_dstSize_tooSmall ? too_large : damaged;
    return;
  }
  const auto unpacked = std::span(text).first(size);
  if (begins_with(unpacked, ZSTD_MAGIC_DICTIONARY)) set(unpacked, std::move(name));
}

void zstd_head::set(std::span<const std::byte> dictionary, std::string name) {
  try {
    dictionary_ = std::make_shared<const zstd_dictionary>(std::move(name), dictionary);
  } catch (const std::invalid_argument&) {
    fault_ = damaged;
  }
}

void zstd_head_reader::begin(std::span<const std::byte> first_bytes) {
  const zstd_header_result parsed = parse_zstd_header(first_bytes);
  if (parsed.status != header_status::complete || !may_begin_with_dictionary(first_bytes)) return;
  state_ = parsed.header.skip_bytes > zstd_head::max_bytes ? state::too_large : state::collecting;
}

void zstd_head_reader::add(std::span<const std::byte> bytes) {
  if (state_ == state::collecting) content_.insert(content_.end(), bytes.begin(), bytes.end());
}

std::shared_ptr<const zstd_head> zstd_head_reader::end() {
  const std::vector<std::byte> content = std::exchange(content_, {});
  switch (std::exchange(state_, state::other)) {
    case state::other:
      break;
    case state::too_large:
      return std::make_shared<zstd_head>(too_large);
    case state::collecting:
      auto made = std::make_shared<zstd_head>(content);
      return made->dictionary() || !made->fault().empty() ? made : nullptr;
  }
  return nullptr;
}

std::shared_ptr<const frame_context> read_zstd_head(byte_reader& file) {
  std::array<std::byte, skippable_header_bytes> header{};
  const auto begin = std::span(header).first(read_at(file, 0, header));
  const zstd_header_result parsed = parse_zstd_header(begin);
  if (parsed.status != header_status::complete || !may_begin_with_dictionary(begin)) return nullptr;
  zstd_head_reader reader;
  reader.begin(begin);
  std::vector<std::byte> content(std::min<std::uint64_t>(parsed.header.skip_bytes, zstd_head::max_bytes));
  reader.add(std::span(content).first(read_at(file, header.size(), content)));
  return reader.end();
}

}  // namespace gpuhist::io
