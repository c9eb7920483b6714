#include "library/window.hpp"

#include "library/scheme_counts.hpp"
#include "pipeline/counts/partitioning.hpp"

#include <utility>

namespace gpuhist {
namespace {

std::string_view text_of(const pipeline::source_name& name) {
  return name ? std::string_view(*name) : std::string_view();
}

}  // namespace

window::window(std::shared_ptr<const state> shared) : state_(std::move(shared)) {}
window::window(const window&) = default;
// A move is a copy, so that no object is without counts. NOLINTNEXTLINE(performance-move-constructor-init)
window::window(window&& other) noexcept : state_(other.state_) {}
window& window::operator=(const window&) = default;
window& window::operator=(window&& other) noexcept { return *this = std::as_const(other); }
window::~window() = default;

const window::state& window::shared() const noexcept { return *state_; }

std::uint64_t window::index() const { return state_->content.head.index; }

std::string_view window::input() const { return text_of(state_->content.head.source); }

std::string_view window::last_input() const {
  const pipeline::window_head& head = state_->content.head;
  return text_of(head.last_source ? head.last_source : head.source);
}

std::uint64_t window::first_offset() const { return state_->content.head.first_offset; }

std::uint64_t window::end_offset() const { return state_->content.head.end_offset; }

std::optional<line_range> window::line_numbers() const {
  const std::optional<pipeline::line_range>& found = state_->content.lines;
  if (!found) return std::nullopt;
  return line_range{.first = found->first, .last = found->last};
}

window::time_point window::start_time() const { return state_->content.head.start; }

window::time_point window::end_time() const { return state_->content.head.end; }

window::end window::end_reason() const {
  switch (state_->content.head.end_reason) {
    case pipeline::window_end::full:
      return end::full;
    case pipeline::window_end::input:
      return end::input;
    case pipeline::window_end::error:
      break;
  }
  return end::error;
}

std::string_view window::error() const { return state_->content.head.error; }

bool window::verified() const { return state_->content.head.verified; }

std::uint64_t window::bytes() const { return state_->content.counts.bytes(); }

std::uint64_t window::lines() const { return pipeline::lines_in(state_->content.counts, state_->frame->partition); }

std::vector<std::uint64_t> window::counts(std::string_view scheme) const {
  return find_scheme(*state_->frame, scheme).fold(state_->content.counts);
}

std::vector<std::uint64_t> window::pairs(std::string_view scheme) const {
  return pairs_of(*state_->frame, state_->content.counts, scheme);
}

measurement window::measure(std::string_view name) const {
  const auto& baseline = state_->baseline;
  return measure_of(*state_->frame, state_->content.counts, name, baseline ? &*baseline : nullptr);
}

}  // namespace gpuhist
