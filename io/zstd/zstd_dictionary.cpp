#include "io/zstd/zstd_dictionary.hpp"

#define XXH_INLINE_ALL  // no library has to be linked
#include <xxhash.h>
#include <zstd.h>

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
  while (file.read(part.data(), static_cast<std::streamsize>(part.size())) || file.gcount() > 0) {
    content.insert(content.end(), part.begin(), part.begin() + file.gcount());
    if (content.size() > max_bytes) throw std::invalid_argument("is not a zstd dictionary: it has more than 512 MiB");
  }
  if (!file.eof()) throw std::system_error(errno != 0 ? errno : EIO, std::generic_category());
  return std::make_shared<const zstd_dictionary>(path, std::as_bytes(std::span<const char>(content)));
}

}  // namespace gpuhist::io
