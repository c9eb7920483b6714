#include "io/http/remote_object.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::io::http {
namespace {

constexpr unsigned max_ahead = 16;        // blocks
constexpr unsigned ahead_of_first = 4;    // most objects are read from their begin to their end
constexpr std::size_t max_kept = 48;      // blocks of one object
constexpr std::uint64_t looked_back = 4;  // threads read blocks in about their order

std::uint64_t end_of(std::uint64_t number, std::uint64_t size) { return std::min(size, (number + 1) * block_bytes); }

}  // namespace

remote_object::remote_object(std::shared_ptr<transfers> by, std::string url, std::shared_ptr<transfer> first,
                             std::shared_ptr<std::atomic<std::uint64_t>> held, std::uint64_t ahead_bytes)
    : by_(std::move(by)),
      url_(std::move(url)),
      version_(std::make_shared<object_version>(first->version())),
      held_(std::move(held)),
      ahead_bytes_(ahead_bytes) {
  blocks_.emplace(0, block{.content = std::move(first)});
  *held_ += block_bytes;
}

remote_object::~remote_object() {
  while (!blocks_.empty()) drop(blocks_.begin());
}

std::size_t remote_object::read_at(std::span<std::byte> out, std::uint64_t offset) const {
  std::size_t filled = 0;
  while (filled < out.size() && offset < version_->size && offset + filled < version_->size) {
    const std::uint64_t here = offset + filled;
    const std::uint64_t number = here / block_bytes;
    const std::shared_ptr<transfer> content = take(number);
    by_->wait(*content);
    const std::span<const std::byte> bytes = content->bytes().subspan(here - number * block_bytes);
    const std::size_t copied = std::min(bytes.size(), out.size() - filled);
    std::ranges::copy(bytes.first(copied), out.begin() + static_cast<std::ptrdiff_t>(filled));
    filled += copied;
    note_read(number, copied);
  }
  return filled;
}

std::shared_ptr<transfer> remote_object::take(std::uint64_t number) const {
  const std::scoped_lock lock(mutex_);
  block& wanted = add(number);
  wanted.last_use = ++uses_;
  if (wanted.ahead == 0) {
    unsigned before = 0;
    for (auto near = blocks_.lower_bound(number - std::min(number, looked_back)); near->first < number; ++near) {
      before = std::max(before, near->second.ahead);
    }
    wanted.ahead = std::clamp(2 * before, number == 0 ? ahead_of_first : 1U, max_ahead);
  }
  std::shared_ptr<transfer> content = wanted.content;
  request_ahead(number, wanted.ahead);
  return content;
}

remote_object::block& remote_object::add(std::uint64_t number) const {
  if (const auto known = blocks_.find(number); known != blocks_.end()) return known->second;
  std::shared_ptr<transfer> content = by_->start(
      {.url = url_, .begin = number * block_bytes, .end = end_of(number, version_->size), .version = version_});
  if (blocks_.size() >= max_kept) {
    drop(std::ranges::min_element(blocks_, {}, [](const auto& each) { return each.second.last_use; }));
  }
  *held_ += block_bytes;
  return blocks_.emplace(number, block{.content = std::move(content), .last_use = ++uses_}).first->second;
}

void remote_object::request_ahead(std::uint64_t number, unsigned blocks) const {
  for (std::uint64_t next = number + 1; next <= number + blocks && next * block_bytes < version_->size; ++next) {
    if (blocks_.contains(next)) continue;
    if (*held_ + block_bytes > ahead_bytes_) return;
    add(next);
  }
}

// A block that was read is dropped, but for the two that were read last: the beginning of an object is read twice.
void remote_object::note_read(std::uint64_t number, std::uint64_t bytes) const {
  constexpr std::ptrdiff_t kept = 2;
  const std::scoped_lock lock(mutex_);
  const auto which = blocks_.find(number);
  if (which == blocks_.end()) return;
  which->second.read += bytes;
  const auto is_read = [&](const auto& each) {
    return each.second.read >= end_of(each.first, version_->size) - each.first * block_bytes;
  };
  if (!is_read(*which) || std::ranges::count_if(blocks_, is_read) <= kept) return;
  auto oldest = blocks_.end();
  for (auto each = blocks_.begin(); each != blocks_.end(); ++each) {
    if (is_read(*each) && (oldest == blocks_.end() || each->second.last_use < oldest->second.last_use)) oldest = each;
  }
  drop(oldest);
}

void remote_object::drop(std::map<std::uint64_t, block>::iterator which) const {
  // a thread may still wait for a block that was not received
  if (which->second.content.use_count() <= 2) transfers::abandon(*which->second.content);
  blocks_.erase(which);
  *held_ -= block_bytes;
}

}  // namespace gpuhist::io::http
