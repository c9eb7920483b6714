// Makes chosen calls of a program fail. A program that is started with this library in LD_PRELOAD has its calls counted
// from main on, by class: allocations, threads, and a class for each group of system calls. One call of a class fails,
// or several in sequence. Environment variables choose them:
//
//   FAULT_COUNTS=FILE   gets the counts: a `call_counter` per class, correct at any time, also after a crash
//   FAULT_CLASS=NAME    the class of the calls that fail, one of `classes` below
//   FAULT_AT=N          the ordinal of the first call that fails, from 1
//   FAULT_TIMES=N       how many calls of the class fail in sequence (default: 1)
//   FAULT_EFFECT=E      an error number, or "short": one byte is read or written, whatever the requested size
//   FAULT_TRACE=FILE    gets the stack of the first call that fails: a line per frame, object file and offset in it
//
// Some calls never fail: transfers to standard error, where tests look for the message, and calls whose failure Asio
// ignores. These are transfers to eventfds, epoll_ctl that adds eventfds and timers or changes any descriptor, and
// timerfd_settime, for which Linux needs no resources. Calls inside the C library (for the stack of a thread, for the
// buffers of stdio) are not counted.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

// The allocator of glibc. It can be called before any symbol was looked up.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)

namespace {

constexpr auto classes = std::to_array<std::string_view>(
    {"alloc",     "map",    "thread",    "open",   "close",  "read",   "write",    "stat",   "seek",
     "fcntl",     "ioctl",  "poll",      "epoll",  "wait",   "event",  "timer",    "signal", "inotify",
     "pipe",      "tee",    "rename",    "link",   "unlink", "sync",   "truncate", "owner",  "access",
     "directory", "random", "sigaction", "advise", "usage",  "locale", "calendar"});

consteval std::size_t index_of(std::string_view name) {
  const auto* const found = std::ranges::find(classes, name);
  return found != classes.end() ? static_cast<std::size_t>(found - classes.begin()) : throw "no such class";
}

struct call_counter {
  std::array<char, 16> name;
  std::atomic<std::uint64_t> calls;
  std::atomic<std::uint64_t> failed;
};
using call_counters = std::array<call_counter, classes.size()>;

constexpr int shortened = -1;  // an effect besides the error numbers

struct fault_plan {
  bool active = false;
  std::size_t kind = classes.size();  // no call fails
  std::uint64_t at = 0;
  std::uint64_t times = 1;
  int effect = 0;
  const char* trace = nullptr;
  call_counters* counters = nullptr;
  std::array<std::atomic<bool>, 1024> wakes{};  // by descriptor: whether it is an eventfd or a timer
};

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): replaced functions have no other state
constinit fault_plan plan;
// Calls of this library itself are not calls of the program. The flag is in the
// thread's static block, so that access allocates nothing.
__attribute__((tls_model("initial-exec"))) constinit thread_local bool is_own_call = false;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

class own_calls {
 public:
  own_calls() { is_own_call = true; }
  ~own_calls() { is_own_call = before_; }
  own_calls(const own_calls&) = delete;
  own_calls& operator=(const own_calls&) = delete;

 private:
  const bool before_ = is_own_call;
};

