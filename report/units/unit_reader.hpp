// Divides the text of one input into units, and evaluates the formulas of the plan for each.
//
//     text, piece by piece:   | ... begin of a unit |  ... its end\n   unit\n  unit\n   begin ... |
//                                    the open unit      closes it       a batch      the open unit
//
// Units that lie in a piece as a whole are counted by rows of a few counters, in batches. The unit that is open at the
// end of a piece is counted by all 256 byte values. Both give the same values.
//
// With a field, the values of the lines of a batch are counted instead of the lines, in the same way; the text of the
// open line is held.
//
// A reader of later text does not know where in its input it begins. It sets the end of the unit of the text before
// aside (the head), and holds what it finds after it, with places that count from there, until follow():
//
// What conditions about the input are about is counted apart, and added to that of the run at the end of the input.
//
//     earlier reader:  ... unit\n  begin of a u |
//                                               | nit\n  unit\n  unit\n   begin ... |   this reader
//                                                 head   held
#pragma once

#include "gpu/host/utf8_meter.hpp"
#include "pipeline/counts/text_observer.hpp"
#include "report/units/kept_text.hpp"
#include "report/units/line_grouper.hpp"
#include "report/units/signature_files.hpp"
#include "report/units/unit_batch.hpp"
#include "report/units/unit_run.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::report::units {

class unit_reader final : public pipeline::input_observer {
 public:
  /// Where its text begins: at the beginning of an input, or anywhere in it.
  enum class position : std::uint8_t { first, later };

  /// `number`: in the order of inputs, for equal ranks.
  unit_reader(unit_run& run, std::uint64_t number, const std::string& name, position from);
  unit_reader(const unit_reader&) = delete;
  unit_reader& operator=(const unit_reader&) = delete;
  ~unit_reader() override;

  void take(std::span<const std::byte> text, bool verified) override;

  /// Ends after max_selected units, and a batch, were selected for a report, or max_kept bytes were kept.
  std::size_t take_some(std::span<const std::byte> text, bool verified) override;

  /// Precondition: unit_meter::pieces().
  std::size_t take_pieces(const gpu::cuda::units::piece_rows& pieces, std::size_t from, bool verified) override;

  /// A value that is too long for a batch is read as an open unit.
  std::size_t take_values(std::span<const pipeline::text_value> values, std::vector<bool>& kept) override;

  /// The open unit ends here, and the next text begins a unit. The rest of the open unit may be missing, and the begin
  /// of the next line or record, so filtering::drops_unverified drops both.
  void note_gap() override;
  void end(ending how) override;
  void note_idle() override;
  void follow(std::unique_ptr<pipeline::input_observer> earlier) override;
  [[nodiscard]] std::optional<pipeline::observed_numbers> found() const override;
  [[nodiscard]] pipeline::observed_numbers take_found() override;
  [[nodiscard]] bool is_full() const override;
  [[nodiscard]] std::span<const std::byte> next_kept() override;

 private:
  static constexpr std::size_t max_selected = 4096;
  static constexpr std::size_t max_groups = 4096;  // that are not added to those of the run
  static constexpr std::size_t max_bytes_of_groups = std::size_t{1} << 20U;
  static constexpr std::size_t max_kept = std::size_t{256} << 10U;  // in a core's cache until it is written
  static constexpr std::size_t max_head = std::size_t{1} << 20U;

  // A unit and the values of the formulas for it.
  struct judged_unit {
    double holds = 0;   // of the condition
    double ranked = 0;  // of the ranking
  };

  // Pieces of one unit, together.
  struct joined_pieces {
    std::array<std::uint64_t, unit_pieces::max_classes> counts{};  // of classes
    std::uint64_t bytes = 0;
    bool ends_unit = false;
  };
  static std::size_t add_pieces(const gpu::cuda::units::piece_rows& pieces, std::size_t from, joined_pieces& to);

  // After which a text is not taken further.
  struct limits {
    std::size_t selected = std::numeric_limits<std::size_t>::max();  // units for reports
    std::size_t kept_bytes = std::numeric_limits<std::size_t>::max();
  };

