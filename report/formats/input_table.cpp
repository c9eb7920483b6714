#include "report/formats/input_table.hpp"

#include "report/formats/text.hpp"
#include "report/formats/text_table.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <string_view>

namespace gpuhist::report {
namespace {

using kind = input_column::kind;

constexpr std::size_t fewest_on_terminal = 10;
constexpr std::size_t shortest_name = 16;
constexpr std::string_view incomplete = "INCOMPLETE";

std::vector<input_column> usual_columns() {
  return {{.type = kind::bytes}, {.type = kind::lines}, {.type = kind::share}, {.type = kind::mostly}};
}

std::optional<double> value_for(const gates::formula& computed, const run_report& content,
                                const pipeline::input_report& input) {
  const gpu::tally counts = shown_counts(content, input.verified, input.unverified);
  return computed.value({.counts = counts,
                         .partition = content.partition,
                         .baseline = content.measuring.baseline.get(),
                         .schemes = content.schemes,
                         .malformed = pipeline::malformed_in(input.utf8)});
}

/// An input and its value, which decides its place.
struct ranked_input {
  std::optional<double> value;
  std::size_t number = 0;
};

/// The highest value first; inputs without a value last; otherwise the order of the report.
bool comes_before(const ranked_input& a, const ranked_input& b) {
  if (a.value != b.value) return b.value < a.value;  // no value is less than any
  return a.number < b.number;
}

/// The inputs that come first in the order. A heap, of which the last one is the front.
class first_inputs {
 public:
  explicit first_inputs(std::size_t limit) : limit_(limit) {}

  void add(const ranked_input& next) {
    if (kept_.size() == limit_) {
      if (!comes_before(next, kept_.front())) return;
      std::ranges::pop_heap(kept_, comes_before);
      kept_.pop_back();
    }
    kept_.push_back(next);
    std::ranges::push_heap(kept_, comes_before);
  }

  [[nodiscard]] std::vector<std::size_t> take_in_order() {
    std::ranges::sort_heap(kept_, comes_before);
    std::vector<std::size_t> numbers;
    std::ranges::transform(kept_, std::back_inserter(numbers), &ranked_input::number);
    return numbers;
  }

 private:
  std::size_t limit_;
  std::vector<ranked_input> kept_;
};

class input_table {
 public:
  input_table(const run_report& content, const render_target& target, std::size_t other_lines)
      : content_(content),
        target_(target),
        listing_(target.sections.listing != nullptr ? *target.sections.listing : input_listing{}),
        columns_(listing_.columns.empty() ? usual_columns() : listing_.columns),
        all_bytes_(shown_counts(content, content.verified, content.unverified).bytes()),
        rows_(number_of_rows(other_lines)) {
    if (listing_.order) rank();
  }

  void write(const text_sink& out) {
    bool all_complete = true;
    row_widths widths;
    for_each_shown([&](const pipeline::input_report& each) {
      widths.add(row_of(each));
      all_complete = all_complete && !is_incomplete(each);
    });
    if (!all_complete) {
      table_row state(columns_.size() + 2);
      state.back() = incomplete;
      widths.add(state);
    }
    const text_table table = fitted(widths);
    make_room_for_wrapped(table.used());
    out(painted(table.heading(), ink::heading, target_.color) + "\n");
    for_each_shown([&](const pipeline::input_report& each) {
      table_row row = row_of(each);
      if (!all_complete) row.back() = is_incomplete(each) ? incomplete : "ok";
      out(painted(table.line(row), ink::alarm, is_incomplete(each) && target_.color) + "\n");
    });
    if (rows_ < content_.inputs.size()) {
      out("... and " + grouped(content_.inputs.size() - rows_) + " more (--top all shows all)\n");
    }
    out("\n");
  }

 private:
  // On a terminal the buckets, the totals, the heading, the number of inputs left out, an empty line and the prompt are
  // visible too.
  [[nodiscard]] std::size_t number_of_rows(std::size_t other_lines) const {
    const std::size_t all = content_.inputs.size();
    if (listing_.top) return static_cast<std::size_t>(std::min<std::uint64_t>(*listing_.top, all));
    if (target_.height == 0) return all;
    constexpr std::size_t own_lines = 4;
    const std::size_t taken = other_lines + own_lines;
    const std::size_t room = target_.height > taken ? target_.height - taken : 0;
    if (room + 1 >= all) return all;  // instead of the number of inputs left out
    return std::min(std::max(room, fewest_on_terminal), all);
  }

