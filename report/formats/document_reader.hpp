// Reads JSON documents, one per line, and passes their inputs to the caller one by one: a result with a million inputs
// is one line, and is never in memory as a whole.
#pragma once

#include "report/formats/bounded_lines.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <functional>
#include <string_view>

namespace gpuhist::report {

/// Receives the list `inputs` at the top level of a document.
struct input_taker {
  std::function<void()> begin;  ///< the list begins; if the key occurs several times, the last list is valid
  std::function<void(const nlohmann::json&)> take;  ///< an element of the list, of any type
};

/// Calls block. One thread. Memory: a buffer, the document without its inputs, and one input.
class document_reader {
 public:
  /// The longest line, or part of a line between two inputs, in bytes.
  static constexpr std::size_t longest_piece = std::size_t{256} << 20U;

  /// Borrows `fd`.
  explicit document_reader(int fd) : bytes_(fd) {}

  /// Borrows `text`.
  explicit document_reader(std::string_view text) : bytes_(text) {}

  /// Skips the rest of this line and goes to the next one; false if there is none. Throws std::system_error if the file
  /// cannot be read, std::length_error if a line, or a piece of it, is too long.
  bool next_line();

  /// Whether the line has no more bytes. Throws as above.
  bool at_line_end();

  /// Parses the line as a document, in which the list `inputs` is empty, and members "sum" with a fraction are text.
  /// Throws result_damage if it is not valid, and as above.
  nlohmann::json read(const input_taker& inputs);

  /// Whether any document that was read, a damaged one included, names a schema of gpuhist.
  [[nodiscard]] bool has_schema() const { return has_schema_; }

 private:
  class position;

  void advance();

  read_buffer bytes_;
  std::string_view available_;  // bytes of this line and later ones
  std::size_t used_ = 0;        // bytes of `available_` that were read
  std::size_t piece_ = 0;       // bytes since the beginning of the line or of an input
  bool begun_ = false;          // there is a line
  bool has_schema_ = false;
};

}  // namespace gpuhist::report
