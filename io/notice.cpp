#include "io/notice.hpp"

#include "io/failure.hpp"

#include <algorithm>
#include <array>

namespace gpuhist::io {
namespace {

struct kind_row {
  notice_kind kind;
  std::string_view name;
  bool content_rules::* refuses = nullptr;
  std::string_view option{};
};

constexpr std::array kinds{
    kind_row{notice_kind::name_differs, "name_differs", &content_rules::strict_names, "--strict-names"},
    kind_row{notice_kind::unknown_compression, "unknown_compression", &content_rules::fail_on_unknown,
             "--fail-on-unknown"},
    kind_row{notice_kind::no_end_marker, "no_end_marker"},
    kind_row{notice_kind::trailing_data, "trailing_data"},
    kind_row{notice_kind::no_end_blocks, "no_end_blocks"},
    kind_row{notice_kind::replaced_characters, "replaced_characters"},
    kind_row{notice_kind::unknown, "unknown"}};

const kind_row& row_of(notice_kind kind) {
  const auto* const found = std::ranges::find(kinds, kind, &kind_row::kind);
  return found == kinds.end() ? kinds.back() : *found;
}

}  // namespace

std::string_view name_of(notice_kind kind) { return row_of(kind).name; }

notice_kind notice_kind_named(std::string_view name) {
  const auto* const found = std::ranges::find(kinds, name, &kind_row::name);
  return found == kinds.end() ? notice_kind::unknown : found->kind;
}

notice noted(notice_kind kind, const notice_words& words, const content_rules& rules) {
  const kind_row& row = row_of(kind);
  const bool is_refused = row.refuses != nullptr && rules.*row.refuses;
  if (!is_refused) return {.kind = kind, .text = words.cause + "; " + words.consequence};
  throw input_error(words.cause + ", which " + std::string(row.option) + " refuses; " + words.remedy, 0,
                    failure_kind::refused);
}

}  // namespace gpuhist::io
