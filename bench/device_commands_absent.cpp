// The device commands of a build without CUDA.
#include "bench/device_commands.hpp"

#include <stdexcept>
#include <string>

namespace gpuhist::bench {
namespace {

[[noreturn]] void refuse(const char* command) {
  throw std::runtime_error(std::string(command) +
                           ": this gpuhist-bench was built without CUDA, so it has only 'host'; "
                           "configure with a CUDA compiler (nvcc) and GPUHIST_CUDA=ON");
}

}  // namespace

std::vector<std::string_view> device_kernel_names() { return {}; }
int run_kernels(const kernels_options&) { refuse("kernels"); }
int run_link(const link_options&) { refuse("link"); }
int run_pairs() { refuse("pairs"); }
int run_samples() { refuse("samples"); }
int run_units() { refuse("units"); }
int run_decode(const decode_command&) { refuse("decode"); }

}  // namespace gpuhist::bench