  void begin_lines();
  void end_lines();
  std::size_t take_until(std::span<const std::byte> text, bool verified, const limits& most);
  std::size_t extend_head(std::span<const std::byte> text);
  std::size_t extend_head(const gpu::cuda::units::piece_rows& pieces, std::size_t from);
  void observe_watched();
  void observe_watched(const counted_unit& found);
  void observe_groups();
  void take_searched(const gpu::cuda::units::piece_rows& pieces, std::size_t row);
  void take_edge(const gpu::cuda::units::piece_rows& pieces, std::size_t row);
  void continue_unit_of(unit_reader& earlier);
  [[nodiscard]] bool has_open() const { return place_.bytes > 0 || !open_is_verified_; }
  [[nodiscard]] std::size_t rest_of_open(std::span<const std::byte> text) const;
  void extend_open(std::span<const std::byte> text);
  void extend_open_by_pieces(std::span<const std::byte> text);
  std::size_t extend_open(const gpu::cuda::units::piece_rows& pieces, std::size_t from);
  void extend_open(const joined_pieces& joined);
  [[nodiscard]] bool open_is_complete() const;
  bool close_open();
  [[nodiscard]] bool judge_open();
  void cut_open();
  void count_open(std::span<const std::byte> text, bool in_word);
  void count_open_value();
  [[nodiscard]] bool drops_unverified() const;
  [[nodiscard]] bool rejects(bool verified) const;
  void judge();
  void compare_texts();
  void sign_texts();
  void keep_undecided();
  void decide();
  void reject(const counted_unit& found);
  void reject_batch();
  [[nodiscard]] judged_unit judged_at(std::size_t unit) const;
  [[nodiscard]] bool is_dull() const;
  void pass(std::size_t first, std::size_t end);
  void pass(const unit_totals& units, std::uint64_t newlines);
  void keep();
  void keep(std::size_t first, std::size_t last);
  [[nodiscard]] std::span<const std::byte> text_to_keep(std::size_t unit);
  void close_kept(bool is_kept);
  void note_steps();
  [[nodiscard]] bool is_reported(const judged_unit& found, std::uint64_t number) const;
  void report(const judged_unit& found, const counted_unit& unit);
  void note(const judged_unit& found);
  void note_rules(const judged_unit& found, std::size_t unit);
  [[nodiscard]] counted_unit counted(const gpu::tally& counts, const sequence_counts& sequences,
                                     std::size_t unit) const;
  [[nodiscard]] counted_unit counted_in_batch(std::size_t unit);
  void advance(std::uint64_t newlines);
  void flush();
  void flush_groups();
  void note_faults();
  void drain();

  unit_run& run_;
  const unit_meter& meter_;
  shared_findings& found_;
  std::optional<held_findings> held_;  // of later text, before follow()
  unit_outlet* out_;                   // held_, or found_
  bool in_head_;
  bool gap_after_head_ = false;
  bool head_is_verified_ = true;
  std::vector<std::byte> head_;
  joined_pieces head_pieces_{};
  std::optional<matched_part> head_part_;  // only if strings are searched in pieces
  std::string edge_;                       // text of an edge that is not complete
  std::unique_ptr<unit_reader> earlier_;   // text that it keeps precedes that of this reader
  const std::uint64_t input_;
  const std::shared_ptr<const std::string> name_;
  bool verified_ = false;  // the text that was passed last
  bool has_gaps_ = false;

  unit_place place_{};            // of the open unit, or of the next one
  bool open_is_verified_ = true;  // false without text of the unit: its begin is missing
  gpu::tally open_;               // the counts of the open unit, by byte value
  gpu::tally open_line_;          // of a field: those of its line, if lines are read
  std::uint64_t open_words_ = 0;
  std::byte last_{};       // byte of the open unit
  std::string open_text_;  // its beginning, if units are shown
  gpu::host::utf8_meter open_utf8_{gpu::host::utf8_detail::code_points};
  std::optional<text_hasher> open_hash_;       // nothing: texts are not compared
  std::optional<signature_files> signatures_;  // nothing: none are written

  unit_batch batch_;
  line_values* const fields_;       // of the batch; null: units are measured
  std::vector<std::uint32_t> row_;  // of 256 counters
  gpu::tally scratch_;
  std::optional<line_grouper> groups_;     // nothing: the plan reads nothing of lines
  event_watermark* const watermark_;       // null: windows do not close before the end
  bool is_live_ = false;                   // all text that there was has been read once
  std::optional<kept_text> kept_;          // with a filter
  std::unique_ptr<kept_outlet> outlet_;    // null: next_kept() returns the kept text
  unit_totals totals_{};                   // not added to the run yet
  std::vector<rule_totals> rules_;         // unit_plan::counted_rows(), not added to the run yet
  std::vector<std::size_t> holding_;       // rules that hold for the unit
  unit_totals of_input_{};                 // added to the run
  pipeline::observed_numbers observed_{};  // without values
  pipeline::observed_numbers recent_{};    // not added to these yet
  std::vector<distribution> watched_;      // by formula of watched_values
  // Of later text, if duplicates are dropped: a unit that is kept unless it is a duplicate of one before.
  struct undecided_unit {
    text_hash hash;
    kept_text::part kept;
    std::uint64_t bytes = 0;  // of the unit
  };
  std::vector<undecided_unit> undecided_;
  std::vector<std::size_t> compared_;   // units of the batch
  std::vector<text_hash> hashes_;       // of these
  std::vector<bool> are_duplicates_;    // of these
  std::vector<double> counted_values_;  // of units of the batch, or of the open unit by formula
  std::size_t selected_ = 0;            // for reports, since the text was passed
  std::optional<rank> last_rank_{};     // of the run, as it was
};

}  // namespace gpuhist::report::units
