#include "pipeline/flow/decoding/decode_contexts.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::pipeline {

io::decoder& decode_context::decoder_for(const io::format& format) {
  if (!decoder_ || format_ != &format) decoder_ = format.make_decoder(limits_);
  format_ = &format;
  return *decoder_;
}

// Text is counted by the thread that decoded it, in chunks that fit into its caches: to wake another thread, which has
// to load the text into its own, takes longer. Counting that takes as long as decoding is left to idle threads.
void decode_context::choose_chunking(const stage_clock& busy) {
  const bool are_idle = busy.now_in_flight < counting_.threads;
  cut.set_chunking(cut.counts_here() && !(are_idle && counting_.is_slow)
                       ? cutter::chunking{.max_bytes = counting_.chunk_bytes, .count_here = true}
                       : cutter::chunking{});
}

std::shared_ptr<const io::decoder> decode_context::keep_decoder() {
  decoder_->grant_window(0);  // frees the memory: only the error text is needed
  return std::move(decoder_);
}

async::task<> decode_context::grant_window(io::decoder& of) {
  const std::uint64_t wanted = of.window_wanted();
  free_large_window(of);
  granted_ = co_await large_windows_.acquire(wanted);
  has_large_window_ = true;
  of.grant_window(wanted);
}

bool decode_context::grant_window_at_once(io::decoder& of) {
  const std::uint64_t wanted = of.window_wanted();
  free_large_window(of);
  granted_ = large_windows_.try_acquire(wanted);
  has_large_window_ = true;
  of.grant_window(wanted);
  return static_cast<bool>(granted_);
}

void decode_context::free_large_window(io::decoder& of) {
  if (!std::exchange(has_large_window_, false)) return;
  decoder_->grant_window(0);
  of.grant_window(0);
  granted_.release();
}

void decode_context::release_window() noexcept {
  if (!std::exchange(has_large_window_, false)) return;
  try {
    if (decoder_) decoder_->grant_window(limits_.granted_bytes);
  } catch (...) {
    decoder_.reset();  // the decoder cannot shrink; the next group makes a new one
  }
  granted_.release();
}

namespace {

// The window of zstd levels up to 19; smaller if there are many decoders and little memory.
std::uint64_t own_window(std::size_t number, std::uint64_t window_bytes) {
  constexpr std::uint64_t usual_window = std::uint64_t{8} << 20U;
  return std::min(usual_window, window_bytes / (4 * number));
}

io::decoder_limits limits_of(const decode_contexts::sizes& of, std::shared_ptr<const io::zstd_dictionary> dictionary) {
  const std::uint64_t own = own_window(of.number, of.window_bytes);
  return {.window_bytes = of.window_bytes - of.number * own,
          .granted_bytes = own,
          .dictionary = std::move(dictionary),
          .besides = of.besides};
}

}  // namespace

decode_contexts::decode_contexts(const sizes& of, std::shared_ptr<const io::zstd_dictionary> dictionary,
                                 const decoded_counting& counting, const stage_clock& decoding, ring& slots,
                                 collector& counted, text_divider* divider)
    : counting_(counting),
      large_windows_(of.window_bytes - of.number * own_window(of.number, of.window_bytes)),
      permits_(of.number - of.reserved),
      reserved_(of.reserved) {
  const io::decoder_limits limits = limits_of(of, std::move(dictionary));
  free_.reserve(of.number);
  for (std::size_t i = 0; i < of.number; ++i) {
    free_.push_back(&contexts_.emplace_back(slots, counted, divider, counting_, decoding, limits, large_windows_));
  }
}

async::task<decode_contexts::lease> decode_contexts::acquire() {
  async::semaphore::permit permit = co_await permits_.acquire();
  co_return lease(*this, std::move(permit));
}

decode_contexts::lease decode_contexts::try_acquire() noexcept {
  async::semaphore::permit permit = permits_.try_acquire();
  return permit ? lease(*this, std::move(permit)) : lease();
}

async::task<decode_contexts::lease> decode_contexts::acquire_reserved() {
  async::semaphore::permit permit = co_await reserved_.acquire();
  co_return lease(*this, std::move(permit));
}

decode_contexts::lease::lease(decode_contexts& owner, async::semaphore::permit permit) noexcept
    : owner_(&owner), permit_(std::move(permit)) {
  const std::scoped_lock lock(owner.mutex_);
  context_ = owner.free_.back();
  owner.free_.pop_back();
}

void decode_contexts::lease::release() noexcept {
  decode_context* const context = std::exchange(context_, nullptr);
  if (context == nullptr) return;
  context->release_window();
  {
    const std::scoped_lock lock(owner_->mutex_);
    owner_->free_.push_back(context);
  }
  permit_.release();
}

std::size_t decode_contexts::free() {
  const std::scoped_lock lock(mutex_);
  return free_.size();
}

void decode_contexts::flush(std::vector<cut_mark>& marks) {
  for (decode_context& each : contexts_) marks.push_back(each.cut.flush());
}

}  // namespace gpuhist::pipeline
