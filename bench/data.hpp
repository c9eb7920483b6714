// The data sets for measurements: patterns in host memory, which the buffers on the device repeat.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace gpuhist::bench {

/// Ordered from typical data to the data with the most contention on shared counters.
enum class data_set {
  text,        ///< a synthetic web server log
  random,      ///< uniform byte values
  zipf,        ///< the k-th most frequent byte value has 1/k of the frequency of the most frequent one
  sawtooth,    ///< 0, 1, ... 255, 0, ...: neighbours always differ
  one_letter,  ///< only 'e'
};

inline constexpr std::array every_data_set{data_set::text, data_set::random, data_set::zipf, data_set::sawtooth,
                                           data_set::one_letter};

/// "one-letter".
std::string_view name_of(data_set which);
std::optional<data_set> find_data_set(std::string_view name);

/// `size` bytes, the same in every call.
std::vector<std::uint8_t> make_data(data_set which, std::size_t size);

/// The first `limit` bytes of a file, or all if it is shorter. Throws std::runtime_error with the name of the file if
/// it cannot be read or is empty.
std::vector<std::uint8_t> read_data(const std::filesystem::path& from, std::size_t limit);

}  // namespace gpuhist::bench
