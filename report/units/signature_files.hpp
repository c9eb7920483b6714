// The MinHash signatures of the documents of one input, as the files that datatrove's MinhashDedupBuckets reads:
//
//     FOLDER/bucket_000/00007.minhash.sig    of input 7: 8 hashes and the number of the document, in ascending order
//     FOLDER/bucket_013/00007.minhash.sig
//
// Numbers are those of its readers: from 0, without documents whose text is empty.
#pragma once

#include "pipeline/counts/spilled_bytes.hpp"
#include "report/texts/minhash.hpp"
#include "report/units/unit_plan.hpp"

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gpuhist::report::units {

/// One thread. Members throw pipeline::spill_error and std::system_error. Memory: 16 MiB, and the documents are
/// spilled.
class signature_files {
 public:
  /// Borrows the plan.
  signature_files(const signature_plan& planned, std::uint64_t input);

  /// The next document, in valid UTF-8.
  void add(std::string_view text);

  /// Writes the files: the input has ended, and its text is complete. Throws io::destination_error.
  void write();

 private:
  static constexpr std::size_t bands = texts::minhash_reader::bands;

  struct record {
    std::array<std::uint64_t, texts::minhash_reader::hashes_of_band> hashes{};
    std::uint64_t document = 0;

    auto operator<=>(const record&) const = default;
  };

  struct run {
    std::uint64_t offset = 0;
    std::size_t records = 0;
  };

  void spill();
  void write_band(std::size_t band) const;

  const signature_plan& planned_;
  const std::uint64_t input_;
  texts::minhash_reader reader_;
  std::uint64_t documents_ = 0;
  std::array<std::vector<record>, bands> waiting_{};
  std::array<std::vector<run>, bands> runs_{};
  pipeline::spilled_bytes file_;
};

}  // namespace gpuhist::report::units
