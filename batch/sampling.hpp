// A random sample of the text of many files. Each file whose text can be read from many places is divided into cells:
// plain text every some KiB, zstd files at the frames of their seek table. A draw chooses a byte of all text, each with
// the same probability, and takes the cell around it. So a cell is drawn with a probability proportional to its text,
// and the mean of the shares of the cells is, on average, the share in all text.
#pragma once

#include "batch/manifest.hpp"
#include "library/counting_plan.hpp"
#include "report/formats/sample_report.hpp"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace gpuhist::batch {

/// A cell, and which draws chose it.
struct drawn_cell {
  manifest_entry entry;  ///< a piece
  std::vector<std::size_t> draws;
};

class sampled_inputs {
 public:
  /// Looks up the inputs of the plan, and opens each of them, several at once. `cell`: bytes of a cell of plain text.
  /// Memory: all names. Throws what look_up_inputs() and in_parallel() throw.
  sampled_inputs(const library::counting_plan& planned, std::uint64_t cell);

  /// Bytes of all text of which samples are taken.
  [[nodiscard]] std::uint64_t text_bytes() const { return ends_.empty() ? 0 : ends_.back(); }

  /// Bytes of a cell, on average over draws, if the frames of a file are of one size.
  [[nodiscard]] double bytes_of_draw() const { return bytes_of_draw_; }

  [[nodiscard]] const std::vector<report::left_out>& unsampled() const { return unsampled_; }

  /// The cells of so many further draws, numbered from `first`, in the order of the inputs; no cell twice. Reads seek
  /// tables. Throws io::input_error. Without text there are none.
  std::vector<drawn_cell> draw(std::mt19937_64& random, std::size_t first, std::size_t number) const;

 private:
  struct text_size {
    std::uint64_t bytes = 0;
    double cell = 0;      // bytes, on average
    std::string cause{};  // why it is not sampled; empty: it is
    bool has_failed = false;
  };

  [[nodiscard]] text_size size_of(manifest_entry& input, const library::counting_plan& planned) const;

  std::uint64_t cell_;
  std::vector<manifest_entry> inputs_;
  std::vector<std::uint64_t> ends_;  // of the text of each input in that of all
  double bytes_of_draw_ = 0;
  std::vector<report::left_out> unsampled_;
};

}  // namespace gpuhist::batch
