#include "pipeline/report/formats/input_table.hpp"

#include "pipeline/report/formats/report_measures.hpp"
#include "pipeline/report/formats/text.hpp"
#include "pipeline/report/formats/text_table.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace gpuhist::pipeline {
namespace {

using kind = input_column::kind;

constexpr std::size_t fewest_on_terminal = 10;
constexpr std::string_view incomplete = "INCOMPLETE";

std::vector<input_column> usual_columns() {
  return {{.shows = kind::bytes}, {.shows = kind::lines}, {.shows = kind::share}, {.shows = kind::mostly}};
}

/// "lower 63.1 %": the largest bucket of the first scheme.
std::string most_of(const report& content, const gpu::tally& counts) {
  if (content.schemes.empty() || counts.bytes() == 0) return "";
  const scheme_view& view = content.schemes.front();
  const std::vector<std::uint64_t> folded = view.fold(counts);
  const auto largest = static_cast<std::size_t>(std::distance(folded.begin(), std::ranges::max_element(folded)));
  const double share = 100 * static_cast<double>(folded[largest]) / static_cast<double>(counts.bytes());
  return printable(view.scheme.buckets[largest]) + " " + fixed(share, 1) + " %";
}

std::optional<double> value_for(const gates::formula& computed, const report& content, const gpu::tally& counts) {
  return computed.value({.counts = counts,
                         .partition = content.partition,
                         .baseline = content.measuring.baseline.get(),
                         .schemes = content.schemes});
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
  input_table(const report& content, const render_target& target, std::size_t other_lines)
      : content_(content),
        target_(target),
        listing_(target.parts.listing != nullptr ? *target.parts.listing : input_listing{}),
        columns_(listing_.columns.empty() ? usual_columns() : listing_.columns),
        all_bytes_(shown_counts(content, content.verified, content.unverified).bytes()),
        limit_(limit(other_lines)) {
    if (listing_.order) rank();
  }

  void write(const text_sink& out) const {
    bool all_complete = true;
    row_widths widths;
    for_each_shown([&](const input_report& each) {
      widths.add(row_of(each));
      all_complete = all_complete && !is_incomplete(each);
    });
    if (!all_complete) {
      table_row state(columns_.size() + 2);
      state.back() = incomplete;
      widths.add(state);
    }
    const text_table table(headings(), widths, width());
    out(painted(table.heading(), ink::heading, target_.color) + "\n");
    for_each_shown([&](const input_report& each) {
      table_row row = row_of(each);
      if (!all_complete) row.back() = is_incomplete(each) ? incomplete : "ok";
      out(painted(table.line(row), ink::alarm, is_incomplete(each) && target_.color) + "\n");
    });
    if (limit_ < content_.inputs.size()) {
      out("... and " + grouped(content_.inputs.size() - limit_) + " more (--top " +
          std::to_string(content_.inputs.size()) + " shows all)\n");
    }
    out("\n");
  }

 private:
  // On a terminal the buckets, the totals, the heading, the number of inputs left out, an empty line and the prompt are
  // visible too.
  [[nodiscard]] std::size_t limit(std::size_t other_lines) const {
    if (listing_.top) return static_cast<std::size_t>(std::min<std::uint64_t>(*listing_.top, content_.inputs.size()));
    if (target_.height == 0) return content_.inputs.size();
    constexpr std::size_t own_lines = 4;
    const std::size_t taken = other_lines + own_lines;
    const std::size_t room = target_.height > taken ? target_.height - taken : 0;
    return std::min(std::max(room, fewest_on_terminal), content_.inputs.size());
  }

  // Columns that were asked for are complete in a file or a pipe, and so are the names.
  [[nodiscard]] std::size_t width() const {
    return listing_.columns.empty() || target_.terminal ? target_.width : std::numeric_limits<std::size_t>::max();
  }

  void rank() {
    first_inputs first(limit_);
    std::size_t number = 0;
    for (const input_report& each : content_.inputs) {
      const gpu::tally counts = shown_counts(content_, each.verified, each.unverified);
      first.add({.value = value_for(*listing_.order, content_, counts), .number = number++});
    }
    ranked_ = first.take_in_order();
  }

  void for_each_shown(const std::function<void(const input_report&)>& visit) const {
    if (listing_.order) {
      for (const std::size_t number : ranked_) visit(content_.inputs[number]);
      return;
    }
    std::size_t left = limit_;
    for (auto each = content_.inputs.begin(); left > 0; ++each, --left) visit(*each);
  }

  [[nodiscard]] bool is_incomplete(const input_report& input) const {
    return !input.complete && content_.type == report::kind::result;
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
  [[nodiscard]] table_row row_of(const input_report& input) const {
    const gpu::tally counts = shown_counts(content_, input.verified, input.unverified);
    table_row row = {printable(input.name)};
    for (const input_column& each : columns_) row.push_back(cell(each, counts));
    row.emplace_back();
    return row;
  }

  [[nodiscard]] std::string cell(const input_column& column, const gpu::tally& counts) const {
    switch (column.shows) {
      case kind::bytes:
        return grouped(counts.bytes());
      case kind::lines:
        return grouped(lines_in(counts, content_.partition));
      case kind::share:
        return share_of(counts.bytes(), all_bytes_);
      case kind::mostly:
        return most_of(content_, counts);
      case kind::formula:
        break;
    }
    const std::optional<double> value = value_for(*column.value, content_, counts);
    return value ? measure_text(*value) : "-";
  }

  const report& content_;
  const render_target& target_;
  const input_listing listing_;
  const std::vector<input_column> columns_;
  const std::uint64_t all_bytes_;
  const std::size_t limit_;
  std::vector<std::size_t> ranked_;  // if there is an order
};

}  // namespace

std::string input_column::heading() const {
  switch (shows) {
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
  return printable(value->text());
}

bool input_listing::needs_byte_counts() const {
  const auto needs = [](const input_column& each) { return each.value && each.value->needs_byte_counts(); };
  return std::ranges::any_of(columns, needs) || (order && order->needs_byte_counts());
}

void write_input_table(const report& content, const render_target& target, std::size_t other_lines,
                       const text_sink& out) {
  input_table(content, target, other_lines).write(out);
}

}  // namespace gpuhist::pipeline
