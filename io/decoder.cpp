#include "io/decoder.hpp"

#include "io/failure.hpp"

#include <algorithm>

namespace gpuhist::io {

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

}  // namespace

std::uint64_t memory_besides_windows::limit_for(std::uint64_t window_bytes) const {
  const std::uint64_t of_host = bytes + share * window_bytes;
  return of_host + std::min(of_host, of_devices);
}

std::string window_refusal(std::uint64_t needed, const decoder_limits& limits) {
  const std::string clause = "needs a window of " + size_text(needed) + ", more than the ";
  const std::uint64_t left = limits.window_bytes < mib ? limits.window_bytes : limits.window_bytes / mib * mib;
  const std::string enough = std::to_string((limits.besides.limit_for(needed) + mib - 1) / mib) + "MiB";
  return clause + size_text(left) + " left of --memory-limit; give --memory-limit " + enough +
         " or more, or --memory-limit none,";
}

}  // namespace gpuhist::io
