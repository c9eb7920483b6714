#include "gpu/cuda/frames/text_hasher.hpp"

#include "gpu/cuda/error.hpp"

#include <algorithm>

namespace gpuhist::gpu::cuda::frames {

using namespace zstd;  // its phases serve gzip, too

namespace {

// Multiples of the stripes of the hash. Copying a piece takes less time than hashing it.
constexpr std::uint64_t piece_bytes = std::uint64_t{2} << 20U;
constexpr std::uint64_t chunk_bytes = 4 * piece_bytes;
constexpr std::uint64_t min_multiplied = 4 * chunk_bytes;  // shorter texts would wait longer than they save

}  // namespace

text_hasher::text_hasher(runtime& api, std::uint64_t max_text)
    : api_(api),
      has_products_(max_text >= min_multiplied),
      result_(api, sizeof(decoded_frame)),
      pieces_{pinned_memory(api, std::min(piece_bytes, max_text)), pinned_memory(api, std::min(piece_bytes, max_text))},
      products_(api, has_products_ ? chunks * chunk_bytes : 0),
      stream_(api, stream_priority::urgent),
      polled_(api),
      copied_{event(api), event(api)} {}

std::uint64_t text_hasher::hash(const hashed_text& text, std::uint64_t text_room) {
  progress of{.of = text, .multiplies = text_room >= min_multiplied};
  piecewise_xxh64 hash(of.multiplies);
  add(of, hash);
  return hash.finish();
}

std::uint64_t text_hasher::add(const hashed_text& text, piecewise_xxh64& to) {
  progress of{.of = text, .multiplies = multiplies()};
  return add(of, to);
}

std::uint64_t text_hasher::add(progress& of, piecewise_xxh64& to) {
  poll(of);
  std::uint64_t copied = 0;
  std::size_t before = 0;  // bytes of the piece that was copied last
  for (unsigned which = 0;; which = 1 - which) {
    const std::size_t next = next_piece(of, copied);
    if (next > 0) take_piece(of, copied, next, which);
    if (before > 0) {
      copied_[1 - which].wait();
      to.add(pieces_[1 - which].as<std::uint8_t>(), before);
    }
    if (next == 0) return copied;
    copied += next;
    before = next;
  }
}

// Bytes that are to be hashed.
std::uint64_t text_hasher::progress::written() const {
  const std::uint64_t bytes = now.written - std::min<std::uint64_t>(now.written, of.begin);
  return now.is_executed == 0 || of.is_last ? bytes : bytes / xxh64::stripe_bytes * xxh64::stripe_bytes;
}

// The kernels may change it at the same time.
void text_hasher::poll(progress& of) {
  copy_to_host(result_.as<void>(), of.of.result, sizeof(decoded_frame));
  polled_.record(stream_);
  polled_.wait();
  of.now = *result_.as<decoded_frame>();
}

// Waits until it is written.
std::size_t text_hasher::next_piece(progress& of, std::uint64_t copied) {
  while (of.now.is_executed == 0 && of.written() < copied + piece_bytes) poll(of);
  if (of.multiplies) multiply_ahead(of, copied);
  return std::min<std::uint64_t>(piece_bytes, of.written() - copied);
}

// Chunks that are written, up to the one whose place in the memory is that of the piece that is still being copied.
void text_hasher::multiply_ahead(progress& of, std::uint64_t copied) {
  const std::uint64_t kept = copied == 0 ? 0 : (copied - piece_bytes) / chunk_bytes * chunk_bytes;
  bool may_poll = true;
  while (of.multiplied + chunk_bytes <= kept + chunks * chunk_bytes) {
    if (of.now.is_executed == 0 && of.written() < of.multiplied + chunk_bytes) {
      if (of.multiplied > copied && !may_poll) break;  // there is a chunk already
      poll(of);
      may_poll = false;
      continue;
    }
    if (of.written() <= of.multiplied) break;
    const std::uint64_t bytes = std::min<std::uint64_t>(chunk_bytes, of.written() - of.multiplied);
    const product_launch launch{.words = reinterpret_cast<const std::uint64_t*>(of.text_at(of.multiplied)),
                                .products = reinterpret_cast<std::uint64_t*>(products_at(of.multiplied)),
                                .count = bytes / xxh64::stripe_bytes * xxh64::accumulators};
    if (launch.count > 0) {
      check(api_, api_.multiply_words(launch, stream_.get()), "multiplying text (cudaLaunchKernelExC)");
    }
    of.multiplied += bytes;
  }
}

std::uint8_t* text_hasher::products_at(std::uint64_t text_at) const {
  return products_.as<std::uint8_t>() + text_at % (chunks * chunk_bytes);
}

// As piecewise_xxh64 needs it.
void text_hasher::take_piece(const progress& of, std::uint64_t copied, std::size_t bytes, unsigned which) {
  const std::size_t whole = of.multiplies ? bytes / xxh64::stripe_bytes * xxh64::stripe_bytes : 0;
  auto* const to = pieces_[which].as<std::uint8_t>();
  copy_to_host(to, products_at(copied), whole);
  copy_to_host(to + whole, of.text_at(copied + whole), bytes - whole);
  copied_[which].record(stream_);
}

void text_hasher::copy_to_host(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  check(api_, api_.copy_to_host(to, from, bytes, stream_.get()), "copying text to the host (cudaMemcpyAsync)");
}

}  // namespace gpuhist::gpu::cuda::frames
