// Records in sorted runs, in temporary files: they are merged when they are read. Records are plain bytes with an
// order.
#pragma once

#include "pipeline/counts/spilled_bytes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::report::units {

/// Records of a file, from the one at this offset on. `most`: that there are. Throws std::system_error.
template <class Record>
std::vector<Record> read_records(const pipeline::spilled_bytes& file, std::uint64_t offset, std::size_t most) {
  std::vector<Record> made(most);
  const std::size_t wanted = most * sizeof(Record);
  std::size_t found = 0;
  while (found < wanted) {
    const std::string piece = file.read(offset + found, wanted - found);
    if (piece.empty()) break;
    std::memcpy(reinterpret_cast<char*>(made.data()) + found, piece.data(), piece.size());
    found += piece.size();
  }
  made.resize(found / sizeof(Record));
  return made;
}

/// Returns the offset of the first one. Throws pipeline::spill_error.
template <class Record>
std::uint64_t append_records(pipeline::spilled_bytes& file, std::span<const Record> records) {
  return file.append({reinterpret_cast<const char*>(records.data()), records.size_bytes()});
}

/// The records of several runs, each once, in ascending order. Borrows the files.
template <class Record>
class merged_runs {
 public:
  static constexpr std::size_t records_of_buffer = 4096;

  void add(const pipeline::spilled_bytes& file, std::uint64_t offset, std::uint64_t records) {
    sources_.push_back({.file = &file, .offset = offset, .remaining = records});
  }
  void add(std::vector<Record> sorted) { sources_.push_back({.buffer = std::move(sorted)}); }

  /// Calls `use` with blocks of them.
  void for_each_block(const std::function<void(std::span<const Record>)>& use) {
    for (std::size_t i = 0; i < sources_.size(); ++i) offer(i);
    std::vector<Record> block;
    block.reserve(records_of_buffer);
    std::optional<Record> last;
    while (!first_.empty()) {
      const auto [record, from] = first_.top();
      first_.pop();
      offer(from);
      if (last && *last == record) continue;
      last = record;
      block.push_back(record);
      if (block.size() < records_of_buffer) continue;
      use(block);
      block.clear();
    }
    if (!block.empty()) use(block);
  }

 private:
  struct source {
    const pipeline::spilled_bytes* file = nullptr;  // null: all is in the buffer
    std::uint64_t offset = 0;                       // of the records that were not read
    std::uint64_t remaining = 0;                    // of these
    std::vector<Record> buffer{};
    std::size_t next = 0;  // in the buffer
  };
  using candidate = std::pair<Record, std::size_t>;

  // The next record of a source, if it has one.
  void offer(std::size_t number) {
    source& from = sources_[number];
    if (from.next == from.buffer.size()) {
      if (from.remaining == 0) return;
      from.buffer =
          read_records<Record>(*from.file, from.offset, std::min<std::uint64_t>(from.remaining, records_of_buffer));
      from.offset += from.buffer.size() * sizeof(Record);
      from.remaining -= from.buffer.size();
      from.next = 0;
      if (from.buffer.empty()) return;
    }
    first_.emplace(from.buffer[from.next++], number);
  }

  std::vector<source> sources_;
  std::priority_queue<candidate, std::vector<candidate>, std::greater<>> first_;
};

}  // namespace gpuhist::report::units
