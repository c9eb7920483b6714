// gpuhist::text_rewriter.
#include "library/errors.hpp"
#include "report/texts/characters.hpp"
#include "report/texts/rewriting.hpp"
#include "report/texts/text_reader.hpp"

#include <gpuhist/errors.hpp>
#include <gpuhist/units.hpp>

#include <span>
#include <utility>

namespace gpuhist {

struct text_rewriter::state {
  explicit state(std::vector<report::texts::rewriting_step> parsed) : steps(std::move(parsed)), rewriter(steps) {
    for (const report::texts::rewriting_step& each : steps) found.push_back({.name = each.name, .step = each.typed});
  }

  const std::vector<report::texts::rewriting_step> steps;
  report::texts::text_rewriter rewriter;  // borrows them
  std::vector<rewriting_step> found;
  std::string room;
};

text_rewriter::text_rewriter(const std::vector<std::string>& steps) {
  translated([&] {
    std::vector<report::texts::rewriting_step> parsed;
    for (const std::string& each : steps) parsed.push_back(report::texts::parse_rewriting_step(each));
    state_ = std::make_unique<state>(std::move(parsed));
  });
}

text_rewriter::text_rewriter(text_rewriter&&) noexcept = default;
text_rewriter& text_rewriter::operator=(text_rewriter&&) noexcept = default;
text_rewriter::~text_rewriter() = default;

std::string text_rewriter::rewrite(std::string_view text) {
  return translated([&] {
    state& mine = *state_;
    const std::string_view readable = report::texts::as_utf8(text, mine.room);
    if (readable.size() > report::texts::text_reader::max_bytes) {
      throw error(errc::invalid_argument, "rewrite: a text of 2 GiB or more; divide it");
    }
    std::string made;
    mine.rewriter.rewrite(readable, made);
    const std::vector<report::texts::step_count> removed = mine.rewriter.take_counts();
    for (std::size_t i = 0; i < removed.size(); ++i) {
      mine.found[i].lines += removed[i].lines;
      mine.found[i].bytes += removed[i].bytes;
    }
    if (text.size() > report::texts::text_reader::kept_bytes) mine.rewriter.release();
    return made;
  });
}

std::vector<rewriting_step> text_rewriter::steps() const { return state_->found; }

}  // namespace gpuhist
