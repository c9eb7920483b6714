// Reads earlier results from files and adds them.
#pragma once

#include "pipeline/counts/finished_inputs.hpp"
#include "report/formats/document_reader.hpp"
#include "report/formats/pending_inputs.hpp"
#include "report/formats/report.hpp"
#include "report/formats/result_document.hpp"
#include "report/formats/result_lines.hpp"
#include "report/units/group_addition.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::report {

/// The sum of results: all inputs in sequence, the totals added, complete only if all results are. A result counts as a
/// whole or not at all; a damaged one is reported in `errors` and makes the sum incomplete. One thread. Memory does not
/// grow with the number of inputs: they are written to a temporary file in `spilled_to` (see finished_inputs).
///
/// Lines of several runs may alternate if they name their run ("run"): a result belongs to the lines of its run. Lines
/// without a name, as older versions wrote them, belong to the next result without a name.
class result_sum {
 public:
  /// If pairs are wanted, a result without them is damaged. take().schemes are the schemes of the pairs.
  explicit result_sum(wanted_counts wanted, const pipeline::spill_folder& spilled_to = {});

  /// Adds all results of a file, "-" for standard input: any number of JSON documents, one per line. Snapshots,
  /// windows, verdicts and alerts are ignored. A file without any document of gpuhist has one error. At most 10 damaged
  /// lines of a file have an error each; one more error gives the number of the others.
  void add_file(const std::string& path);

  /// The same for a text in memory. `name`: in errors.
  void add_text(const std::string& name, std::string_view text);

  /// Adds the results of several files as if they were one: the lines of inputs may be in another file than their
  /// result.
  void add_lines_of(const std::vector<std::string>& paths);

  /// A result that was added.
  struct addend {
    std::string name;               ///< of its file
    std::size_t end_of_inputs = 0;  ///< the number of inputs of this result and those before it
    bool is_complete = false;
  };
  [[nodiscard]] const std::vector<addend>& addends() const { return addends_; }

  /// The number of results.
  [[nodiscard]] std::size_t results() const { return results_; }

  /// The errors, each with its file and, if it applies, its line.
  [[nodiscard]] const std::vector<std::string>& errors() const { return errors_; }

  /// What results have, but the sum has not, each with its file.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  /// What was read of lines of the results that were added since it was taken last. The sum is without it, and results
  /// that follow may have been read with other options. Nothing: results have none, or have no byte counts.
  [[nodiscard]] std::optional<units::unit_result> take_lines();

  /// The sum, over the 256 byte values, or the partition of wanted_counts::by_bucket.
  [[nodiscard]] run_report take();

 private:
  class inputs_within;

  /// The inputs of one run whose result was not read yet.
  struct run_lines {
    run_lines(pipeline::finished_inputs& to, const gpu::tally& no_text);

    pending_inputs inputs;
    bool is_damaged = false;  // a line was damaged
  };

  /// The state of reading a file.
  struct position {
    position(std::string name_of_file, pipeline::finished_inputs& to, const gpu::tally& no_text)
        : name(std::move(name_of_file)), without_name(to, no_text) {}

    std::string name;
    std::size_t line = 0;
    std::size_t results = 0;
    std::size_t damaged_lines = 0;
    bool is_empty = true;                   // only empty lines were read
    bool is_of_gpuhist = false;             // a document, also a damaged one, names a schema of gpuhist
    run_lines without_name;                 // lines that do not name their run
    std::map<std::string, run_lines> runs;  // runs with a name, before their result
    std::string run{};                      // name of the run of the current line; empty: none
    run_lines* current = nullptr;           // run of the current line; null: unknown
    std::size_t lost = 0;                   // damaged lines whose run is unknown
    bool lists_units = false;               // that were selected, or dropped by a filter
    bool mixed = false;                     // lines without a name are probably of several runs
  };

  void add_all(document_reader& documents, position& at);
  void add_opened(const std::string& path, position& at, const std::function<void(document_reader&)>& add);
  void add_lines(document_reader& documents, position& at);
  void add_document(document_reader& from, position& at);
  void add_result(const nlohmann::json& document, inputs_within& within, position& at);
  run_lines& go_to_run(const nlohmann::json& document, position& at);
  static pending_inputs& inputs_of(const nlohmann::json& document, inputs_within& within, pending_inputs& before,
                                   position& at);
  [[nodiscard]] std::optional<units::unit_result> read_lines_in(const nlohmann::json& document) const;
  void add_read_lines(std::optional<units::unit_result> lines, const nlohmann::json& document, const position& at);
  static void check_input_count(std::size_t count, std::size_t found, position& at);
  static bool explains_missing(const nlohmann::json& document, std::size_t found, position& at);
  static void drop_current_run(position& at, bool is_result);
  void finish(position& at);
  void add_error(const position& at, std::string_view cause);
  void add_damaged_line(position& at, std::string_view cause);
  void add_foreign_file(position& at, std::size_t errors_before, std::string_view hint);

  wanted_counts wanted_;
  std::shared_ptr<pipeline::finished_inputs> kept_;
  std::size_t inputs_ = 0;  // of all valid results
  std::size_t results_ = 0;
  std::vector<addend> addends_;
  std::vector<std::string> errors_;
  std::vector<std::string> warnings_;
  bool all_have_utf8_ = true;  // of the results so far

  // What was read of lines: the options, which are those of all results, and the sum.
  std::optional<reading_options> reading_;
  std::string first_of_reading_;  // the name of the first result
  std::optional<units::unit_result> units_;
  units::group_addition groups_;
  bool lacks_groups_ = false;  // counts of groups are missing in a result
  bool has_groups_ = false;
  std::size_t with_units_ = 0;  // results with the same units as the first one that has some
  run_report sum_;
};

}  // namespace gpuhist::report
