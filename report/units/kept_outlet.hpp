// Where the kept text of each input goes, if it does not go to one stream.
#pragma once

#include "pipeline/counts/text_observer.hpp"
#include "report/units/unit_result.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace gpuhist::pipeline::units {

/// How the kept text of an input ends.
struct kept_end {
  input_observer::ending how = input_observer::ending::whole;
  bool has_gaps = false;  ///< damaged text is missing (filtering::drops_unverified)
  unit_totals units{};    ///< of the input

  /// Whether the input is complete and verified.
  [[nodiscard]] bool is_complete() const { return how == input_observer::ending::whole && !has_gaps; }
};

/// The kept text of one input. One call at a time, on any thread. Members may throw; that ends the run.
class kept_outlet {
 public:
  kept_outlet() = default;
  kept_outlet(const kept_outlet&) = delete;
  kept_outlet& operator=(const kept_outlet&) = delete;
  virtual ~kept_outlet() = default;

  /// The next text, in order.
  virtual void write(std::span<const std::byte> text) = 0;

  /// No more text follows.
  virtual void end(const kept_end& found) = 0;
};

/// Makes the outlets of a run. Thread-safe.
class kept_outlets {
 public:
  kept_outlets() = default;
  kept_outlets(const kept_outlets&) = delete;
  kept_outlets& operator=(const kept_outlets&) = delete;
  virtual ~kept_outlets() = default;

  /// The outlet of the input with this name; it is destroyed before this object. Called only for inputs with text.
  virtual std::unique_ptr<kept_outlet> open(const std::string& input) = 0;
};

}  // namespace gpuhist::pipeline::units
