// The different texts of a run, by hashes of 128 bits (XXH3): a table in memory, and beyond a limit sorted runs in
// temporary files.
//
//     table ──(full)──► run of tier 0, 8 of them ──► run of tier 1, 8 of them ──► ...
//
// So there are at most 8 runs of each tier, and a text is written once for each tier. Two different texts among n have
// the same hash with a probability of n² / 2^129: 10^-15 among 10^12.
#pragma once

#include "pipeline/counts/spilled_bytes.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace gpuhist::report::units {

/// What is kept of a text. Plain bytes.
struct text_hash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::uint64_t bytes = 0;  ///< of the text

  static text_hash of(std::span<const std::byte> text);
  auto operator<=>(const text_hash&) const = default;
};

/// Makes the hash of a text that comes in pieces.
class text_hasher {
 public:
  text_hasher();
  text_hasher(text_hasher&&) noexcept;
  text_hasher& operator=(text_hasher&&) noexcept;
  ~text_hasher();

  void add(std::span<const std::byte> piece);

  /// Of the pieces since the last call.
  [[nodiscard]] text_hash take();

 private:
  struct state;
  std::unique_ptr<state> state_;
  std::uint64_t bytes_ = 0;
};

/// Numbers of texts and of their bytes.
struct text_numbers {
  std::uint64_t texts = 0;
  std::uint64_t bytes = 0;

  text_numbers& operator+=(const text_numbers& more) {
    texts += more.texts;
    bytes += more.bytes;
    return *this;
  }
  bool operator==(const text_numbers&) const = default;
};

/// A plain value; copies share the files. One thread at a time. Members throw pipeline::spill_error and, if a file
/// cannot be read, std::system_error.
class distinct_texts {
 public:
  struct limits {
    std::size_t in_memory = ~std::size_t{0};  ///< bytes of the table, and as much for looking up; more is spilled
    pipeline::spill_folder spilled_to{};
  };

  explicit distinct_texts(limits allowed) : allowed_(std::move(allowed)) {}

  /// Adds a text. Returns whether it is equal to an earlier one, all of which were added by this function.
  bool add_next(const text_hash& text);

  /// Adds texts, in any order.
  void add(std::span<const text_hash> texts);
  void add(const distinct_texts& more);

  /// Adds texts that were counted elsewhere: their numbers, and each different one of them.
  void add_counted(const text_numbers& all, std::span<const text_hash> different);

  /// All texts.
  [[nodiscard]] const text_numbers& all() const { return all_; }

  /// The different ones. Reads the files.
  [[nodiscard]] text_numbers distinct() const;

  /// The different ones, in ascending order, in blocks.
  void for_each(const std::function<void(std::span<const text_hash>)>& use) const;

  /// Bytes of memory.
  [[nodiscard]] std::size_t memory() const { return slots_.capacity() * sizeof(text_hash); }

 private:
  struct run {
    std::shared_ptr<pipeline::spilled_bytes> file;
    std::size_t texts = 0;
    unsigned tier = 0;
    std::vector<std::uint64_t> first_of_block{};  // text_hash::high
  };
  class run_writer;

  bool insert(const text_hash& text);
  [[nodiscard]] text_hash& slot_of(const text_hash& text);
  [[nodiscard]] bool may_grow() const;
  void grow();
  void spill();
  void join_runs();
  [[nodiscard]] std::vector<text_hash> sorted_table() const;
  [[nodiscard]] bool is_spilled(const text_hash& text) const;
  void note_spilled(const text_hash& text);
  [[nodiscard]] std::pair<std::size_t, std::uint64_t> filter_bits(const text_hash& text) const;

  limits allowed_;
  text_numbers all_{};
  text_numbers in_table_{};
  std::vector<text_hash> slots_{};  // open addressing; a power of two
  std::vector<run> runs_{};         // of higher tiers first
  text_numbers in_runs_{};          // if all texts were looked up
  bool are_looked_up_ = true;       // so that no text is in two runs
  std::vector<std::uint64_t>
      filter_{};  // of spilled texts that are looked up: a Bloom filter with a word for each text
};

}  // namespace gpuhist::report::units
