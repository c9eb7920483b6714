#include "io/decoder.hpp"

#include "io/size_text.hpp"

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
  const std::string name(limits.option_name("--memory-limit"));
  std::string clause = "needs a window of " + size_text(needed) + ", more than the ";
  const std::uint64_t left = limits.window_bytes < mib ? limits.window_bytes : limits.window_bytes / mib * mib;
  const std::string enough = std::to_string((limits.besides.limit_for(needed) + mib - 1) / mib) + "MiB";
  clause += size_text(left) + " left of " + name + "; give ";
  const bool is_command = name.starts_with("--");
  return clause + (is_command ? name + " " + enough + " or more, or " + name + " none,"
                              : "a " + name + " of at least " + enough + ",");
}

}  // namespace gpuhist::io
