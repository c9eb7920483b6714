#include "batch/job_pieces.hpp"

#include "pipeline/counts/input_counts.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <queue>
#include <string>
#include <utility>

namespace gpuhist::batch {
namespace {

constexpr std::uint64_t cost_of_opening = std::uint64_t{64} << 10U;  // in bytes: an input is not free

// Consecutive pieces of an entry, from split point to split point. All of them: the whole input.
struct share {
  std::size_t entry = 0;
  std::size_t first = 0;
  std::size_t end = 0;
  unsigned shard = 0;
};

std::uint64_t begin_of(const manifest_entry& entry, std::size_t piece) {
  if (piece == 0) return 0;
  return piece > entry.splits.size() ? entry.size : entry.splits[piece - 1].stored_bytes;
}

// Gives inputs to the shards with the least bytes.
class shard_filler {
 public:
  shard_filler(const manifest& inputs, unsigned shards) : inputs_(inputs), loads_(shards) {
    for (const manifest_entry& each : inputs.entries) target_ += each.size + cost_of_opening;
    target_ = (target_ + shards - 1) / shards;
    for (unsigned each = 0; each < shards; ++each) queue_.emplace(0, each);
  }

  void add_whole(std::size_t entry) {
    const unsigned shard = take_least();
    shares_.push_back({.entry = entry, .first = 0, .end = inputs_.entries[entry].splits.size() + 1, .shard = shard});
    put_back(shard, inputs_.entries[entry].size);
  }

  // Fills one shard after the other. Each gets consecutive pieces: as many as it has room for, and at least one.
  void add_pieces(std::size_t entry) {
    const manifest_entry& divided = inputs_.entries[entry];
    const std::size_t pieces = divided.splits.size() + 1;
    std::vector<unsigned> used;
    for (std::size_t first = 0; first < pieces;) {
      const unsigned shard = take_least();
      used.push_back(shard);
      const bool is_last = used.size() == loads_.size();
      const std::size_t end = is_last ? pieces : end_of_room(divided, first, loads_[shard]);
      shares_.push_back({.entry = entry, .first = first, .end = end, .shard = shard});
      loads_[shard] += begin_of(divided, end) - begin_of(divided, first) + cost_of_opening;
      first = end;
    }
    for (const unsigned each : used) queue_.emplace(loads_[each], each);
  }

  [[nodiscard]] std::vector<share> take() { return std::move(shares_); }

 private:
  using load = std::pair<std::uint64_t, unsigned>;  // bytes, shard: of equal loads the first shard

  unsigned take_least() {
    const unsigned shard = queue_.top().second;
    queue_.pop();
    return shard;
  }

  void put_back(unsigned shard, std::uint64_t bytes) {
    loads_[shard] += bytes + cost_of_opening;
    queue_.emplace(loads_[shard], shard);
  }

  [[nodiscard]] std::size_t end_of_room(const manifest_entry& divided, std::size_t first, std::uint64_t had) const {
    const std::uint64_t room = target_ - std::min(target_, had);
    const std::uint64_t begin = begin_of(divided, first);
    std::size_t end = first + 1;
    // the piece that exceeds the room belongs to it if at least half of it is inside
    while (end <= divided.splits.size() && (begin_of(divided, end) + begin_of(divided, end + 1)) / 2 - begin <= room)
      ++end;
    return end;
  }

