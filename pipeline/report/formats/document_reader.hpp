// Documents of JSON, one a line, of which the inputs are handed on one by one: a result of a million inputs is one
// line, and never in memory.
#pragma once

#include "pipeline/report/formats/read_buffer.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <functional>
#include <string_view>

namespace gpuhist::pipeline {

/// What becomes of the list `inputs` at the top of a document.
struct input_taker {
  std::function<void()> begin;                      ///< the list begins; of several the last one counts, as of any key
  std::function<void(const nlohmann::json&)> take;  ///< one of its elements, of whatever type
};

/// Blocks; one thread. Memory: a buffer, what a document has beside its inputs, and one of those.
class document_reader {
 public:
  /// Of a line, or of what lies between two inputs in it: more is not kept.
  static constexpr std::size_t longest_piece = std::size_t{256} << 20U;

  /// Borrows `fd`.
  explicit document_reader(int fd) : bytes_(fd) {}

  /// Goes to the next line, past what is left of this one; false where there is none. Throws std::system_error where
  /// the file cannot be read, std::length_error where a line, or a piece of it, is too long.
  bool next_line();

  /// Whether there is nothing more in the line. Throws as above.
  bool at_line_end();

  /// The line as a document, in which the list `inputs` is empty. Throws result_damage where it is none, and as above.
  nlohmann::json read(const input_taker& inputs);

  /// Whether any document that was read, a damaged one included, names a schema of gpuhist.
  [[nodiscard]] bool has_schema() const { return has_schema_; }

 private:
  class position;

  void advance();

  read_buffer bytes_;
  std::string_view there_;  // of this line and others
  std::size_t used_ = 0;    // of those
  std::size_t piece_ = 0;   // bytes since the line or an input began
  bool begun_ = false;      // there is a line
  bool has_schema_ = false;
};

}  // namespace gpuhist::pipeline
