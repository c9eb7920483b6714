// Reads the counts of a JSON document back into the classes of a run: from the byte counts, or from the buckets of all
// schemes, if they determine the count of each class.
#pragma once

#include "config/scheme.hpp"
#include "gpu/tally.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::report {

/// Immutable. A bucket is the sum of some classes; so are the bytes and, of text, the lines. Sums with one unknown
/// class are solved one after the other; the others are checked.
class bucket_counts {
 public:
  /// `counted`: at least as fine as the schemes, with a class for line feeds.
  bucket_counts(const gpu::partition& counted, std::span<const config::scheme> schemes);

  [[nodiscard]] const gpu::partition& partition() const { return of_text_.partition(); }

  /// A tally of no text.
  [[nodiscard]] gpu::tally no_text() const { return gpu::tally(partition().classes); }

  /// Throws result_damage: fields are missing, sums do not match, or the buckets do not determine all classes.
  [[nodiscard]] gpu::tally read(const nlohmann::json& from) const { return of_text_.read(from); }

  /// The same for a group of lines: its "lines" are not the line feeds, which are counted with other bytes of their
  /// buckets.
  [[nodiscard]] gpu::tally read_group(const nlohmann::json& from) const;

 private:
  enum class line_feeds { are_lines, are_bytes };

  // The sums over the classes of a partition.
  class equations {
   public:
    equations(const gpu::partition& counted, std::span<const config::scheme> schemes, line_feeds are);

    [[nodiscard]] const gpu::partition& partition() const { return partition_; }
    [[nodiscard]] gpu::tally read(const nlohmann::json& from) const;

   private:
    // One sum: that of the bucket, or of "lines" or "bytes" if there is no scheme.
    struct sum {
      std::string scheme;
      std::string name;
      std::vector<std::uint8_t> classes;
    };
    struct step {
      std::size_t sum;
      std::uint8_t solves;  // the only class of the sum that no earlier step solves
    };

    void add_sum(std::string scheme, std::string name, const std::vector<bool>& is_member);
    void plan_steps();
    [[nodiscard]] gpu::tally fold_byte_counts(const nlohmann::json& from) const;
    [[nodiscard]] static std::uint64_t value_of(const sum& wanted, const nlohmann::json& from);
    [[nodiscard]] gpu::tally solve(const std::vector<std::uint64_t>& values) const;
    void check(const gpu::tally& found, const std::vector<std::uint64_t>& values) const;

    gpu::partition partition_;
    std::size_t schemes_;
    std::vector<sum> sums_;
    std::vector<step> steps_;
  };

  equations of_text_;
  equations of_groups_;
  std::vector<std::uint8_t> class_of_group_class_;  // in the partition of text
};

}  // namespace gpuhist::report
