#include "command/memory_reserve.hpp"

#include "command/commands.hpp"
#include "report/output/temporary_file.hpp"

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

namespace gpuhist::pipeline {
namespace {

// Enough to throw, to unwind and to print the cause. The allocator maps a block of this size separately: releasing it
// returns its address space to the system.
constexpr std::size_t reserve_bytes = std::size_t{1} << 20U;

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): handlers can access only globals
std::atomic<void*> reserve = nullptr;
std::atomic<bool> is_exhausted = false;
std::terminate_handler usual_end = nullptr;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

void on_failed_allocation() {
  if (void* const block = reserve.exchange(nullptr)) return std::free(block);  // NOLINT(cppcoreguidelines-no-malloc)
  is_exhausted = true;
  throw std::bad_alloc();
}

// Allocates nothing.
void on_terminate() {
  if (!is_exhausted) usual_end();
  constexpr std::string_view message = "gpuhist: memory is exhausted: the run ends without its result\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, message.data(), message.size());
  remove_temporary_file();
  std::_Exit(ending::input_failed);
}

}  // namespace

void prepare_for_exhausted_memory() {
  reserve = std::malloc(reserve_bytes);  // NOLINT(cppcoreguidelines-no-malloc)
  std::set_new_handler(on_failed_allocation);
  usual_end = std::set_terminate(on_terminate);
  // without memory, libarchive prints "Out of memory" and calls exit() on the thread that uses it
  std::atexit(remove_temporary_file);
}

}  // namespace gpuhist::pipeline
