#include "support/failing_resources.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

// The state is that of the process, because its allocations are; operator new itself is implemented with malloc.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables,cppcoreguidelines-no-malloc)
// NOLINTBEGIN(readability-convert-member-functions-to-static,readability-inconsistent-declaration-parameter-name)

namespace gpuhist::test {
namespace {

std::atomic<bool> is_armed{false};
std::atomic<resource> armed_for{resource::memory};
std::atomic<unsigned> requests{0};
std::atomic<unsigned> failing_request{0};
std::atomic<bool> fails_from_then_on{false};
thread_local int spared_scopes = 0;

bool fails(resource kind) noexcept {
  if (!is_armed || armed_for != kind || spared_scopes > 0) return false;
  const unsigned number = ++requests;
  return number == failing_request || (fails_from_then_on && number > failing_request);
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (fails(resource::memory)) return nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(bytes == 0 ? 1 : bytes);
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment = 1) {
  if (void* const memory = allocate(bytes, alignment)) return memory;
  throw std::bad_alloc();
}

}  // namespace

failing_resource::failing_resource(resource kind, unsigned nth, extent duration) {
  armed_for = kind;
  requests = 0;
  failing_request = nth;
  fails_from_then_on = duration == extent::from_then_on;
}

failing_resource::~failing_resource() { is_armed = false; }

bool failing_resource::was_reached() const { return requests >= failing_request; }

unsigned failing_resource::requested() const { return requests; }

failing_resource::scope::scope(failing_resource& /*failing*/) { is_armed = true; }

failing_resource::scope::~scope() { is_armed = false; }

spared::spared() { ++spared_scopes; }

spared::~spared() { --spared_scopes; }

}  // namespace gpuhist::test

void* operator new(std::size_t bytes) { return gpuhist::test::allocate_or_throw(bytes); }
void* operator new[](std::size_t bytes) { return gpuhist::test::allocate_or_throw(bytes); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return gpuhist::test::allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return gpuhist::test::allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return gpuhist::test::allocate(bytes, 1); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return gpuhist::test::allocate(bytes, 1); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) {
  using creation = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = reinterpret_cast<creation>(::dlsym(RTLD_NEXT, "pthread_create"));
  return gpuhist::test::fails(gpuhist::test::resource::thread) ? EAGAIN : real(thread, attributes, start, argument);
}

// NOLINTEND(readability-convert-member-functions-to-static,readability-inconsistent-declaration-parameter-name)
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables,cppcoreguidelines-no-malloc)
