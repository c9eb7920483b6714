// The formats of the inputs of a job, by their content, and how a run would read them.
#pragma once

#include "batch/manifest.hpp"
#include "library/counting_plan.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::batch {

/// How an input is read.
enum class reading_manner : std::uint8_t {
  ranges,       ///< a plain file, by all threads
  whole_file,   ///< a small plain file, several at once
  many_frames,  ///< groups of frames, by all threads
  frame_parts,  ///< one frame, whose parts are decoded by several threads
  one_frame,    ///< by one thread; several inputs at once
  members,      ///< of an archive
  not_read,     ///< it cannot be opened, or is refused
};
inline constexpr std::size_t reading_manners = 7;

/// "ranges", ...: for programs.
std::string_view name_of(reading_manner manner);

/// A clause for people.
std::string_view description_of(reading_manner manner);

/// The inputs of one format.
struct format_group {
  std::string format;  ///< "raw", "zstd", "tar", "tar.zstd", "unreadable"
  std::size_t inputs = 0;
  std::uint64_t bytes = 0;                                    ///< as they are stored
  std::vector<std::size_t> entries{};                         ///< their numbers in the manifest
  std::size_t examined = 0;                                   ///< inputs whose frames were looked at
  std::array<std::size_t, reading_manners> manners{};         ///< of these inputs
  std::array<std::uint64_t, reading_manners> manner_bytes{};  ///< and their bytes

  /// Of the examined bytes, those that are read in this manner: 0 to 1.
  [[nodiscard]] double share_of(reading_manner manner) const;
};

/// The name of the format of an input that has no members: "raw", "zstd". Empty: it has, or it cannot be read.
std::string format_without_members(const library::counting_plan& planned, const manifest_entry& entry);

/// The groups, that with the most bytes first. Opens each of the entries `chosen`, on the threads of the plan, and
/// reads at most 64 KiB of it, of four compressed inputs of each format up to 16 MiB. Text that looks like an archive
/// in a compressed input is found as the run finds it, except in frames with large windows, where the name decides.
std::vector<format_group> survey(const library::counting_plan& planned, const manifest& inputs,
                                 const std::vector<std::size_t>& chosen);

}  // namespace gpuhist::batch
