// How usual it is in a stream that kinds of line appear or end: free text has new kinds all the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuhist::report::changes {

struct log_stream;

/// The first and the last lines of each kind of a stream. Borrows the stream.
class novelty {
 public:
  explicit novelty(const log_stream& of);

  /// A kind with `lines` in windows [first, end), and none before.
  /// Returns -ln of the probability that the next kind that appears has as many lines in as many windows.
  [[nodiscard]] double nats_of_new(std::size_t kind, double lines, std::size_t first, std::size_t end) const;

  /// A kind without lines from window `first` to the end of the stream, where `expected` lines were expected.
  [[nodiscard]] double nats_of_ended(std::size_t kind, double expected, std::size_t first) const;

 private:
  struct life {
    std::size_t first = 0;
    std::size_t last = 0;
  };

  [[nodiscard]] double lines_of(std::size_t kind, std::size_t first, std::size_t end) const;
  [[nodiscard]] double all_lines(std::size_t first, std::size_t end) const { return sums_[end] - sums_[first]; }
  [[nodiscard]] double nats(std::vector<double>& sizes, double lines, std::size_t first, std::size_t end) const;

  const log_stream& stream_;
  std::vector<life> lives_;
  std::vector<double> sums_;  // lines before each window
};

}  // namespace gpuhist::report::changes
