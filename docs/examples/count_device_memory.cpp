// Counts text that is already in device memory, on a stream of the program. Needs a GPU.
//
//     $ ./count_device_memory
//     l: 3000000, o: 2000000
#include <gpuhist/device_span.hpp>

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "count_device_memory: %s\n", cudaGetErrorString(code));
  std::exit(1);
}

int main() {
  std::string text;
  for (int i = 0; i < 1'000'000; ++i) text += "hello, world\n";
  std::array<unsigned long long, 256> counts{};

  cudaStream_t stream = nullptr;
  std::uint8_t* device_text = nullptr;
  unsigned long long* device_counts = nullptr;
  check(cudaStreamCreate(&stream));
  check(cudaMallocAsync(&device_text, text.size(), stream));
  check(cudaMallocAsync(&device_counts, sizeof counts, stream));
  check(cudaMemcpyAsync(device_text, text.data(), text.size(), cudaMemcpyHostToDevice, stream));
  check(cudaMemsetAsync(device_counts, 0, sizeof counts, stream));

  check(gpuhist::count_device_span(device_text, text.size(), device_counts, stream));

  check(cudaMemcpyAsync(counts.data(), device_counts, sizeof counts, cudaMemcpyDeviceToHost, stream));
  check(cudaFreeAsync(device_text, stream));
  check(cudaFreeAsync(device_counts, stream));
  check(cudaStreamSynchronize(stream));
  check(cudaStreamDestroy(stream));
  std::printf("l: %llu, o: %llu\n", counts['l'], counts['o']);
}
