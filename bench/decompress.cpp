#include "bench/decompress.hpp"

#include "bench/generator.hpp"
#include "bench/log_lines.hpp"
#include "bench/parallel.hpp"
#include "bench/table.hpp"
#include "config/size.hpp"
#include "io/decoder.hpp"
#include "io/format.hpp"
#include "io/zstd/zstd_compressor.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <limits>
#include <memory>
#include <stdexcept>
#include <thread>

namespace gpuhist::bench {
namespace {

using bytes = std::vector<std::byte>;

constexpr std::size_t buffer_bytes = std::size_t{256} << 10U;
constexpr std::size_t group_bytes = std::size_t{64} << 10U;  // compressed: the smallest task of the pipeline

struct archive {
  std::string name;
  bytes content;
  const io::format* format;
};

/// Whole frames of one archive.
struct task {
  const archive* source;
  io::decode_start start;
  std::span<const std::byte> packed;
  bool ends_input;
};

bytes content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) throw std::runtime_error(path.string() + ": cannot be opened");
  bytes content(static_cast<std::size_t>(in.tellg()));
  in.seekg(0);
  if (!in.read(reinterpret_cast<char*>(content.data()), static_cast<std::streamsize>(content.size()))) {
    throw std::runtime_error(path.string() + ": cannot be read to its end");
  }
  return content;
}

archive load(const std::filesystem::path& path) {
  archive loaded{.name = path.string(), .content = content_of(path), .format = nullptr};
  loaded.format = &io::detect(loaded.content);
  if (loaded.format->make_decoder == nullptr) {
    throw std::runtime_error(loaded.name +
                             ": is not an archive that gpuhist decompresses; name an archive, or no file");
  }
  return loaded;
}

/// 512 MiB of log lines at level 3 of zstd.
archive synthetic_archive() {
  constexpr std::size_t frames = 64;
  constexpr std::size_t frame_bytes = std::size_t{8} << 20U;
  archive made{.name = "synthetic log text", .content = {}, .format = io::format_named("zstd")};
  io::zstd_compressor compressor(3);
  generator random{1};
  std::uint64_t time = 0;
  std::string text;
  bytes frame(io::zstd_compressor::bound(frame_bytes));
  for (std::size_t i = 0; i < frames; ++i) {
    while (text.size() < frame_bytes) append_log_line(text, random, time);
    const std::size_t size = compressor.compress(std::as_bytes(std::span(text).first(frame_bytes)), frame);
    made.content.insert(made.content.end(), frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
    text.erase(0, frame_bytes);
  }
  return made;
}

void add_tasks(std::vector<task>& to, const archive& source) {
  const std::unique_ptr<io::splitter> splitter = source.format->make_splitter();
  io::decode_start start;
  std::uint64_t frames = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < source.content.size();) {
    const io::split_step step = splitter->advance(std::span(source.content).subspan(at));
    at += step.taken;
    if (step.frame_ends && splitter->counts_frame()) ++frames;
    const bool is_last = at == source.content.size();
    const std::size_t end = is_last ? at : at - step.beyond;
    if (!is_last && (!step.frame_ends || end - begin < group_bytes)) continue;
    to.push_back({.source = &source,
                  .start = start,
                  .packed = std::span(source.content).subspan(begin, end - begin),
                  .ends_input = is_last});
    start = {.frames = frames, .compressed_bytes = end, .context = splitter->context()};
    begin = end;
  }
}

/// The decoder and the buffer of one thread.
class worker {
 public:
  /// Returns the length of the text of the task.
  std::uint64_t decode(const task& next) {
    if (format_ != next.source->format) decoder_ = next.source->format->make_decoder({});
    format_ = next.source->format;
    decoder_->restart(next.start);
    std::span<const std::byte> rest = next.packed;
    auto status = io::fill_status::frame_verified;
    while (status == io::fill_status::frame_verified) {
      status = io::discard_frame(*decoder_, rest, {buffer_.get(), buffer_bytes});
    }
    if (status == io::fill_status::failed) fail(next, decoder_->fault(0));
    const std::string missing = next.ends_input ? decoder_->missing_at_end(0) : decoder_->missing_at_frame_end(0);
    if (!missing.empty()) fail(next, missing);
    return decoder_->produced_total();
  }