  const manifest& inputs_;
  std::vector<std::uint64_t> loads_;
  std::uint64_t target_ = 0;
  std::priority_queue<load, std::vector<load>, std::greater<>> queue_;
  std::vector<share> shares_;
};

manifest_entry piece_of(const manifest_entry& whole, const share& of) {
  manifest_entry made = whole;
  made.splits = {};
  if (of.end - of.first == whole.splits.size() + 1) return made;
  made.piece.emplace();
  if (of.first > 0) made.piece->begin = whole.splits[of.first - 1];
  if (of.first == 0) made.piece->begin.text_bytes = 0;
  if (of.end <= whole.splits.size()) made.piece->end = whole.splits[of.end - 1].stored_bytes;
  return made;
}

std::vector<share> shares_of(const manifest& inputs, unsigned shards, bool may_divide) {
  const auto is_divided = [&](std::size_t entry) { return may_divide && !inputs.entries[entry].splits.empty(); };
  std::vector<std::size_t> by_size(inputs.entries.size());
  for (std::size_t i = 0; i < by_size.size(); ++i) by_size[i] = i;
  std::ranges::sort(by_size, [&](std::size_t a, std::size_t b) {
    const std::uint64_t of_a = inputs.entries[a].size;
    const std::uint64_t of_b = inputs.entries[b].size;
    return of_a != of_b ? of_a > of_b : a < b;
  });
  shard_filler filler(inputs, shards);
  for (const std::size_t each : by_size) {
    if (!is_divided(each)) filler.add_whole(each);
  }
  for (const std::size_t each : by_size) {
    if (is_divided(each)) filler.add_pieces(each);
  }
  std::vector<share> made = filler.take();
  std::ranges::sort(
      made, [](const share& a, const share& b) { return std::pair(a.entry, a.first) < std::pair(b.entry, b.first); });
  return made;
}

// A job without pieces keeps its entries where they are: there may be many.
std::vector<manifest_entry> pieces_of(std::vector<manifest_entry> entries, const std::vector<share>& shares) {
  if (shares.size() == entries.size()) {
    for (manifest_entry& each : entries) each.splits = {};
    return entries;
  }
  std::vector<manifest_entry> made;
  made.reserve(shares.size());
  for (const share& each : shares) made.push_back(piece_of(entries[each.entry], each));
  return made;
}

// Its reading ended before the end of the piece.
bool has_ended_early(const pipeline::input_report& report, const manifest_entry& piece) {
  if (report.complete) return false;
  const bool lost_only_frames = !report.lost_ranges.empty();
  return !lost_only_frames || report.compressed_bytes < piece.piece->end.value_or(piece.size);
}

std::uint64_t text_bytes_of(const pipeline::input_report& report) {
  return report.verified.bytes() + (report.counted_unverified ? 0 : report.unverified.bytes());
}

void add_lost_ranges(pipeline::input_report& to, const pipeline::input_report& next, std::uint64_t text_before) {
  to.number_of_lost_ranges += next.number_of_lost_ranges;
  for (const pipeline::lost_range& each : next.lost_ranges) {
    if (to.lost_ranges.size() == pipeline::max_lost_ranges) break;
    to.lost_ranges.push_back(each);
    to.lost_ranges.back().text_offset += text_before;
  }
}

void add_error(pipeline::input_report& to, const pipeline::input_report& next, const manifest_entry& piece) {
  if (to.error_kind != io::failure_kind::none || next.error_kind == io::failure_kind::none) return;
  to.error = next.error;
  to.error_kind = next.error_kind;
  to.error_origin = next.error_origin;
  if (piece.piece->begin.text_bytes) return;
  to.error += "; decompressed offsets count from compressed offset " + std::to_string(piece.piece->begin.stored_bytes);
}

// The text before a piece is not what the manifest says.
void note_wrong_offset(pipeline::input_report& to, const manifest_entry& piece) {
  const std::optional<std::uint64_t>& planned = piece.piece->begin.text_bytes;
  if (!planned || !to.complete || text_bytes_of(to) == *planned) return;
  to.complete = false;
  to.error = "contradicts the manifest: compressed offset " + std::to_string(piece.piece->begin.stored_bytes) +
             " has decompressed offset " + std::to_string(text_bytes_of(to)) + ", and not " + std::to_string(*planned) +
             "; plan the job again";
  to.error_kind = io::failure_kind::refused;
}

}  // namespace

bool may_divide(const library::counting_plan& planned) {
  const bool finds_more_than_counts = planned.pairs || planned.validates_utf8 || planned.units || planned.windows;
  return !finds_more_than_counts && !planned.max_output;
}

job_division divide(manifest inputs, unsigned shards, bool may_divide) {
  job_division made;
  std::vector<share> shares;
  if (shards > 0) {
    shares = shares_of(inputs, shards, may_divide);
  } else {
    shares.reserve(inputs.entries.size());
    for (std::size_t i = 0; i < inputs.entries.size(); ++i) {
      shares.push_back({.entry = i, .first = 0, .end = inputs.entries[i].splits.size() + 1});
    }
  }
  made.of_shard.resize(std::max(shards, 1U));
  made.entry_of.reserve(shares.size());
  for (const share& each : shares) {
    made.of_shard[each.shard].push_back(made.entry_of.size());
    made.entry_of.push_back(each.entry);
  }
  made.pieces = {.entries = pieces_of(std::move(inputs.entries), shares),
                 .identity = std::move(inputs.identity),
                 .fingerprint = inputs.fingerprint};
  return made;
}

pipeline::input_report joined_report(const std::vector<pipeline::input_report>& reports,
                                     const std::vector<const manifest_entry*>& pieces) {
  const auto refused = std::ranges::find_if(reports, [](const pipeline::input_report& each) {
    return each.error_kind == io::failure_kind::refused && each.number_of_lost_ranges == 0;
  });
  if (refused != reports.end()) return *refused;
  pipeline::input_report made = reports.front();
  made.error.clear();
  made.error_kind = io::failure_kind::none;
  add_error(made, reports.front(), *pieces.front());
  for (std::size_t i = 1; i < reports.size() && !has_ended_early(reports[i - 1], *pieces[i - 1]); ++i) {
    const pipeline::input_report& next = reports[i];
    const bool knows_offset = pieces[i]->piece->begin.text_bytes.has_value();
    note_wrong_offset(made, *pieces[i]);
    add_lost_ranges(made, next, knows_offset ? 0 : text_bytes_of(made));
    add_error(made, next, *pieces[i]);
    made.verified += next.verified;
    made.unverified += next.unverified;
    made.counted_unverified = made.counted_unverified || next.counted_unverified;
    made.complete = made.complete && next.complete;
    if (next.compressed_bytes) made.compressed_bytes = next.compressed_bytes;
  }
  return made;
}

void join_pieces(const job_division& division, const job_ledger& from, job_ledger& to) {
  const std::vector<manifest_entry>& pieces = division.pieces.entries;
  for (std::size_t first = 0, end = 0; first < pieces.size(); first = end) {
    end = first + 1;
    while (end < pieces.size() && division.entry_of[end] == division.entry_of[first]) ++end;
    if (!pieces[first].piece) continue;
    std::vector<pipeline::input_report> reports;
    std::vector<const manifest_entry*> joined;
    for (std::size_t each = first; each < end; ++each) {
      from.for_each_report(each, [&](const pipeline::input_report& report) { reports.push_back(report); });
      joined.push_back(&pieces[each]);
    }
    if (reports.size() < joined.size()) continue;
    to.add({.entry = division.entry_of[first], .report = joined_report(reports, joined)});
  }
}

}  // namespace gpuhist::batch
