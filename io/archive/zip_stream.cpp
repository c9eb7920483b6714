#include "io/archive/zip_stream.hpp"

#include "io/archive/zip_records.hpp"

#include <algorithm>
#include <string_view>

namespace gpuhist::io {

// A local header with the longest name and extra fields may precede the consumed bytes, and a descriptor precedes it.
void zip_stream::advance(std::span<const std::byte> bytes, std::uint64_t consumed) {
  constexpr std::uint64_t longest = zip_local_bytes + 2 * std::uint64_t{0xFFFF} + sizeof(zip_local::tail);
  const std::uint64_t first = consumed - std::min(consumed, longest);
  const std::uint64_t dropped = std::min<std::uint64_t>(first - std::min(first, kept_at()), kept_.size());
  kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(dropped));
  kept_.insert(kept_.end(), bytes.begin(), bytes.end());
  end_ += bytes.size();
}

std::span<const std::byte> zip_stream::bytes_from(std::uint64_t offset) const {
  const std::uint64_t passed = std::max(offset, kept_at()) - kept_at();
  return std::span(kept_).subspan(static_cast<std::size_t>(std::min<std::uint64_t>(passed, kept_.size())));
}

bool zip_stream::take_header(std::uint64_t begin) {
  for (auto rest = bytes_from(begin); rest.size() >= zip_local_bytes; rest = rest.subspan(1)) {
    if (!has_magic(rest, zip_local_magic)) continue;
    const std::uint64_t at = end_ - rest.size();
    end_member(at);
    members_.push_back(zip_local_of(rest, at));
    return true;
  }
  return false;
}

std::uint64_t zip_stream::take_directory(std::uint64_t begin) {
  auto rest = bytes_from(begin);
  while (!rest.empty() && !has_magic(rest, zip_entry_magic) && !has_magic(rest, zip_end_magic) &&
         !has_magic(rest, zip64_end_magic)) {
    rest = rest.subspan(1);
  }
  const std::uint64_t at = end_ - rest.size();
  end_member(at);
  return at;
}

// Keeps the bytes before the header or directory that follows.
void zip_stream::end_member(std::uint64_t next) {
  if (members_.empty()) return;
  zip_local& last = members_.back();
  const std::uint64_t most = std::min<std::uint64_t>(last.tail.size(), next - std::min(next, last.data_at));
  const std::uint64_t begin = std::max(next - most, kept_at());
  last.tail_bytes = static_cast<std::uint16_t>(next - begin);
  std::copy_n(bytes_from(begin).begin(), last.tail_bytes, last.tail.begin());
}

}  // namespace gpuhist::io
