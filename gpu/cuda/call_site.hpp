// The place of a checked call in the source. It replaces std::source_location, which clang before 16 cannot compile.
#pragma once

namespace gpuhist::gpu::cuda {

struct call_site {
  const char* file;
  unsigned line;

  /// For use as a default argument: the place of the call.
  static constexpr call_site here(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace gpuhist::gpu::cuda
