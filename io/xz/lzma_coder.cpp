#include "io/xz/lzma_coder.hpp"

#include <new>

namespace gpuhist::io {

lzma_ret checked(lzma_ret code) {
  if (code == LZMA_MEM_ERROR) throw std::bad_alloc();
  return code;
}

lzma_progress lzma_coder::run(std::span<const std::byte> in, std::span<std::byte> out) {
  stream_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
  stream_.avail_in = in.size();
  stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream_.avail_out = out.size();
  lzma_ret code = checked(lzma_code(&stream_, LZMA_RUN));
  if (code == LZMA_BUF_ERROR) code = LZMA_OK;  // no progress, which is not an error: there was no input
  return {.code = code, .consumed = in.size() - stream_.avail_in, .written = out.size() - stream_.avail_out};
}

}  // namespace gpuhist::io
