// The data sets that kernels are measured on: patterns in host memory, which the device's buffers repeat.
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

/// From what is usual to what is hardest on counters that are shared.
enum class data_set {
  text,        ///< a made-up web server log
  random,      ///< all byte values alike
  zipf,        ///< the k-th most frequent byte value 1/k as often as the most frequent
  sawtooth,    ///< 0, 1, ... 255, 0, ...: neighbours always differ
  one_letter,  ///< nothing but 'e'
};

inline constexpr std::array every_data_set{data_set::text, data_set::random, data_set::zipf, data_set::sawtooth,
                                           data_set::one_letter};

/// "one-letter".
std::string_view name_of(data_set which);
std::optional<data_set> find_data_set(std::string_view name);

/// `size` bytes, the same each time.
std::vector<std::uint8_t> make_data(data_set which, std::size_t size);

/// The first bytes of a file, `most` of them where it has as many. Throws std::runtime_error that names the file; so
/// does an empty one.
std::vector<std::uint8_t> read_data(const std::filesystem::path& from, std::size_t most);

}  // namespace gpuhist::bench