 private:
  [[noreturn]] static void fail(const task& next, const std::string& error) {
    throw std::runtime_error(next.source->name + ": " + error);
  }

  const io::format* format_ = nullptr;
  std::unique_ptr<io::decoder> decoder_;
  std::unique_ptr<std::byte[]> buffer_ = std::make_unique<std::byte[]>(buffer_bytes);
};

struct round_result {
  double seconds = 0;
  std::uint64_t text_bytes = 0;
};

/// The time from when all threads have started to the end of the last one.
round_result run_round(std::span<const task> tasks, std::vector<worker>& workers) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> text_bytes{0};
  const double seconds = run_in_parallel(static_cast<unsigned>(workers.size()), [&](unsigned thread) {
    for (std::size_t i = next++; i < tasks.size(); i = next++) text_bytes += workers[thread].decode(tasks[i]);
  });
  return {.seconds = seconds, .text_bytes = text_bytes};
}

double bytes_per_second(const decompress_load& load, const decompress_rate& rate) {
  return static_cast<double>(load.text_bytes) / rate.seconds;
}

std::vector<unsigned> powers_up_to_the_cores() {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<unsigned> all;
  for (unsigned threads = 1; threads < cores; threads *= 2) all.push_back(threads);
  all.push_back(cores);
  return all;
}

}  // namespace

decompress_result measure_decompress(const decompress_options& options) {
  std::vector<archive> archives;
  for (const std::filesystem::path& each : options.files) archives.push_back(load(each));
  if (archives.empty()) archives.push_back(synthetic_archive());
  decompress_result result{.load = {.files = archives.size()}, .rates = {}};
  std::vector<task> tasks;
  for (const archive& each : archives) {
    add_tasks(tasks, each);
    result.load.compressed_bytes += each.content.size();
  }
  result.load.tasks = tasks.size();
  std::vector<std::vector<worker>> workers;
  for (const unsigned threads : options.threads.empty() ? powers_up_to_the_cores() : options.threads) {
    result.rates.push_back({.threads = threads, .seconds = std::numeric_limits<double>::infinity()});
    workers.emplace_back(threads);
  }
  for (unsigned round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < workers.size(); ++i) {
      const round_result measured = run_round(tasks, workers[i]);
      result.load.text_bytes = measured.text_bytes;
      result.rates[i].seconds = std::min(result.rates[i].seconds, measured.seconds);
    }
  }
  return result;
}

std::string decompress_table(const decompress_result& result) {
  const decompress_load& load = result.load;
  std::string text = std::to_string(load.files) + (load.files == 1 ? " archive, " : " archives, ") +
                     std::to_string(load.tasks) + (load.tasks == 1 ? " task: " : " tasks: ") +
                     config::format_size(load.text_bytes) + " of text in " +
                     config::format_size(load.compressed_bytes) + "\n\nthreads    GB/s  times the first\n";
  for (const decompress_rate& each : result.rates) {
    text += right(std::to_string(each.threads), 7) + right(fixed(bytes_per_second(load, each) * 1e-9, 2), 8) +
            right(fixed(result.rates.front().seconds / each.seconds, 2), 17) + "\n";
  }
  return text;
}

std::string decompress_json_rows(const decompress_result& result) {
  std::string text;
  for (const decompress_rate& each : result.rates) {
    const nlohmann::ordered_json object{{"archives", result.load.files},
                                        {"tasks", result.load.tasks},
                                        {"compressed_bytes", result.load.compressed_bytes},
                                        {"text_bytes", result.load.text_bytes},
                                        {"threads", each.threads},
                                        {"seconds", each.seconds},
                                        {"bytes_per_second", bytes_per_second(result.load, each)}};
    text += object.dump() + "\n";
  }
  return text;
}

std::string decompress_csv(const decompress_result& result) {
  std::string text = "archives,tasks,compressed_bytes,text_bytes,threads,seconds,bytes_per_second\n";
  const decompress_load& load = result.load;
  for (const decompress_rate& each : result.rates) {
    text += std::to_string(load.files) + "," + std::to_string(load.tasks) + "," +
            std::to_string(load.compressed_bytes) + "," + std::to_string(load.text_bytes) + "," +
            std::to_string(each.threads) + "," + fixed(each.seconds, 6) + "," + fixed(bytes_per_second(load, each), 0) +
            "\n";
  }
  return text;
}

}  // namespace gpuhist::bench
