// Earlier results, read from files and added up.
#pragma once

#include "pipeline/counts/finished_inputs.hpp"
#include "pipeline/report/formats/document_reader.hpp"
#include "pipeline/report/formats/pending_inputs.hpp"
#include "pipeline/report/formats/report.hpp"
#include "pipeline/report/formats/result_document.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

/// The sum of results: inputs one after another, totals added, complete only if all are. A result counts as a whole or
/// not at all; what is damaged is told in `faults` and leaves the sum incomplete. One thread. Memory does not grow with
/// the inputs: they are laid down (see finished_inputs) as they are read.
///
/// Lines of several runs may alternate where they say of which run they are ("run"): each result counts with the lines
/// of its run. Lines that do not say so, as older versions wrote them, belong to the next such result.
class result_sum {
 public:
  explicit result_sum(letter_case wanted);

  /// Adds all results of a file, "-" for standard input: JSON or lines of JSON, any number of documents, one a line.
  /// Snapshots and alerts are passed over. A file without any document of gpuhist has one fault. At most 10 damaged
  /// lines of a file have a fault each; one more fault has the number of the others.
  void add_file(const std::string& path);

  /// How many results there are.
  [[nodiscard]] std::size_t results() const { return results_; }

  /// What was wrong, each with its file and, where it has one, its line.
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }

  /// The sum, over the 256 byte values, without schemes.
  [[nodiscard]] report take();

 private:
  class inputs_within;

  /// Lines of the inputs of one run.
  struct run_lines {
    explicit run_lines(finished_inputs& to);

    pending_inputs waiting;  // for their result
    bool spoilt = false;     // one of them was damaged
  };

  /// Where the reading is.
  struct position {
    position(std::string name_of_file, finished_inputs& to) : name(std::move(name_of_file)), without_name(to) {}

    std::string name;
    std::size_t line = 0;
    std::size_t results = 0;
    std::size_t damaged_lines = 0;
    bool is_empty = true;                   // only empty lines were read
    bool is_of_gpuhist = false;             // a document, also a damaged one, names a schema of gpuhist
    run_lines without_name;                 // of a run that lines do not name
    std::map<std::string, run_lines> runs;  // the others, of which there was no result yet
    std::string run{};                      // of the line at hand
    run_lines* current = nullptr;           // likewise; null: it is not known
    std::size_t lost = 0;                   // damaged lines of which it is not known
    bool mixed = false;                     // lines without a name seem to be of several runs
  };

  void add_lines(int fd, position& at);
  void add_document(document_reader& from, position& at);
  void add_result(const nlohmann::json& document, inputs_within& within, position& at);
  run_lines& go_to_run(const nlohmann::json& document, position& at);
  static pending_inputs& inputs_of(const nlohmann::json& document, inputs_within& within, pending_inputs& before,
                                   position& at);
  static void check_input_count(std::size_t count, std::size_t there, position& at);
  static bool explains_missing(const nlohmann::json& document, std::size_t there, position& at);
  static void spoil(position& at, bool is_result);
  void finish(position& at);
  void complain(const position& at, std::string_view what);
  void complain_of_line(position& at, std::string_view damage);
  void complain_of_foreign_file(position& at, std::size_t faults_before, std::string_view hint);

  letter_case wanted_;
  std::shared_ptr<finished_inputs> kept_;
  std::size_t inputs_ = 0;  // of those that count
  std::size_t results_ = 0;
  std::vector<std::string> faults_;
  report sum_;
};

}  // namespace gpuhist::pipeline
