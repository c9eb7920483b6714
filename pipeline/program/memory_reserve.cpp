#include "pipeline/program/memory_reserve.hpp"

#include "pipeline/program/commands/commands.hpp"
#include "pipeline/report/output/temporary_file.hpp"

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

namespace gpuhist::pipeline {
namespace {

// Enough to throw, to unwind and to say why. The allocator maps a block of this size: releasing it gives the address
// space back to whatever needs it.
constexpr std::size_t reserve_bytes = std::size_t{1} << 20U;

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): handlers can see nothing but globals
std::atomic<void*> reserve = nullptr;
std::atomic<bool> is_exhausted = false;
std::terminate_handler usual_end = nullptr;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void on_failed_allocation() {
  if (void* const held = reserve.exchange(nullptr)) return std::free(held);  // NOLINT(cppcoreguidelines-no-malloc)
  is_exhausted = true;
  throw std::bad_alloc();
}

// Allocates nothing.
void on_terminate() {
  if (!is_exhausted) usual_end();
  constexpr std::string_view said = "gpuhist: memory is exhausted: the run ends without its result\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, said.data(), said.size());
  remove_temporary_file();
  std::_Exit(ending::input_failed);
}

}  // namespace

void prepare_for_exhausted_memory() {
  reserve = std::malloc(reserve_bytes);  // NOLINT(cppcoreguidelines-no-malloc)
  std::set_new_handler(on_failed_allocation);
  usual_end = std::set_terminate(on_terminate);
  // libarchive says "Out of memory" and calls exit() itself, on its thread
  std::atexit(remove_temporary_file);
}

}  // namespace gpuhist::pipeline
