#include "io/zstd/zstd_dictionary.hpp"

#include "io/zstd/zstd_frame.hpp"
#include "io/zstd/zstd_head.hpp"

#define XXH_INLINE_ALL  // no library has to be linked
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

namespace gpuhist::io {
namespace {

constexpr std::size_t max_bytes = std::size_t{512} << 20U;
constexpr std::size_t min_bytes = 8;  // zstd treats fewer bytes as no dictionary

// `content`: of the first frame of a .warc.zst file, and bytes after it.
std::shared_ptr<const zstd_dictionary> dictionary_in_archive(const std::string& path,
                                                             std::span<const std::byte> content, std::uint64_t bytes) {
  const zstd_head head(content.first(std::min<std::uint64_t>(bytes, content.size())), path);
  if (head.dictionary()) return head.dictionary();
  throw std::invalid_argument("is not a zstd dictionary: its first frame holds none that is whole and valid");
}

}  // namespace

void zstd_dictionary::deleter::operator()(ZSTD_DDict_s* prepared) const noexcept { ZSTD_freeDDict(prepared); }

zstd_dictionary::zstd_dictionary(std::string name, std::span<const std::byte> content) : name_(std::move(name)) {
  if (content.size() < min_bytes) throw std::invalid_argument("is not a zstd dictionary: it has fewer than 8 bytes");
  prepared_.reset(ZSTD_createDDict(content.data(), content.size()));
  if (prepared_ == nullptr) throw std::invalid_argument("is a damaged zstd dictionary");
  id_ = ZSTD_getDictID_fromDDict(prepared_.get());
  content_hash_ = XXH3_64bits(content.data(), content.size());
}

std::shared_ptr<const zstd_dictionary> load_zstd_dictionary(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::vector<char> content;
  std::vector<char> part(std::size_t{1} << 16U);
  zstd_frame_header head;
  bool is_archive = false;
  while (file.read(part.data(), static_cast<std::streamsize>(part.size())) || file.gcount() > 0) {
    content.insert(content.end(), part.begin(), part.begin() + file.gcount());
    if (content.size() > max_bytes) throw std::invalid_argument("is not a zstd dictionary: it has more than 512 MiB");
    const auto begin = std::as_bytes(std::span<const char>(content));
    head = parse_zstd_header(begin).header;
    is_archive = head.skippable && may_begin_with_dictionary(begin);
    if (is_archive && content.size() >= head.header_bytes + head.skip_bytes) break;
  }
  if (!file && !file.eof()) throw std::system_error(errno != 0 ? errno : EIO, std::generic_category());
  const auto bytes = std::as_bytes(std::span<const char>(content));
  return is_archive ? dictionary_in_archive(path, bytes.subspan(head.header_bytes), head.skip_bytes)
                    : std::make_shared<const zstd_dictionary>(path, bytes);
}

}  // namespace gpuhist::io
