// What observes the text of a run while it is read, besides counting: the units that --each measures.
#pragma once

#include "gpu/cuda/units/piece_classes.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/counts/text_values.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// Observes the text of one input, or of a group of it, in order. One call at a time, on any thread.
class input_observer {
 public:
  /// How the text of an input ends.
  enum class ending {
    whole,  ///< all of the input was read and decoded
    early,  ///< text is missing after the last text
  };

  input_observer() = default;
  input_observer(const input_observer&) = delete;
  input_observer& operator=(const input_observer&) = delete;
  virtual ~input_observer() = default;

  /// The next text. `verified`: it needs no verification; else the result of the input states whether it is. Throws
  /// std::bad_alloc.
  virtual void take(std::span<const std::byte> text, bool verified) = 0;

  /// As take(), but may take a part from the beginning, at least one byte, so that what was found in it can be
  /// published before it needs much memory. Returns the number of bytes that it took.
  virtual std::size_t take_some(std::span<const std::byte> text, bool verified) {
    take(text, verified);
    return text.size();
  }

  /// As take_some(), for text that a device has measured: takes pieces from `from` on, and may take a part of them.
  /// Returns the number of pieces that it took. Only if text_observer::piece_classes().
  virtual std::size_t take_pieces(const gpu::cuda::units::piece_rows& pieces, std::size_t from, bool verified);

  /// As take_some(), for values that are units. Appends to `kept` whether each that it took is kept. Returns the number
  /// of values that it took, at least one. Only of text that a program feeds.
  virtual std::size_t take_values(std::span<const text_value> values, std::vector<bool>& kept);

  /// Text is missing before the next text.
  virtual void note_gap() = 0;

  /// All text of the input that there is was observed; more may follow later. Only of streams and of inputs that grow.
  virtual void note_idle() {}

  /// No more text follows. Not for an observer of later text before follow().
  virtual void end(ending how) = 0;

  /// For an observer of later text (text_observer::open_later()), once: `earlier` has observed all text of the input
  /// before, and nothing of it is left for next_kept(). What this observer has found is reported from here on, and
  /// next_kept() returns all text that is kept of both. Throws std::bad_alloc.
  virtual void follow(std::unique_ptr<input_observer> earlier);

  /// After end(): what the report of the input has of it; nothing: nothing.
  [[nodiscard]] virtual std::optional<observed_numbers> found() const { return std::nullopt; }

  /// What was found in units that ended in the text since the last call or gap, as found(), without quantiles.
  [[nodiscard]] virtual observed_numbers take_found() { return {}; }

  /// Whether an observer of later text holds so much that it must not take more before follow().
  [[nodiscard]] virtual bool is_full() const { return false; }

  /// The next part of the text that is passed through instead of that of the input; empty: no more for now. Valid until
  /// the next call. Must be called until it is empty before the next text is taken. Throws std::system_error if a
  /// temporary file cannot be read.
  [[nodiscard]] virtual std::span<const std::byte> next_kept() { return {}; }
};

/// Makes the observers of a run. Thread-safe, except publish().
class text_observer {
 public:
  text_observer() = default;
  text_observer(const text_observer&) = delete;
  text_observer& operator=(const text_observer&) = delete;
  virtual ~text_observer() = default;

  /// An observer for one input; it is destroyed before this object. `order`: inputs with lower numbers are reported
  /// first; no two have the same. Its lower 32 bits are the input_id.
  virtual std::unique_ptr<input_observer> open(const std::string& name, std::uint64_t order) = 0;

  /// Whether groups of an input may be observed at the same time.
  [[nodiscard]] virtual bool divides() const { return false; }

  /// Whether an input must be observed when all inputs before it have been.
  [[nodiscard]] virtual bool in_turn() const { return false; }

  /// An observer for a group of an input that is not the first. It begins where another one ends, which it
  /// is then given by follow(). Until then it reports nothing, and take_some() may return 0. Precondition: divides().
  virtual std::unique_ptr<input_observer> open_later(const std::string& name, std::uint64_t order);

  /// Whether publish() should be called.
  [[nodiscard]] virtual bool wants_publishing() const = 0;

  /// Whether so much was found that no more should be before publish().
  [[nodiscard]] virtual bool must_publish() const { return wants_publishing(); }

  /// Reports what was found since the last call. Called on the thread of the run. An exception ends the run.
  virtual void publish() = 0;

  /// Whether reports of inputs have input_observer::found(): inputs are then finished after their observers.
  [[nodiscard]] virtual bool reports_inputs() const { return false; }

  /// Whether input_observer::next_kept() is passed through instead of the text.
  [[nodiscard]] virtual bool filters() const = 0;

  /// Whether text is observed only after the verdict on its frame: as verified, or, of a damaged frame and before the
  /// gap after it, as not verified.
  [[nodiscard]] virtual bool awaits_verdicts() const { return false; }

  /// What a device counts in the pieces of text so that observers need not see it; null: they need the text. Constant.
  [[nodiscard]] virtual const gpu::cuda::units::piece_classes* piece_classes() const { return nullptr; }

  /// Whether observers hold text.
  [[nodiscard]] virtual bool holds_text() const { return filters(); }
};

inline std::size_t input_observer::take_pieces(const gpu::cuda::units::piece_rows&, std::size_t, bool) {
  throw std::logic_error("an observer that needs the text");
}

inline std::size_t input_observer::take_values(std::span<const text_value>, std::vector<bool>&) {
  throw std::logic_error("an observer of text that it divides");
}

inline void input_observer::follow(std::unique_ptr<input_observer>) {
  throw std::logic_error("not an observer of later text");
}

inline std::unique_ptr<input_observer> text_observer::open_later(const std::string&, std::uint64_t) {
  throw std::logic_error("the text of an input must be observed in order");
}

}  // namespace gpuhist::pipeline
