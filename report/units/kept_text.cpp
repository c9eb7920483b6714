#include "report/units/kept_text.hpp"

#include <utility>

namespace gpuhist::report::units {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20U;

}  // namespace

kept_text::kept_text(const filtering& how, buffer room)
    : open_(std::make_unique<pipeline::spilled_bytes>(how.in_memory, how.spilled_to)),
      closed_(std::make_unique<pipeline::spilled_bytes>(how.in_memory, how.spilled_to)),
      ready_(std::move(room)) {}

void kept_text::add_open(std::span<const std::byte> text) {
  if (!text.empty()) open_->append({reinterpret_cast<const char*>(text.data()), text.size()});
}

void kept_text::close(bool is_kept, use when) {
  if (is_kept && when == use::next) return std::swap(open_, closed_);  // everything before was taken
  for (std::uint64_t at = 0; is_kept && at < open_->size();) {
    const std::string piece = open_->read(at, piece_bytes);
    add(std::as_bytes(std::span(piece)));
    at += piece.size();
  }
  open_->cut_back(0);
}

void kept_text::add(std::span<const std::byte> text) { ready_.append(text); }

void kept_text::remove(std::span<const part> parts) {
  if (parts.empty()) return;
  buffer remaining = std::move(given_);
  remaining.clear();
  std::size_t at = 0;
  for (const part& each : parts) {
    remaining.append(ready_.bytes().subspan(at, each.at - at));
    at = each.at + each.bytes;
  }
  remaining.append(ready_.bytes().subspan(at));
  given_ = std::exchange(ready_, std::move(remaining));
  given_.clear();
}

std::span<const std::byte> kept_text::next() {
  if (closed_->size() > 0) {
    piece_ = closed_->read(taken_, piece_bytes);
    taken_ += piece_.size();
    if (!piece_.empty()) return std::as_bytes(std::span(piece_));
    closed_->cut_back(0);
    taken_ = 0;
  }
  given_.clear();
  given_.swap(ready_);
  return given_.bytes();
}

}  // namespace gpuhist::report::units
