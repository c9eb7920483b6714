// Earlier results, read from files and added up.
#pragma once

#include "pipeline/reports/document_reader.hpp"
#include "pipeline/reports/finished_inputs.hpp"
#include "pipeline/reports/pending_inputs.hpp"
#include "pipeline/reports/report.hpp"
#include "pipeline/reports/result_document.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// The sum of results: inputs one after another, totals added, complete only if all are. A result counts as a whole or
/// not at all; what is damaged is told in `faults` and leaves the sum incomplete. One thread. Memory does not grow with
/// the inputs: they are laid down (see finished_inputs) as they are read.
class result_sum {
 public:
  explicit result_sum(letter_case wanted);

  /// Adds all results of a file, "-" for standard input: JSON or lines of JSON, any number of documents, one a line.
  /// Snapshots and alerts are passed over.
  void add_file(const std::string& path);

  /// How many results there are.
  [[nodiscard]] std::size_t results() const { return results_; }

  /// What was wrong, each with its file and, where it has one, its line.
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }

  /// The sum, over the 256 byte values, without schemes.
  [[nodiscard]] report take();

 private:
  class inputs_within;

  /// Where the reading is.
  struct place {
    std::string name;
    std::size_t line = 0;
    std::size_t results = 0;
    pending_inputs lines;  // that wait for their result
    bool spoilt = false;   // one of them was damaged
  };

  void add_lines(int fd, place& at);
  void add_document(document_reader& from, place& at);
  void add_result(const nlohmann::json& document, inputs_within& within, place& at);
  static pending_inputs& inputs_of(const nlohmann::json& document, inputs_within& within, pending_inputs& before);
  void finish(place& at);
  void complain(const place& at, std::string_view what);

  letter_case wanted_;
  std::shared_ptr<finished_inputs> kept_;
  std::size_t inputs_ = 0;  // of those that count
  std::size_t results_ = 0;
  std::vector<std::string> faults_;
  report sum_;
};

}  // namespace gpuhist::pipeline
