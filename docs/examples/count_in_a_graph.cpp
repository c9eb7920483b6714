// Captures the counting of device memory into a CUDA graph and launches the graph three times. Needs a GPU.
//
//     $ ./count_in_a_graph
//     l: 9000000, o: 6000000
#include <gpuhist/device_span.hpp>

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "count_in_a_graph: %s\n", cudaGetErrorString(code));
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
  check(cudaMalloc(&device_text, text.size()));
  check(cudaMalloc(&device_counts, sizeof counts));
  check(cudaMemcpy(device_text, text.data(), text.size(), cudaMemcpyHostToDevice));
  check(cudaMemset(device_counts, 0, sizeof counts));

  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  check(gpuhist::count_device_span(device_text, text.size(), device_counts, stream));
  check(cudaStreamEndCapture(stream, &graph));
  check(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 3; ++i) check(cudaGraphLaunch(executable, stream));  // each adds to the counters
  check(cudaStreamSynchronize(stream));

  check(cudaMemcpy(counts.data(), device_counts, sizeof counts, cudaMemcpyDeviceToHost));
  std::printf("l: %llu, o: %llu\n", counts['l'], counts['o']);
  check(cudaGraphExecDestroy(executable));
  check(cudaGraphDestroy(graph));
  check(cudaFree(device_text));
  check(cudaFree(device_counts));
  check(cudaStreamDestroy(stream));
}
