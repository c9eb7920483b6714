#include "report/formats/run_id.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>

namespace gpuhist::pipeline {
namespace {

// Multiplication by an odd number is reversible modulo 2^64: runs that differ in time or process id have different
// products.
std::uint64_t bits_of_clock_and_process() {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15U;  // 2^64 divided by the golden ratio
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  return (static_cast<std::uint64_t>(nanoseconds) ^ (static_cast<std::uint64_t>(::getpid()) << 40U)) * odd;
}

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  const ssize_t size = ::getrandom(&bits, sizeof bits, GRND_NONBLOCK);
  return size == static_cast<ssize_t>(sizeof bits) ? bits : bits_of_clock_and_process();
}

}  // namespace

std::string make_run_id() {
  constexpr std::size_t digits = 16;
  std::array<char, digits> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), random_bits(), 16).ptr;
  const auto size = static_cast<std::size_t>(end - text.data());
  return std::string(digits - size, '0') + std::string(text.data(), size);
}

}  // namespace gpuhist::pipeline