void write_stack() {
  const own_calls no_faults;
  std::array<void*, 64> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  const int fd = ::open(plan.trace, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  for (void* const frame : std::span(frames).first(static_cast<std::size_t>(count))) {
    Dl_info object{};
    if (::dladdr(frame, &object) == 0) continue;
    ::dprintf(fd, "%s %#tx\n", object.dli_fname, static_cast<char*>(frame) - static_cast<char*>(object.dli_fbase));
  }
  ::close(fd);
}

/// Counts a call. Returns 0 if the call is to be made, else its effect: an error number, or `shortened`.
int next_fault(std::size_t kind) {
  if (!plan.active || is_own_call) return 0;
  call_counter& counter = (*plan.counters)[kind];
  const std::uint64_t ordinal = counter.calls.fetch_add(1) + 1;
  if (kind != plan.kind || ordinal < plan.at || ordinal - plan.at >= plan.times) return 0;
  if (counter.failed.fetch_add(1) == 0 && plan.trace != nullptr) write_stack();
  return plan.effect;
}

/// The original of a function that this library replaces.
template <typename Function>
Function* original(std::atomic<Function*>& known, const char* name) {
  if (Function* const function = known.load(std::memory_order_relaxed)) return function;
  const own_calls no_faults;
  auto* const function = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
  if (function == nullptr) std::abort();
  known.store(function, std::memory_order_relaxed);
  return function;
}

bool is_spared(int fd) {
  const auto index = static_cast<std::size_t>(fd);
  return fd == STDERR_FILENO || (index < plan.wakes.size() && plan.wakes[index]);
}

call_counters* map_counters(const char* path) {
  const int fd = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0 || ::ftruncate(fd, sizeof(call_counters)) != 0) std::abort();
  void* const page = ::mmap(nullptr, sizeof(call_counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) std::abort();
  ::close(fd);
  return static_cast<call_counters*>(page);
}

// Called before main, when there is no other thread.
const char* setting(const char* name) { return std::getenv(name); }  // NOLINT(concurrency-mt-unsafe)

void read_plan() {
  static call_counters unpublished;
  const char* const path = setting("FAULT_COUNTS");
  plan.counters = path != nullptr ? map_counters(path) : &unpublished;
  for (std::size_t kind = 0; kind < classes.size(); ++kind) {
    std::ranges::copy(classes[kind], (*plan.counters)[kind].name.begin());
  }
  plan.trace = setting("FAULT_TRACE");
  std::array<void*, 1> frame{};
  if (plan.trace != nullptr) ::backtrace(frame.data(), 1);  // the first call loads a library
  const char* const kind = setting("FAULT_CLASS");
  const char* const at = setting("FAULT_AT");
  const char* const effect = setting("FAULT_EFFECT");
  if (kind == nullptr || at == nullptr || effect == nullptr) return;
  plan.kind = static_cast<std::size_t>(std::ranges::find(classes, std::string_view(kind)) - classes.begin());
  plan.at = std::strtoull(at, nullptr, 10);
  if (const char* const times = setting("FAULT_TIMES")) plan.times = std::strtoull(times, nullptr, 10);
  plan.effect = std::string_view(effect) == "short" ? shortened : static_cast<int>(std::strtol(effect, nullptr, 10));
  if (plan.kind == classes.size() || plan.at == 0 || plan.effect == 0) std::abort();
}

using main_function = int (*)(int, char**, char**);
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit main_function main_of_program = nullptr;

int main_with_faults(int argc, char** argv, char** environment) {
  read_plan();
  plan.active = true;
  return main_of_program(argc, argv, environment);
}

}  // namespace

// Defines a replacement of the function `name`. Its C++ name differs, so that it need not repeat the declaration of a
// system header. A function with variable arguments is defined with its largest number of arguments, which is
// equivalent under the calling conventions of Linux.
// NOLINTBEGIN(bugprone-macro-parentheses): parameters and arguments bring their own
#define REPLACEMENT(result, name, parameters)                  \
  extern "C" result replaced_##name parameters __asm__(#name); \
  result replaced_##name parameters

