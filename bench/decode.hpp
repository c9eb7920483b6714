// gpuhist-bench decode: the rate of the device's decoder of zstd frames or gzip members and of its phases, compared in
// the same run with libzstd or ISA-L on all cores, with the link that transports the compressed bytes, and, on request,
// with the decoder of another library.
#pragma once

#include "bench/data.hpp"
#include "bench/encoded_batch.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::bench {

struct decode_options {
  std::vector<data_set> data{data_set::text, data_set::random, data_set::zipf, data_set::one_letter};
  std::filesystem::path file;  ///< measured after the data sets; empty: none
  codec coded = codec::zstd;
  std::optional<int> level;  ///< nothing: 3 for zstd, 6 for gzip
  std::vector<std::uint64_t> frame_sizes{std::uint64_t{64} << 10U, std::uint64_t{1} << 20U, std::uint64_t{8} << 20U};
  std::vector<std::uint64_t> in_flight{std::uint64_t{3968} << 20U};  ///< text of one batch; less if memory is short
  std::uint64_t distinct_bytes = std::uint64_t{1} << 30U;            ///< of text; a batch repeats it
  unsigned rounds = 5;                                               ///< medians are reported
  std::filesystem::path peer;                                        ///< library of nvCOMP; empty: not measured
};

/// A phase, and the only codec that has it, if it is not of all.
struct decode_phase {
  std::string_view name;
  std::optional<codec> only{};

  [[nodiscard]] bool is_of(codec which) const { return only.value_or(which) == which; }
};

/// As gpu::cuda::frames::phase.
inline constexpr std::array<decode_phase, 11> decode_phases{{{"describe", codec::zstd},
                                                             {"resolve", codec::zstd},
                                                             {"literals", codec::zstd},
                                                             {"sequences", codec::zstd},
                                                             {"begins", codec::gzip},
                                                             {"symbols", codec::gzip},
                                                             {"order", codec::gzip},
                                                             {"link"},
                                                             {"execute"},
                                                             {"crc32", codec::gzip},
                                                             {"checksum", codec::zstd}}};

struct decode_configuration {
  std::string data;  ///< name of the data set, or the file
  codec coded = codec::zstd;
  int level = 0;
  std::uint64_t frame_bytes = 0;
  std::uint64_t in_flight = 0;  ///< as requested
};

/// "text, zstd level 3, frames of 64 KiB, 3.9 GiB in flight".
std::string name_of(const decode_configuration& configuration);

/// The seconds of one batch are medians.
struct decode_row {
  decode_configuration configuration;
  batch_content content;
  double seconds = 0;
  std::array<double, decode_phases.size()> phase_seconds{};
  double host_seconds = 0;            ///< of the library of the host, for host_text_bytes
  std::uint64_t host_text_bytes = 0;  ///< the distinct text
  double copy_seconds = 0;            ///< of the compressed bytes of a batch, from pinned memory
  std::optional<double> peer_seconds;

  [[nodiscard]] double rate() const;  ///< bytes of text per second, as the next three
  [[nodiscard]] double host_rate() const;
  [[nodiscard]] double copy_rate() const;
  [[nodiscard]] std::optional<double> peer_rate() const;
};

/// The columns, with the phases of this codec, and one line for each configuration.
std::string decode_table_heading(codec of);
std::string decode_table_line(const decode_row& row);

/// The rows for programs: one JSON object per line, or CSV with a heading.
std::string decode_json_row(const decode_row& row, const std::string& device, unsigned host_threads);
std::string decode_csv_heading();
std::string decode_csv_row(const decode_row& row, const std::string& device, unsigned host_threads);

}  // namespace gpuhist::bench
