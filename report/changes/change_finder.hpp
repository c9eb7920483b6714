// What changed in logs, with no rule given: the command `gpuhist changes` counts lines by stream, kind of line and
// window of time, and find_changes() returns the changes, strongest evidence first.
//
// Definition. A stream is the log of one program, cut into windows of equal length. Series of it are watched: the
// shares of the lines of each kind, each level and each expression of the user, the lines per window, the bytes per
// line, and the share of each class of byte values. A stretch of consecutive windows is compared with all other windows
// of the stream; a short one also with the windows beside it, twice as many on either side, from both of which it must
// differ. The comparison is the likelihood ratio of "two levels" and "one level" for negative binomial counts. Their
// dispersion is that of the series itself: of the differences of neighbouring blocks of the windows outside the
// stretch, at its length and at all greater lengths. A series that varies at some time scale needs a greater difference
// at that scale.
//
// The evidence of a change is -log10 of the number of differences as strong that are expected by chance in the whole
// run: the probability of the likelihood ratio (tail of Student's t distribution, because the dispersion is estimated),
// times the number of all comparisons. Evidence 3: one of 1000 runs in which nothing changes has such a difference.
// Changes whose expected number is below finder_options::false_alarms are reported.
//
// No change is: a difference of less than 10 lines; a ratio of shares below 1.25, of lines per window below 1.5, of
// bytes per line below 1.1, of shares of bytes below 1.1 or their difference below 1 percentage point; a level that is
// reached in three other separate stretches, in two others at equal distances, or at the same time of another day
// (nightly jobs, cycles); a new kind in a stream in which kinds of that size are new again and again, and the same for
// kinds that end; the number of lines of the first and the last window, and one that changes slowly, as with the hours
// of the day; a level that only the first two windows of a stream have; anything in a stream of fewer than 6 windows.
//
// Two logs (`gpuhist diff`) are one stream: the windows of the first, then those of the second
// (log_stream::compared_from). Only the stretch of the second is compared, by the same ratio and the same limits, which
// must hold for both. The dispersion is that of neighbouring blocks within each of the two. It is not known of fewer
// than 5 pairs of neighbouring windows; then the counts are those of Poisson, and numbers of lines are not compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::report::changes {

/// The lines of a stream in a window of time.
struct window_counts {
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> classes{};  ///< bytes by class of byte values; all windows of a run have the same classes
};

/// The lines of a kind in a window of a stream.
struct kind_window {
  std::size_t window = 0;   ///< index into log_stream::windows
  std::uint64_t lines = 0;  ///< at least 1
  std::uint64_t bytes = 0;
};

/// Lines with the same template, or lines in which an expression matches.
struct kind_of_line {
  std::string text{};
  std::vector<kind_window> windows{};  ///< ascending, without windows that have no line of the kind
};

/// The log of one program.
struct log_stream {
  std::string name{};
  std::vector<window_counts> windows{};  ///< of equal length, in the order of time, also those without lines
  std::vector<kind_of_line> kinds{};     ///< those with at least 10 lines
  std::vector<kind_of_line> levels{};    ///< lines of a level, such as ERROR, of all kinds
  std::size_t windows_in_day = 0;        ///< 0: unknown
  std::vector<kind_of_line> matches{};   ///< by the name of the expression; a line may match several
  bool has_rate = true;                  ///< false: windows are numbers of lines; their lines are no information
  std::size_t compared_from = 0;         ///< the windows from here on are compared with those before; 0: any stretch
};

/// One series of a stream that differs in a stretch of windows.
struct difference {
  enum class series : std::uint8_t {
    kind,        ///< lines of a kind / all lines
    level,       ///< lines of a level / all lines
    match,       ///< lines in which an expression matches / all lines
    rate,        ///< lines / window
    length,      ///< bytes / line
    class_share  ///< bytes of a class / all bytes
  };
  series of = series::kind;
  std::size_t index = 0;    ///< of the kind, the level, the expression or the class; 0 for rate and length
  double before = 0;        ///< level of the windows before the stretch; if they are fewer than 3, of those outside it
  double inside = 0;        ///< level of the stretch, in the unit of the series
  std::uint64_t lines = 0;  ///< in the stretch: of the kind or the expression; of other series all lines
  std::size_t first = 0;    ///< windows [first, end)
  std::size_t end = 0;
  double evidence = 0;  ///< -log10 of the expected number by chance in the run
};

/// Differences of one stream that are one incident.
struct change {
  std::size_t stream = 0;  ///< index
  std::size_t first = 0;   ///< windows [first, end) of the strongest difference
  std::size_t end = 0;
  bool lasts = false;                     ///< to the end of the stream
  double evidence = 0;                    ///< of the strongest difference
  std::vector<difference> differences{};  ///< strongest evidence first
};

struct finder_options {
  /// Upper bound of the expected number of false changes in one run, over all streams; greater than 0.
  double false_alarms = 0.05;
  /// Number of lines by which a stretch must differ.
  double least_lines = 10;
  double least_ratio_of_shares = 1.25;
  double least_ratio_of_rates = 1.5;
  double least_ratio_of_lengths = 1.1;
  double least_ratio_of_class_shares = 1.1;
  double least_difference_of_class_shares = 0.01;
};

/// Whether it can be known how much a stream of two logs varies.
bool has_known_dispersion(const log_stream& of);

/// The changes of all streams: by descending evidence, then by stream, then by first window. A pure function: equal
/// input gives equal output, and any threads may call it. Memory: some numbers for each window of one series. Throws
/// std::bad_alloc.
std::vector<change> find_changes(std::span<const log_stream> streams, const finder_options& options = {});

}  // namespace gpuhist::report::changes
