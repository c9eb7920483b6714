#include "report/formats/document_reader.hpp"

#include "report/formats/result_document.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::report {
namespace {

using nlohmann::json;

/// Builds a document from the events of a parser. Inputs are passed to the caller and not kept.
class document_builder : public nlohmann::json_sax<json> {
 public:
  /// `taken`: called after each input. Borrows both. `has_schema` is set if the document names a schema of gpuhist.
  document_builder(const input_taker& inputs, const std::function<void()>& taken, bool& has_schema)
      : inputs_(inputs), taken_(taken), has_schema_(has_schema) {}

  json take() { return std::move(root_); }

  /// The position of the first byte that is not valid JSON, counted from 1 in the line.
  [[nodiscard]] std::size_t error_at() const { return error_at_; }

  bool null() override { return value(nullptr); }
  bool boolean(bool parsed) override { return value(parsed); }
  bool number_integer(number_integer_t parsed) override { return value(parsed); }
  bool number_unsigned(number_unsigned_t parsed) override { return value(parsed); }
  // The sum of values may have more digits than a double: it stays text.
  bool number_float(number_float_t parsed, const string_t& text) override {
    return key_ == "sum" ? value(text) : value(parsed);
  }
  bool string(string_t& parsed) override {
    const bool is_schema = open_.size() == 1 && root_.is_object() && key_ == "schema";
    has_schema_ = has_schema_ || (is_schema && parsed.starts_with("gpuhist."));
    return value(std::move(parsed));
  }
  bool binary(binary_t& /*parsed*/) override { return false; }  // does not occur in JSON
  bool key(string_t& parsed) override {
    key_ = std::move(parsed);
    return true;
  }
  bool start_object(std::size_t /*elements*/) override { return open(json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*elements*/) override {
    const bool are_inputs = open_.size() == 1 && root_.is_object() && key_ == "inputs";
    open(json::array());
    if (are_inputs) {
      list_ = open_.back();
      inputs_.begin();
    }
    return true;
  }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t at, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    error_at_ = at;
    return false;
  }

 private:
  json* place(json parsed) {
    if (open_.empty()) {
      root_ = std::move(parsed);
      return &root_;
    }
    json& within = *open_.back();
    if (!within.is_array()) return &(within[key_] = std::move(parsed));
    within.push_back(std::move(parsed));
    return &within.back();
  }

  bool value(json parsed) {
    place(std::move(parsed));
    return ended();
  }

  bool open(json parsed) {
    if (open_.size() == deepest) {
      throw result_damage("not a result: more than " + std::to_string(deepest) +
                          " objects and lists are nested; every line must be a document as gpuhist writes them");
    }
    open_.push_back(place(std::move(parsed)));
    return true;
  }

  bool close() {
    if (open_.back() == list_) list_ = nullptr;
    open_.pop_back();
    return ended();
  }

  // Called after each complete value. An input is passed to the caller and removed.
  bool ended() {
    if (list_ == nullptr || open_.back() != list_) return true;
    inputs_.take(list_->back());
    list_->clear();
    taken_();
    return true;
  }

  static constexpr std::size_t deepest =
      64;  // results have fewer than 10 levels; a level needs more memory than its text

  const input_taker& inputs_;
  const std::function<void()>& taken_;
  bool& has_schema_;
  json root_;
  std::vector<json*> open_;  // from the root to the innermost
  json* list_ = nullptr;     // the list of inputs, while it is open
  std::string key_;
  std::size_t error_at_ = 0;
};

}  // namespace

/// An input iterator over the rest of a line, for the parser.
class document_reader::position {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  position() = default;  // the end
  explicit position(document_reader& reader) : reader_(&reader) {}
  char operator*() const { return reader_->available_[reader_->used_]; }
  position& operator++() {
    reader_->advance();
    return *this;
  }
  bool operator==(const position& other) const { return is_end() == other.is_end(); }

 private:
  [[nodiscard]] bool is_end() const { return reader_ == nullptr || reader_->at_line_end(); }

  document_reader* reader_ = nullptr;
};

bool document_reader::next_line() {
  if (std::exchange(begun_, true)) {
    while (!at_line_end()) advance();
    if (used_ < available_.size()) ++used_;  // the line feed
  }
  piece_ = 0;
  at_line_end();  // fills the buffer
  return !available_.empty();
}

bool document_reader::at_line_end() {
  if (used_ == available_.size()) {
    bytes_.take(std::exchange(used_, 0));
    available_ = bytes_.ahead();
  }
  return available_.empty() || available_[used_] == '\n';
}

void document_reader::advance() {
  ++used_;
  if (++piece_ > longest_piece) throw std::length_error("a line is longer than 256 MiB");
}

json document_reader::read(const input_taker& inputs) {
  const std::function<void()> taken = [this] { piece_ = 0; };
  document_builder document(inputs, taken, has_schema_);
  if (!json::sax_parse(position(*this), position(), &document)) {
    throw result_damage("not valid JSON at byte " + std::to_string(document.error_at()) +
                        " of the line; every line must be a whole document, as gpuhist writes them");
  }
  return document.take();
}

}  // namespace gpuhist::report
