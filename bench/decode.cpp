#include "bench/decode.hpp"

#include "bench/flat_rows.hpp"
#include "bench/table.hpp"
#include "config/size.hpp"

namespace gpuhist::bench {
namespace {

constexpr std::size_t data_width = 12;

std::string gigabytes(std::optional<double> rate) {
  return fixed(rate ? std::optional(*rate * 1e-9) : std::nullopt, 1);
}

flat_row value_or_null(const std::optional<double>& value) { return value ? flat_row(*value) : flat_row(nullptr); }

flat_row flat_row_of(const decode_row& row, const std::string& device, unsigned host_threads) {
  const batch_content& content = row.content;
  flat_row flat{{"device", device},
                {"data", row.configuration.data},
                {"codec", std::string(name_of(row.configuration.coded))},
                {"level", row.configuration.level},
                {"frame_bytes", row.configuration.frame_bytes},
                {"frames", content.frames},
                {"blocks", content.blocks},
                {"text_bytes", content.text_bytes},
                {"compressed_bytes", content.compressed_bytes},
                {"text_per_sequence", value_or_null(content.text_per_sequence())},
                {"huffman_share", content.huffman_share()},
                {"seconds", row.seconds}};
  for (std::size_t i = 0; i < decode_phases.size(); ++i) {
    flat[std::string(decode_phases[i].name) + "_seconds"] = row.phase_seconds[i];
  }
  flat["bytes_per_second"] = row.rate();
  flat["host_threads"] = host_threads;
  flat["host_bytes_per_second"] = row.host_rate();
  flat["copy_bytes_per_second"] = row.copy_rate();
  flat["peer_bytes_per_second"] = value_or_null(row.peer_rate());
  return flat;
}

}  // namespace

std::string name_of(const decode_configuration& configuration) {
  return configuration.data + ", " + std::string(name_of(configuration.coded)) + " level " +
         std::to_string(configuration.level) + ", frames of " + config::format_size(configuration.frame_bytes) + ", " +
         config::format_size(configuration.in_flight) + " in flight";
}

double decode_row::rate() const { return static_cast<double>(content.text_bytes) / seconds; }
double decode_row::host_rate() const { return static_cast<double>(host_text_bytes) / host_seconds; }
double decode_row::copy_rate() const { return static_cast<double>(content.text_bytes) / copy_seconds; }

std::optional<double> decode_row::peer_rate() const {
  if (!peer_seconds) return std::nullopt;
  return static_cast<double>(content.text_bytes) / *peer_seconds;
}

std::string decode_table_heading(codec of) {
  std::string text = left("data", data_width) + right("level", 5) + right("frame", 9) + right("in flight", 11) +
                     right("frames", 8) + right("blocks", 8) + right("ratio", 9) + right("B/sequence", 12) +
                     right("Huffman", 9) + right("GB/s", 9) + right("host", 9) + right("copies", 9) + right("peer", 9);
  for (const decode_phase& each : decode_phases) {
    if (each.is_of(of)) text += right(std::string(each.name), 11);
  }
  return text + "\n";
}

std::string decode_table_line(const decode_row& row) {
  const batch_content& content = row.content;
  std::string text = left(row.configuration.data, data_width) + right(std::to_string(row.configuration.level), 5) +
                     right(config::format_size(row.configuration.frame_bytes), 9) +
                     right(config::format_size(content.text_bytes), 11) + right(std::to_string(content.frames), 8) +
                     right(std::to_string(content.blocks), 8) + right(fixed(content.ratio(), 2), 9) +
                     right(fixed(content.text_per_sequence(), 1), 12) +
                     right(fixed(content.huffman_share() * 100, 1) + " %", 9) + right(gigabytes(row.rate()), 9) +
                     right(gigabytes(row.host_rate()), 9) + right(gigabytes(row.copy_rate()), 9) +
                     right(gigabytes(row.peer_rate()), 9);
  for (std::size_t i = 0; i < decode_phases.size(); ++i) {
    if (decode_phases[i].is_of(row.configuration.coded)) text += right(fixed(row.phase_seconds[i] * 1e3, 2), 11);
  }
  return text + "\n";
}

std::string decode_json_row(const decode_row& row, const std::string& device, unsigned host_threads) {
  return json_line(flat_row_of(row, device, host_threads));
}

std::string decode_csv_heading() { return csv_names(flat_row_of({}, "", 0)); }

std::string decode_csv_row(const decode_row& row, const std::string& device, unsigned host_threads) {
  return csv_values(flat_row_of(row, device, host_threads));
}

}  // namespace gpuhist::bench
