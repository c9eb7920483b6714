#include "io/log_identity.hpp"

#define XXH_INLINE_ALL  // no library has to be linked
#include <xxhash.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

namespace gpuhist::io {
namespace {

std::string hash_of(std::span<const std::byte> bytes) {
  XXH128_canonical_t made{};
  XXH128_canonicalFromHash(&made, XXH3_128bits(bytes.data(), bytes.size()));
  return {reinterpret_cast<const char*>(made.digest), sizeof made.digest};
}

std::size_t head_bytes_of(std::uint64_t bytes) { return std::min<std::uint64_t>(bytes, log_edge_bytes); }

std::string hash_at(const file_source& file, std::uint64_t offset, std::size_t bytes) {
  std::array<std::byte, log_edge_bytes> buffer{};
  const std::span<std::byte> part = std::span(buffer).first(bytes);
  const std::size_t read = file.read_at(part, offset);
  if (read < bytes) throw truncated_file(offset + bytes, offset + read, offset + read);
  return hash_of(part);
}

std::vector<std::byte> front_of(const file_source& file) {
  std::vector<std::byte> front(head_bytes_of(file.size_hint()));
  front.resize(file.read_at(front, 0));
  return front;
}

// The text of a compressed file, from its beginning. It ends before damage.
class decoded_text {
 public:
  decoded_text(const file_source& file, const format& from, const decoder_limits& limits)
      : file_(file), decoder_(from.make_decoder(limits)) {
    decoder_->restart({});
  }

  // Fills `out`; false: the text ends before.
  bool fill(std::span<std::byte> out) {
    while (!out.empty()) {
      const bool is_end = front_.empty() && !read_more();
      const fill_result result = decoder_->fill(front_, out);
      front_ = front_.subspan(result.consumed);
      out = out.subspan(result.produced);
      if (result.status == fill_status::failed || (is_end && result.produced == 0)) return out.empty();
    }
    return true;
  }

 private:
  bool read_more() {
    const std::size_t size = file_.read_at(buffer_, offset_);
    offset_ += size;
    front_ = std::span(buffer_).first(size);
    return size > 0;
  }

  const file_source& file_;
  std::unique_ptr<decoder> decoder_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(std::size_t{64} << 10U);
  std::span<const std::byte> front_;
  std::uint64_t offset_ = 0;
};

}  // namespace

log_file::log_file(const std::string& name, bool follow_links, const format* forced, decoder_limits limits)
    : file_(open_regular(name, follow_links)),
      front_(front_of(file_)),
      format_(forced != nullptr ? forced : &identify(name, front_, nullptr).format),
      limits_(std::move(limits)) {}

std::string log_file::head_of(std::uint64_t bytes) const {
  const std::size_t size = head_bytes_of(bytes);
  if (front_.size() < size) throw truncated_file(bytes, front_.size(), front_.size());
  return hash_of(std::span(front_).first(size));
}

log_identity log_file::identity(std::uint64_t bytes) const {
  log_identity made{.bytes = bytes, .is_plain = format_->make_decoder == nullptr};
  made.head = head_of(bytes);
  if (bytes > log_edge_bytes) made.tail = hash_at(file_, bytes - log_edge_bytes, log_edge_bytes);
  struct statx found{};
  if (::statx(file_.native_handle(), "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &found) != 0) return made;
  constexpr std::int64_t nanoseconds = 1'000'000'000;
  made.inode = found.stx_ino;
  if ((found.stx_mask & STATX_BTIME) != 0) made.born = (found.stx_btime.tv_sec * nanoseconds) + found.stx_btime.tv_nsec;
  return made;
}

std::string log_file::text_head() const {
  if (format_->make_decoder == nullptr) return front_.size() == log_edge_bytes ? hash_of(front_) : std::string();
  std::vector<std::byte> head(log_edge_bytes);
  return decoded_text(file_, *format_, limits_).fill(head) ? hash_of(head) : std::string();
}

bool log_file::continues(const log_identity& earlier) const {
  const bool is_plain = format_->make_decoder == nullptr;
  if (is_plain == earlier.is_plain) return earlier.bytes == 0 ? identity(0).is_file_of(earlier) : stores(earlier);
  return earlier.is_plain && decodes_to(earlier);
}

bool log_file::stores(const log_identity& earlier) const {
  struct stat now{};
  if (::fstat(file_.native_handle(), &now) != 0 || static_cast<std::uint64_t>(now.st_size) < earlier.bytes)
    return false;
  if (head_of(earlier.bytes) != earlier.head) return false;
  return earlier.tail.empty() || hash_at(file_, earlier.bytes - log_edge_bytes, log_edge_bytes) == earlier.tail;
}

bool log_file::decodes_to(const log_identity& earlier) const {
  decoded_text text(file_, *format_, limits_);
  if (std::array<std::byte, 1> any{}; earlier.bytes == 0) return !text.fill(any);
  // the last bytes before a boundary, at the front of the block that is read next
  std::vector<std::byte> block(head_bytes_of(earlier.bytes));
  if (!text.fill(block) || hash_of(block) != earlier.head) return false;
  constexpr std::size_t step = std::size_t{64} << 10U;
  for (std::uint64_t at = block.size(); at < earlier.bytes;) {
    const std::size_t more = std::min<std::uint64_t>(step, earlier.bytes - at);
    block.erase(block.begin(), block.end() - log_edge_bytes);
    block.resize(log_edge_bytes + more);
    if (!text.fill(std::span(block).subspan(log_edge_bytes))) return false;
    at += more;
  }
  return earlier.tail.empty() || hash_of(std::span(block).last(log_edge_bytes)) == earlier.tail;
}

}  // namespace gpuhist::io