// A call of class `kind`. It fails by returning `failure`, with errno set. `failure` may name `error`.
#define FAULTY(kind, failure, result, name, parameters, arguments) \
  REPLACEMENT(result, name, parameters) {                          \
    static constinit std::atomic<result(*) parameters> known;      \
    const int error = next_fault(index_of(#kind));                 \
    if (error == 0) return original(known, #name) arguments;       \
    errno = error;                                                 \
    return failure;                                                \
  }

// The same for a call that transfers up to `size` bytes from or to `fd`.
#define FAULTY_TRANSFER(kind, name, parameters, arguments)                         \
  REPLACEMENT(ssize_t, name, parameters) {                                         \
    static constinit std::atomic<ssize_t(*) parameters> known;                     \
    const int error = is_spared(fd) ? 0 : next_fault(index_of(#kind));             \
    if (error == shortened) size = std::min<std::size_t>(size, 1);                 \
    if (error == 0 || error == shortened) return original(known, #name) arguments; \
    errno = error;                                                                 \
    return -1;                                                                     \
  }

// NOLINTEND(bugprone-macro-parentheses)

// ---- allocations and threads

namespace {

template <typename Allocate>
void* allocate_or_fail(Allocate allocate) {
  const int error = next_fault(index_of("alloc"));
  if (error == 0) return allocate();
  errno = error;
  return nullptr;
}

}  // namespace

REPLACEMENT(void*, malloc, (std::size_t size)) {
  return allocate_or_fail([=] { return __libc_malloc(size); });
}

REPLACEMENT(void*, calloc, (std::size_t count, std::size_t size)) {
  return allocate_or_fail([=] { return __libc_calloc(count, size); });
}

REPLACEMENT(void*, realloc, (void* old, std::size_t size)) {
  return allocate_or_fail([=] { return __libc_realloc(old, size); });
}

REPLACEMENT(void*, memalign, (std::size_t alignment, std::size_t size)) {
  return allocate_or_fail([=] { return __libc_memalign(alignment, size); });
}

REPLACEMENT(void*, aligned_alloc, (std::size_t alignment, std::size_t size)) {
  return allocate_or_fail([=] { return __libc_memalign(alignment, size); });
}

REPLACEMENT(int, posix_memalign, (void** to, std::size_t alignment, std::size_t size)) {
  *to = allocate_or_fail([=] { return __libc_memalign(alignment, size); });
  return *to != nullptr ? 0 : ENOMEM;
}

// Maps of files are not counted: they provide no memory.
REPLACEMENT(void*, mmap, (void* at, std::size_t size, int access, int flags, int fd, off_t offset)) {
  static constinit std::atomic<void* (*)(void*, std::size_t, int, int, int, off_t)> known;
  const int error = (flags & MAP_ANONYMOUS) != 0 ? next_fault(index_of("map")) : 0;
  if (error == 0) return original(known, "mmap")(at, size, access, flags, fd, offset);
  errno = error;
  return MAP_FAILED;
}

FAULTY(thread, error, int, pthread_create, (void* thread, void* attributes, void* (*run)(void*), void* argument),
       (thread, attributes, run, argument))

// ---- descriptors

FAULTY(open, -1, int, open, (const char* path, int flags, unsigned mode), (path, flags, mode))
FAULTY(open, -1, int, open64, (const char* path, int flags, unsigned mode), (path, flags, mode))
FAULTY(open, -1, int, openat, (int folder, const char* path, int flags, unsigned mode), (folder, path, flags, mode))
FAULTY(open, -1, int, mkostemp, (char* pattern, int flags), (pattern, flags))
FAULTY(open, nullptr, void*, fopen, (const char* path, const char* mode), (path, mode))
FAULTY(open, nullptr, void*, fopen64, (const char* path, const char* mode), (path, mode))
FAULTY(fcntl, -1, int, fcntl, (int fd, int command, std::uintptr_t argument), (fd, command, argument))
FAULTY(fcntl, -1, int, fcntl64, (int fd, int command, std::uintptr_t argument), (fd, command, argument))
FAULTY(fcntl, -1, int, dup, (int fd), (fd))
FAULTY(fcntl, -1, int, dup2, (int fd, int to), (fd, to))
FAULTY(fcntl, -1, int, dup3, (int fd, int to, int flags), (fd, to, flags))
FAULTY(ioctl, -1, int, ioctl, (int fd, unsigned long request, void* argument), (fd, request, argument))
FAULTY(ioctl, 0, int, isatty, (int fd), (fd))
FAULTY(ioctl, -1, int, tcgetpgrp, (int fd), (fd))
FAULTY(pipe, -1, int, pipe, (int* ends), (ends))
FAULTY(pipe, -1, int, pipe2, (int* ends, int flags), (ends, flags))

// The descriptor is closed even if the call fails, as on Linux.
REPLACEMENT(int, close, (int fd)) {
  static constinit std::atomic<int (*)(int)> known;
  const int error = next_fault(index_of("close"));
  if (is_spared(fd)) plan.wakes.at(static_cast<std::size_t>(fd)) = false;
  const int result = original(known, "close")(fd);
  if (error == 0) return result;
  errno = error;
  return -1;
}

// ---- transfers

FAULTY_TRANSFER(read, read, (int fd, void* to, std::size_t size), (fd, to, size))
FAULTY_TRANSFER(read, pread, (int fd, void* to, std::size_t size, off_t at), (fd, to, size, at))
FAULTY_TRANSFER(read, pread64, (int fd, void* to, std::size_t size, off_t at), (fd, to, size, at))
FAULTY_TRANSFER(read, recv, (int fd, void* to, std::size_t size, int flags), (fd, to, size, flags))
FAULTY_TRANSFER(write, write, (int fd, const void* from, std::size_t size), (fd, from, size))
FAULTY_TRANSFER(write, pwrite, (int fd, const void* from, std::size_t size, off_t at), (fd, from, size, at))
FAULTY_TRANSFER(write, pwrite64, (int fd, const void* from, std::size_t size, off_t at), (fd, from, size, at))
FAULTY_TRANSFER(write, send, (int fd, const void* from, std::size_t size, int flags), (fd, from, size, flags))
FAULTY(write, -1, ssize_t, writev, (int fd, const void* parts, int count), (fd, parts, count))
FAULTY(tee, -1, ssize_t, tee, (int from, int to, std::size_t size, unsigned flags), (from, to, size, flags))
FAULTY(seek, -1, off_t, lseek, (int fd, off_t offset, int whence), (fd, offset, whence))
FAULTY(seek, -1, off_t, lseek64, (int fd, off_t offset, int whence), (fd, offset, whence))
FAULTY(sync, -1, int, fsync, (int fd), (fd))
FAULTY(sync, -1, int, fdatasync, (int fd), (fd))
FAULTY(truncate, -1, int, ftruncate, (int fd, off_t size), (fd, size))
FAULTY(truncate, -1, int, ftruncate64, (int fd, off_t size), (fd, size))
FAULTY(advise, error, int, posix_fadvise, (int fd, off_t at, off_t size, int advice), (fd, at, size, advice))
FAULTY(advise, -1, int, madvise, (void* at, std::size_t size, int advice), (at, size, advice))

// ---- waiting

FAULTY(poll, -1, int, poll, (void* descriptors, unsigned long count, int timeout), (descriptors, count, timeout))
FAULTY(epoll, -1, int, epoll_create, (int size), (size))
FAULTY(epoll, -1, int, epoll_create1, (int flags), (flags))
FAULTY(wait, -1, int, epoll_wait, (int epoll, void* events, int count, int timeout), (epoll, events, count, timeout))
FAULTY(signal, -1, int, signalfd, (int fd, const void* set, int flags), (fd, set, flags))
FAULTY(signal, error, int, pthread_sigmask, (int operation, const void* set, void* old), (operation, set, old))
FAULTY(sigaction, -1, int, sigaction, (int number, const void* action, void* old), (number, action, old))
FAULTY(inotify, -1, int, inotify_init1, (int flags), (flags))
FAULTY(inotify, -1, int, inotify_add_watch, (int fd, const char* path, unsigned mask), (fd, path, mask))

// Asio wakes threads through these descriptors, and ignores the errors of adding them.
namespace {

int mark_as_waking(int fd) {
  if (fd >= 0) plan.wakes.at(static_cast<std::size_t>(fd)) = true;
  return fd;
}

}  // namespace

REPLACEMENT(int, epoll_ctl, (int epoll, int operation, int fd, void* event)) {
  static constinit std::atomic<int (*)(int, int, int, void*)> known;
  const int error = operation == EPOLL_CTL_ADD && !is_spared(fd) ? next_fault(index_of("epoll")) : 0;
  if (error == 0) return original(known, "epoll_ctl")(epoll, operation, fd, event);
  errno = error;
  return -1;
}

REPLACEMENT(int, eventfd, (unsigned value, int flags)) {
  static constinit std::atomic<int (*)(unsigned, int)> known;
  const int error = next_fault(index_of("event"));
  if (error == 0) return mark_as_waking(original(known, "eventfd")(value, flags));
  errno = error;
  return -1;
}

REPLACEMENT(int, timerfd_create, (int clock, int flags)) {
  static constinit std::atomic<int (*)(int, int)> known;
  const int error = next_fault(index_of("timer"));
  if (error == 0) return mark_as_waking(original(known, "timerfd_create")(clock, flags));
  errno = error;
  return -1;
}

// ---- names

FAULTY(stat, -1, int, stat, (const char* path, void* found), (path, found))
FAULTY(stat, -1, int, stat64, (const char* path, void* found), (path, found))
FAULTY(stat, -1, int, lstat, (const char* path, void* found), (path, found))
FAULTY(stat, -1, int, lstat64, (const char* path, void* found), (path, found))
FAULTY(stat, -1, int, fstat, (int fd, void* found), (fd, found))
FAULTY(stat, -1, int, fstat64, (int fd, void* found), (fd, found))
FAULTY(stat, -1, int, fstatat, (int folder, const char* path, void* found, int flags), (folder, path, found, flags))
FAULTY(stat, -1, int, fstatat64, (int folder, const char* path, void* found, int flags), (folder, path, found, flags))
FAULTY(access, -1, int, access, (const char* path, int mode), (path, mode))
FAULTY(access, -1, int, faccessat, (int folder, const char* path, int mode, int flags), (folder, path, mode, flags))
FAULTY(rename, -1, int, rename, (const char* from, const char* to), (from, to))
FAULTY(rename, -1, int, renameat, (int from_folder, const char* from, int to_folder, const char* to),
       (from_folder, from, to_folder, to))
FAULTY(rename, -1, int, renameat2, (int from_folder, const char* from, int to_folder, const char* to, unsigned flags),
       (from_folder, from, to_folder, to, flags))
FAULTY(link, -1, int, link, (const char* from, const char* to), (from, to))
FAULTY(link, -1, int, linkat, (int from_folder, const char* from, int to_folder, const char* to, int flags),
       (from_folder, from, to_folder, to, flags))
FAULTY(link, -1, ssize_t, readlink, (const char* path, char* to, std::size_t size), (path, to, size))
FAULTY(unlink, -1, int, unlink, (const char* path), (path))
FAULTY(unlink, -1, int, unlinkat, (int folder, const char* path, int flags), (folder, path, flags))
FAULTY(owner, -1, int, fchmod, (int fd, unsigned mode), (fd, mode))
FAULTY(owner, -1, int, fchown, (int fd, unsigned user, unsigned group), (fd, user, group))
FAULTY(directory, nullptr, void*, opendir, (const char* path), (path))
FAULTY(directory, nullptr, void*, fdopendir, (int fd), (fd))
FAULTY(directory, nullptr, void*, readdir, (void* directory), (directory))
FAULTY(directory, nullptr, void*, readdir64, (void* directory), (directory))

// ---- other calls

FAULTY(random, -1, int, getentropy, (void* to, std::size_t size), (to, size))
FAULTY(random, -1, ssize_t, getrandom, (void* to, std::size_t size, unsigned flags), (to, size, flags))
FAULTY(usage, -1, int, getrusage, (int subject, void* usage), (subject, usage))
FAULTY(usage, -1, int, sched_getaffinity, (int process, std::size_t size, void* set), (process, size, set))
FAULTY(locale, nullptr, void*, newlocale, (int mask, const char* name, void* base), (mask, name, base))
FAULTY(calendar, nullptr, void*, gmtime_r, (const void* seconds, void* to), (seconds, to))

// ---- start of main

REPLACEMENT(int, __libc_start_main,
            (main_function run, int argc, char** argv, void (*begin)(), void (*end)(), void (*unload)(), void* stack)) {
  using start_function = int(main_function, int, char**, void (*)(), void (*)(), void (*)(), void*);
  static constinit std::atomic<start_function*> known;
  main_of_program = run;
  return original(known, "__libc_start_main")(main_with_faults, argc, argv, begin, end, unload, stack);
}
