#include "pipeline/counts/archive_members.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

namespace gpuhist::pipeline {
namespace {

constexpr std::size_t page_members = 512;

std::string_view bytes_of(const std::vector<finished_inputs::location>& all) {
  return {reinterpret_cast<const char*>(all.data()), all.size() * sizeof all.front()};
}

}  // namespace

std::uint32_t archive_members::add(input_id input) {
  rest_.push_back({.input = input});
  ++unfinished_;
  return static_cast<std::uint32_t>(paged_ + rest_.size() - 1);
}

std::optional<std::uint32_t> archive_members::find_waiting(input_id input) const {
  const auto found = std::ranges::lower_bound(rest_, input, {}, &member::input);
  if (found == rest_.end() || found->input != input || found->is != state::waiting) return std::nullopt;
  return static_cast<std::uint32_t>(paged_ + static_cast<std::size_t>(found - rest_.begin()));
}

void archive_members::set_waiting(std::uint32_t position, location spilled) {
  at(position).is = state::waiting;
  at(position).at = spilled;
}

void archive_members::set_open(std::uint32_t position) { at(position).is = state::open; }

void archive_members::finish(std::uint32_t position, location spilled) {
  at(position).is = state::finished;
  at(position).at = spilled;
  --unfinished_;
  while (finished_ < rest_.size() && rest_[finished_].is == state::finished) ++finished_;
  while (finished_ >= page_members) spill_front(page_members);
}

void archive_members::spill_front(std::size_t number) {
  if (number == 0) return;
  std::vector<location> positions;
  positions.reserve(number);
  for (std::size_t i = 0; i < number; ++i) positions.push_back(rest_[i].at);
  spilled_.push_back({});
  try {
    spilled_.back() = {.at = pages_.append(bytes_of(positions)), .members = number};
  } catch (...) {
    spilled_.pop_back();
    throw;
  }
  rest_.erase(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(number));
  paged_ += static_cast<std::uint32_t>(number);
  finished_ -= number;
}

std::vector<archive_members::location> archive_members::read(const page& from) const {
  std::vector<location> positions(from.members);
  const std::string bytes = pages_.read(from.at, from.members * sizeof(location));
  if (bytes.size() != from.members * sizeof(location)) {
    throw std::system_error(EIO, std::system_category(), "the temporary file of the members of archives is truncated");
  }
  std::memcpy(positions.data(), bytes.data(), bytes.size());
  return positions;
}

void archive_members::append_to(finished_inputs& order, std::size_t& appended) {
  spill_rest();
  for (; !spilled_.empty(); spilled_.pop_front()) {
    order.append(read(spilled_.front()));
    appended += spilled_.front().members;
  }
}

}  // namespace gpuhist::pipeline
