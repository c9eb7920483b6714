#include "io/decoder.hpp"

#include "io/size_text.hpp"

namespace gpuhist::io {

std::string window_refusal(std::uint64_t needed, const decoder_limits& limits) {
  std::string what = "needs a window of " + size_text(needed) + ", more than the ";
  if (needed > limits.largest_bytes) {
    return what + size_text(limits.largest_bytes) +
           " of a decoder within an archive, whatever the --memory-limit; extract it first,";
  }
  what += size_text(limits.window_bytes) + " left of --memory-limit; give a ";
  if (limits.largest_bytes != ~std::uint64_t{0}) return what + "higher --memory-limit,";
  return what + "--memory-limit at least " + size_text(needed - limits.window_bytes) + " larger,";
}

}  // namespace gpuhist::io
