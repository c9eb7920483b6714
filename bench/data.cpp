#include "bench/data.hpp"

#include "bench/generator.hpp"
#include "bench/log_lines.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace gpuhist::bench {
namespace {

constexpr std::size_t byte_values = 256;

std::vector<std::uint8_t> make_text(std::size_t size) {
  generator random(1);
  std::uint64_t clock = 0;
  std::string text;
  text.reserve(size + 4096);
  while (text.size() < size) append_log_line(text, random, clock);
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(size);
  return {text.begin(), end};
}

std::vector<std::uint8_t> make_random(std::size_t size) {
  generator random(2);
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    const std::uint64_t word = random.next();
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, size - at));
  }
  return bytes;
}

// The byte values by frequency. They are shuffled (Fisher and Yates), so that frequent values are not neighbours.
std::array<std::uint8_t, byte_values> shuffled_values(generator& random) {
  std::array<std::uint8_t, byte_values> values{};
  for (std::size_t i = 0; i < byte_values; ++i) values[i] = static_cast<std::uint8_t>(i);
  for (std::uint32_t i = byte_values - 1; i > 0; --i) std::swap(values[i], values[random.below(i + 1)]);
  return values;
}

// A table of 2^16 entries, in which the share of each value is its probability: 16 random bits select an entry.
std::vector<std::uint8_t> zipf_table(generator& random) {
  constexpr std::size_t entries = std::size_t{1} << 16U;
  const auto values = shuffled_values(random);
  double whole = 0;
  for (std::size_t rank = 1; rank <= byte_values; ++rank) whole += 1 / static_cast<double>(rank);
  std::vector<std::uint8_t> table;
  table.reserve(entries);
  double sum = 0;
  for (std::size_t rank = 1; rank <= byte_values; ++rank) {
    sum += 1 / static_cast<double>(rank);
    table.resize(static_cast<std::size_t>(sum / whole * entries), values[rank - 1]);
  }
  table.resize(entries, values.back());
  return table;
}

std::vector<std::uint8_t> make_zipf(std::size_t size) {
  generator random(3);
  const auto table = zipf_table(random);
  std::vector<std::uint8_t> bytes(size);
  std::uint64_t bits = 0;
  for (std::size_t at = 0; at < size; ++at) {
    bits = at % 4 == 0 ? random.next() : bits >> 16U;
    bytes[at] = table[bits & 0xffffU];
  }
  return bytes;
}

std::vector<std::uint8_t> make_sawtooth(std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  for (std::size_t at = 0; at < size; ++at) bytes[at] = static_cast<std::uint8_t>(at);
  return bytes;
}

std::vector<std::uint8_t> make_one_letter(std::size_t size) { return std::vector<std::uint8_t>(size, 'e'); }

struct row {
  data_set which;
  std::string_view name;
  std::vector<std::uint8_t> (*make)(std::size_t size);
};

constexpr std::array rows{
    row{.which = data_set::text, .name = "text", .make = make_text},
    row{.which = data_set::random, .name = "random", .make = make_random},
    row{.which = data_set::zipf, .name = "zipf", .make = make_zipf},
    row{.which = data_set::sawtooth, .name = "sawtooth", .make = make_sawtooth},
    row{.which = data_set::one_letter, .name = "one-letter", .make = make_one_letter},
};

const row& row_of(data_set which) { return *std::ranges::find(rows, which, &row::which); }

}  // namespace

std::string_view name_of(data_set which) { return row_of(which).name; }

std::optional<data_set> find_data_set(std::string_view name) {
  const auto found = std::ranges::find(rows, name, &row::name);
  return found == rows.end() ? std::nullopt : std::optional(found->which);
}

std::vector<std::uint8_t> make_data(data_set which, std::size_t size) { return row_of(which).make(size); }

std::vector<std::uint8_t> read_data(const std::filesystem::path& from, std::size_t limit) {
  std::ifstream file(from, std::ios::binary);
  if (!file) throw std::runtime_error(from.string() + ": cannot be opened: " + std::system_category().message(errno));
  constexpr std::size_t piece = std::size_t{1} << 20U;
  std::vector<std::uint8_t> bytes;
  while (bytes.size() < limit && file) {
    const std::size_t before = bytes.size();
    bytes.resize(std::min(limit, before + piece));
    file.read(reinterpret_cast<char*>(bytes.data() + before), static_cast<std::streamsize>(bytes.size() - before));
    bytes.resize(before + static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad())
    throw std::runtime_error(from.string() + ": cannot be read: " + std::system_category().message(errno));
  if (bytes.empty()) throw std::runtime_error(from.string() + ": is empty; kernels are measured on at least one byte");
  return bytes;
}

}  // namespace gpuhist::bench
