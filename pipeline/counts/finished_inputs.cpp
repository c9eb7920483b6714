#include "pipeline/counts/finished_inputs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace gpuhist::pipeline {

namespace {

constexpr std::size_t completions_in_memory = std::size_t{64} << 10U;  // bytes

static_assert(std::is_trivially_copyable_v<completion>);

}  // namespace

completed_inputs::completed_inputs(const spill_folder& folder) : completions_(completions_in_memory, folder) {}

void completed_inputs::append(const completion& next) {
  completions_.append(std::string_view(reinterpret_cast<const char*>(&next), sizeof next));
}

std::size_t completed_inputs::size() const { return completions_.size() / sizeof(completion); }

completion completed_inputs::at(std::size_t number) const {
  const std::string bytes = completions_.read(number * sizeof(completion), sizeof(completion));
  if (bytes.size() != sizeof(completion)) {
    throw std::system_error(EIO, std::system_category(), "the temporary file of finished inputs is truncated");
  }
  completion found;
  std::memcpy(&found, bytes.data(), sizeof found);
  return found;
}

namespace {

constexpr std::size_t read_at_once = 512;  // most reports are shorter

using length_type = std::uint32_t;

template <typename Number>
std::string bytes_of(Number value) {
  std::string bytes(sizeof value, '\0');
  std::copy_n(reinterpret_cast<const char*>(&value), sizeof value, bytes.begin());
  return bytes;
}

[[noreturn]] void throw_short_read() {
  throw std::system_error(EIO, std::system_category(), "the temporary file of finished inputs is truncated");
}

template <typename Number>
Number number_in(std::string_view bytes) {
  Number value{};
  if (bytes.size() < sizeof value) throw_short_read();
  std::copy_n(bytes.begin(), sizeof value, reinterpret_cast<char*>(&value));
  return value;
}

}  // namespace

finished_inputs::finished_inputs(std::size_t classes, std::size_t in_memory, const spill_folder& folder)
    : classes_(classes), reports_(in_memory, folder), order_(in_memory / 8, folder) {}

finished_inputs::location finished_inputs::spill(const input_report& input) {
  const std::string text = packed_report(input);
  return reports_.append(bytes_of(static_cast<length_type>(text.size())) + text);
}

void finished_inputs::append(std::span<const location> all) {
  if (all.empty()) return;
  order_.append({reinterpret_cast<const char*>(all.data()), all.size_bytes()});
}

void finished_inputs::cut_back(extent to) {
  order_.cut_back(to.order_bytes);
  reports_.cut_back(to.report_bytes);
}

input_report finished_inputs::at(location position) const {
  std::string text = reports_.read(position, read_at_once);
  const std::size_t whole = sizeof(length_type) + number_in<length_type>(text);
  if (text.size() < whole) text = reports_.read(position, whole);
  if (text.size() < whole) throw_short_read();
  return unpacked_report(std::string_view(text).substr(sizeof(length_type), whole - sizeof(length_type)), classes_);
}

finished_inputs::location finished_inputs::location_of(std::uint64_t input) const {
  return number_in<location>(order_.read(input * sizeof(location), sizeof(location)));
}

}  // namespace gpuhist::pipeline
