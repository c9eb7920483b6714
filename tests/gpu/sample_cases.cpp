// sample_cases: reads histograms to make from standard input, and writes their results to standard output. Used by
// test_samples_numpy.py, which describes the format. Exit status 77 with --device where no device is.
#include "sample_case.hpp"

#include <gpuhist/errors.hpp>

#include <cstdio>
#include <exception>
#include <string_view>

namespace {

using namespace gpuhist::test;

bool read_bytes(void* to, std::size_t size) { return size == 0 || std::fread(to, 1, size, stdin) == size; }
void write_bytes(const void* from, std::size_t size) {
  if (size != 0) std::fwrite(from, 1, size, stdout);
}

template <class T>
void write_values(const std::vector<T>& values) {
  write_bytes(values.data(), values.size() * sizeof(T));
}

bool read_case(sample_case& out) {
  if (!read_bytes(&out.head, sizeof out.head)) return false;
  for (sample_axis* const axis : {&out.x, &out.y}) {
    if (axis == &out.y && out.head.joint == 0) break;
    if (!read_bytes(&axis->head, sizeof axis->head)) return false;
    axis->edges.resize(axis->head.edges);
    axis->memory.resize(axis->head.memory_bytes);
    if (!read_bytes(axis->edges.data(), axis->edges.size() * sizeof(double))) return false;
    if (!read_bytes(axis->memory.data(), axis->memory.size())) return false;
  }
  out.weights.resize(out.head.weight_bytes);
  return read_bytes(out.weights.data(), out.weights.size());
}

void write_result(const case_result& result) {
  const unsigned refused = result.refused ? 1 : 0;
  write_bytes(&refused, sizeof refused);
  write_values(result.counts);
  write_values(result.sums);
  write_values(result.edges);
}

}  // namespace

int main(int argc, char** argv) {
  const bool on_device = argc > 1 && std::string_view(argv[1]) == "--device";
  if (on_device && !has_device()) return 77;
  try {
    sample_case each;
    while (read_case(each)) write_result(on_device ? run_on_device(each) : run_on_host(each));
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "sample_cases: %s\n", failed.what());
    return 1;
  }
  return 0;
}