  // In a file or pipe, a table that was asked for is complete, and so are the names in it. On a terminal, columns that
  // were asked for may need more than its width; then names are not cut, because that would not make a line fit.
  [[nodiscard]] text_table fitted(const row_widths& widths) const {
    const auto table_of = [&](std::size_t width) { return text_table(headings(), widths, width); };
    if (listing_.is_usual() || (target_.terminal && listing_.columns.empty())) return table_of(target_.width);
    text_table whole = table_of(std::numeric_limits<std::size_t>::max());
    if (!target_.terminal) return whole;
    const std::size_t name = widths.width(0);
    if (whole.used() - name + std::min(name, shortest_name) <= target_.width) return table_of(target_.width);
    return whole;
  }

  // Rows that are wider than a terminal take several lines of it.
  void make_room_for_wrapped(std::size_t width) {
    if (target_.height == 0 || listing_.top || target_.width == 0) return;
    const std::size_t lines_of_row = (width + target_.width - 1) / target_.width;
    rows_ = std::max(std::min(rows_, fewest_on_terminal), rows_ / lines_of_row);
  }

  void rank() {
    first_inputs first(rows_);
    std::size_t number = 0;
    for (const pipeline::input_report& each : content_.inputs) {
      first.add({.value = value_for(*listing_.order, content_, each), .number = number++});
    }
    ranked_ = first.take_in_order();
  }

  void for_each_shown(const std::function<void(const pipeline::input_report&)>& visit) const {
    if (listing_.order) {
      for (std::size_t i = 0; i < rows_; ++i) visit(content_.inputs[ranked_[i]]);
      return;
    }
    std::size_t left = rows_;
    for (auto each = content_.inputs.begin(); left > 0; ++each, --left) visit(*each);
  }

  [[nodiscard]] bool is_incomplete(const pipeline::input_report& input) const {
    return !input.complete && content_.type == run_report::kind::result;
  }

  // Of the usual columns, those more to the right are dropped earlier, and the first one never is.
  [[nodiscard]] std::vector<table_column> headings() const {
    std::vector<table_column> made = {{.heading = "input", .to_the_right = false}};
    for (const input_column& each : columns_) {
      const auto place = static_cast<unsigned>(made.size() - 1);
      made.push_back({.heading = each.heading(), .dispensable = listing_.columns.empty() ? place : 0});
    }
    made.push_back({.heading = "", .to_the_right = false});
    return made;
  }

  /// The last cell ("ok" or "INCOMPLETE") is empty.
  [[nodiscard]] table_row row_of(const pipeline::input_report& input) const {
    const gpu::tally counts = shown_counts(content_, input.verified, input.unverified);
    table_row row = {printable(input.name)};
    for (const input_column& each : columns_) row.push_back(cell(each, input, counts));
    row.emplace_back();
    return row;
  }

  [[nodiscard]] std::string cell(const input_column& column, const pipeline::input_report& input,
                                 const gpu::tally& counts) const {
    switch (column.type) {
      case kind::bytes:
        return grouped(counts.bytes());
      case kind::lines:
        return grouped(pipeline::lines_in(counts, content_.partition));
      case kind::share:
        return share_of(counts.bytes(), all_bytes_);
      case kind::mostly:
        if (counts.bytes() == 0 && !listing_.columns.empty()) return "-";
        return most_of(content_, counts);
      case kind::formula:
        break;
    }
    const std::optional<double> value = value_for(*column.formula, content_, input);
    return value ? measure_text(*value) : "-";
  }

  const run_report& content_;
  const render_target& target_;
  const input_listing listing_;
  const std::vector<input_column> columns_;
  const std::uint64_t all_bytes_;
  std::size_t rows_;
  std::vector<std::size_t> ranked_;  // if there is an order
};

}  // namespace

std::string input_column::heading() const {
  switch (type) {
    case kind::bytes:
      return "bytes";
    case kind::lines:
      return "lines";
    case kind::share:
      return "share";
    case kind::mostly:
      return "mostly";
    case kind::formula:
      break;
  }
  return printable(formula->text());
}

bool input_listing::needs_byte_counts() const {
  const auto needs = [](const input_column& each) { return each.formula && each.formula->needs_byte_counts(); };
  return std::ranges::any_of(columns, needs) || (order && order->needs_byte_counts());
}

std::string most_of(const run_report& content, const gpu::tally& counts) {
  if (content.schemes.empty() || counts.bytes() == 0) return "";
  const pipeline::scheme_view& view = content.schemes.front();
  const std::vector<std::uint64_t> folded = view.fold(counts);
  const auto largest = static_cast<std::size_t>(std::distance(folded.begin(), std::ranges::max_element(folded)));
  const double share = 100 * static_cast<double>(folded[largest]) / static_cast<double>(counts.bytes());
  return printable(view.scheme.buckets[largest]) + " " + fixed(share, 1) + " %";
}

void write_input_table(const run_report& content, const render_target& target, std::size_t other_lines,
                       const text_sink& out) {
  input_table(content, target, other_lines).write(out);
}

}  // namespace gpuhist::report
