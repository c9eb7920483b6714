// Where a checked call stands. What std::source_location is for; clang 14, whose clang-tidy we use, cannot compile
// that.
#pragma once

namespace gpuhist::gpu::cuda {

struct call_site {
  const char* file;
  unsigned line;

  /// As a default argument: the place of the call.
  static constexpr call_site here(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace gpuhist::gpu::cuda
