#include "pipeline/report/formats/document_reader.hpp"

#include "pipeline/report/formats/result_document.hpp"

#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {
namespace {

using nlohmann::json;

/// Makes a document of the events of a parser, but for its inputs, which it hands on and forgets.
class document_builder : public nlohmann::json_sax<json> {
 public:
  /// `taken`: called after an input was handed on. Borrows both.
  /// `has_schema` is set once the document names a schema of gpuhist.
  document_builder(const input_taker& inputs, const std::function<void()>& taken, bool& has_schema)
      : inputs_(inputs), taken_(taken), has_schema_(has_schema) {}

  json take() { return std::move(root_); }

  /// Where the text is no JSON: the byte of the line, counted from 1.
  [[nodiscard]] std::size_t error_at() const { return error_at_; }

  bool null() override { return value(nullptr); }
  bool boolean(bool of) override { return value(of); }
  bool number_integer(number_integer_t of) override { return value(of); }
  bool number_unsigned(number_unsigned_t of) override { return value(of); }
  bool number_float(number_float_t of, const string_t& /*text*/) override { return value(of); }
  bool string(string_t& of) override {
    const bool is_schema = open_.size() == 1 && root_.is_object() && key_ == "schema";
    has_schema_ = has_schema_ || (is_schema && of.starts_with("gpuhist."));
    return value(std::move(of));
  }
  bool binary(binary_t& /*of*/) override { return false; }  // no JSON has it
  bool key(string_t& of) override {
    key_ = std::move(of);
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
  bool parse_error(std::size_t at, const std::string& /*token*/, const nlohmann::detail::exception& /*what*/) override {
    error_at_ = at;
    return false;
  }

 private:
  json* place(json of) {
    if (open_.empty()) {
      root_ = std::move(of);
      return &root_;
    }
    json& within = *open_.back();
    if (!within.is_array()) return &(within[key_] = std::move(of));
    within.push_back(std::move(of));
    return &within.back();
  }

  bool value(json of) {
    place(std::move(of));
    return ended();
  }

  bool open(json of) {
    if (open_.size() == deepest) {
      throw result_damage("no result (more than " + std::to_string(deepest) +
                          " objects and lists are nested); every line is to hold a document as gpuhist writes them");
    }
    open_.push_back(place(std::move(of)));
    return true;
  }

  bool close() {
    if (open_.back() == list_) list_ = nullptr;
    open_.pop_back();
    return ended();
  }

  // A value is whole; where it is an input, it is not kept.
  bool ended() {
    if (list_ == nullptr || open_.back() != list_) return true;
    inputs_.take(list_->back());
    list_->clear();
    taken_();
    return true;
  }

  static constexpr std::size_t deepest = 64;  // results have fewer than 10 levels; each needs more memory than text

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

/// What is left of a line, as the parser wants it.
class document_reader::position {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  position() = default;  // the end
  explicit position(document_reader& of) : of_(&of) {}
  char operator*() const { return of_->there_[of_->used_]; }
  position& operator++() {
    of_->advance();
    return *this;
  }
  bool operator==(const position& other) const { return is_end() == other.is_end(); }

 private:
  [[nodiscard]] bool is_end() const { return of_ == nullptr || of_->at_line_end(); }

  document_reader* of_ = nullptr;
};

bool document_reader::next_line() {
  if (std::exchange(begun_, true)) {
    while (!at_line_end()) advance();
    if (used_ < there_.size()) ++used_;  // the line feed
  }
  piece_ = 0;
  at_line_end();  // reads, where nothing is there
  return !there_.empty();
}

bool document_reader::at_line_end() {
  if (used_ == there_.size()) {
    bytes_.take(std::exchange(used_, 0));
    there_ = bytes_.ahead();
  }
  return there_.empty() || there_[used_] == '\n';
}

void document_reader::advance() {
  ++used_;
  if (++piece_ > longest_piece) throw std::length_error("a line is longer than 256 MiB");
}

json document_reader::read(const input_taker& inputs) {
  const std::function<void()> taken = [this] { piece_ = 0; };
  document_builder document(inputs, taken, has_schema_);
  if (!json::sax_parse(position(*this), position(), &document)) {
    throw result_damage("no JSON document (at byte " + std::to_string(document.error_at()) +
                        " of the line); every line is to hold a whole one, as gpuhist writes them");
  }
  return document.take();
}

}  // namespace gpuhist::pipeline
