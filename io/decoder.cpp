#include "io/decoder.hpp"

#include "io/size_text.hpp"

namespace gpuhist::io {

std::string window_refusal(std::uint64_t needed, const decoder_limits& limits) {
  const std::string name(limits.option_name("--memory-limit"));
  std::string clause = "needs a window of " + size_text(needed) + ", more than the ";
  if (needed > limits.largest_bytes) {
    return clause + size_text(limits.largest_bytes) + " that a decoder within an archive can use, whatever the " +
           name + "; extract it first,";
  }
  clause += size_text(limits.window_bytes) + " left of " + name + "; give a ";
  if (limits.largest_bytes != ~std::uint64_t{0}) return clause + "higher " + name + ",";
  return clause + name + " at least " + size_text(needed - limits.window_bytes) + " larger,";
}

}  // namespace gpuhist::io
