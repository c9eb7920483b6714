#include "batch/sampling.hpp"

#include "batch/input_survey.hpp"
#include "batch/parallel_work.hpp"
#include "io/file_access.hpp"
#include "io/format.hpp"
#include "io/zstd/zstd_seek_table.hpp"
#include "library/file_run.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace gpuhist::batch {
namespace {

// A number below `limit`, each with the same probability. (std::uniform_int_distribution differs between libraries.)
std::uint64_t uniform_below(std::uint64_t limit, std::mt19937_64& random) {
  const std::uint64_t biased = (std::uint64_t{0} - limit) % limit;  // 2^64 modulo limit
  std::uint64_t drawn = random();
  while (drawn < biased) drawn = random();
  return drawn % limit;
}

io::offset_reader reader_of(const io::file_source& file) {
  return [&file](std::span<std::byte> into, std::uint64_t offset) { return file.read_at(into, offset); };
}

bool is_plain(const manifest_entry& input) { return io::format_named(input.split_format)->is_plain; }

// The cells of one input, by a byte of its text.
class cell_finder {
 public:
  cell_finder(const manifest_entry& input, std::uint64_t cell) : input_(input), cell_(cell) {
    if (is_plain(input)) return;
    const io::file_source file = io::open_regular(input.name, input.follow_links);
    begins_ = io::zstd_split_points(reader_of(file), input.size, 1);
    begins_.insert(begins_.begin(), {.text_bytes = 0});
  }

  [[nodiscard]] input_piece around(std::uint64_t at) const {
    if (begins_.empty()) {
      const std::uint64_t begin = at / cell_ * cell_;
      return {.begin = {.stored_bytes = begin, .text_bytes = begin}, .end = std::min(begin + cell_, input_.size)};
    }
    const auto next =
        std::ranges::upper_bound(begins_, at, {}, [](const io::split_point& each) { return *each.text_bytes; });
    return {.begin = *(next - 1), .end = next == begins_.end() ? std::nullopt : std::optional(next->stored_bytes)};
  }

 private:
  const manifest_entry& input_;
  std::uint64_t cell_;
  std::vector<io::split_point> begins_;  // of frames; empty: the text is plain
};

}  // namespace

sampled_inputs::sampled_inputs(const library::counting_plan& planned, std::uint64_t cell) : cell_(cell) {
  std::vector<manifest_entry> found;
  for (const auto& each : library::look_up_inputs(planned).inputs) {
    found.push_back({.name = each.name, .size = each.size, .follow_links = each.follow_links, .error = each.error});
  }
  std::vector<text_size> sizes(found.size());
  in_parallel(found.size(), planned.threads, [&](std::size_t i) { sizes[i] = size_of(found[i], planned); });
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!sizes[i].cause.empty()) {
      unsampled_.push_back({.name = found[i].name,
                            .stored_bytes = found[i].size,
                            .cause = sizes[i].cause,
                            .has_failed = sizes[i].has_failed});
    } else if (sizes[i].bytes > 0) {
      inputs_.push_back(std::move(found[i]));
      ends_.push_back(all += sizes[i].bytes);
      bytes_of_draw_ += sizes[i].cell * static_cast<double>(sizes[i].bytes);
    }
  }
  if (all > 0) bytes_of_draw_ /= static_cast<double>(all);
}

sampled_inputs::text_size sampled_inputs::size_of(manifest_entry& input, const library::counting_plan& planned) const {
  if (!input.error.is_none()) return {.cause = input.error.text, .has_failed = true};
  if (input.name == "-") return {.cause = "is a stream; give files", .has_failed = true};
  try {
    const io::file_source file = io::open_regular(input.name, input.follow_links);
    input.size = file.size_hint();
    input.split_format = input.size > 0 ? format_without_members(planned, input) : std::string("raw");
    const io::format* const format = io::format_named(input.split_format);
    if (format == nullptr) return {.cause = "is an archive with members, or cannot be read"};
    if (format->is_plain) {
      return {.bytes = input.size, .cell = static_cast<double>(std::min(input.size, cell_))};
    }
    const auto end = format->has_split_points ? io::zstd_end_of_frames(reader_of(file), input.size) : std::nullopt;
    if (!end) {
      return {.cause = input.split_format + " without a seek table; gpuhist repack writes a zstd archive that has one"};
    }
    return {
        .bytes = *end->text_bytes,
        .cell = static_cast<double>(*end->text_bytes) / static_cast<double>(std::max<std::uint64_t>(end->frames, 1))};
  } catch (const io::input_error& error) {
    return {.cause = error.what(), .has_failed = true};
  }
}

std::vector<drawn_cell> sampled_inputs::draw(std::mt19937_64& random, std::size_t first, std::size_t number) const {
  std::vector<std::pair<std::uint64_t, std::size_t>> drawn;
  const std::uint64_t all = text_bytes();
  if (all == 0) return {};
  for (std::size_t i = 0; i < number; ++i) drawn.emplace_back(uniform_below(all, random), first + i);
  std::ranges::sort(drawn);
  std::vector<drawn_cell> made;
  std::optional<cell_finder> cells;
  std::size_t input = inputs_.size();
  for (const auto& [at, draw] : drawn) {
    const auto found = static_cast<std::size_t>(std::ranges::upper_bound(ends_, at) - ends_.begin());
    if (std::exchange(input, found) != found) cells.emplace(inputs_[found], cell_);
    const input_piece piece = cells->around(at - (found > 0 ? ends_[found - 1] : 0));
    const bool is_known =
        !made.empty() && made.back().entry.name == inputs_[found].name && made.back().entry.piece->begin == piece.begin;
    if (!is_known) {
      made.push_back({.entry = inputs_[found], .draws = {}});
      made.back().entry.piece = piece;
    }
    made.back().draws.push_back(draw);
  }
  return made;
}

}  // namespace gpuhist::batch
