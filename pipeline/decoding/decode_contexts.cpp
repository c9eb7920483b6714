#include "pipeline/decoding/decode_contexts.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <utility>

namespace gpuhist::pipeline {
namespace asio = boost::asio;
using boost::system::error_code;

io::decoder& decode_context::decoder_for(const io::format& format) {
  if (!decoder_ || format_ != &format) decoder_ = format.make_decoder(limits_);
  format_ = &format;
  return *decoder_;
}

std::shared_ptr<const io::decoder> decode_context::keep_decoder() {
  decoder_->grant_window(0);  // its words are wanted, not its memory
  return std::move(decoder_);
}

asio::awaitable<void> decode_context::grant_window() {
  const std::uint64_t wanted = decoder_->window_wanted();
  if (granted_ != 0) {
    decoder_->grant_window(0);
    budget_.release(std::exchange(granted_, 0));
  }
  co_await budget_.acquire(wanted);
  granted_ = wanted;
  decoder_->grant_window(wanted);
}

void decode_context::give_back_window() {
  if (granted_ == 0) return;
  if (decoder_) decoder_->grant_window(limits_.granted_bytes);
  budget_.release(std::exchange(granted_, 0));
}

namespace {

// What zstd's levels up to 19 need; where there are many decoders and little memory, less.
std::uint64_t own_window(std::size_t number, std::uint64_t window_bytes) {
  constexpr std::uint64_t usual_window = std::uint64_t{8} << 20U;
  return std::min(usual_window, window_bytes / (4 * number));
}

io::decoder_limits limits_of(std::size_t number, std::uint64_t window_bytes,
                             std::shared_ptr<const io::zstd_dictionary> dictionary) {
  const std::uint64_t own = own_window(number, window_bytes);
  return {.window_bytes = window_bytes - number * own, .granted_bytes = own, .dictionary = std::move(dictionary)};
}

}  // namespace

decode_contexts::decode_contexts(std::size_t number, std::uint64_t window_bytes,
                                 std::shared_ptr<const io::zstd_dictionary> dictionary, ring& slots, collector& counted,
                                 const asio::any_io_executor& executor)
    : large_windows_(window_bytes - number * own_window(number, window_bytes), executor), free_(executor, number) {
  const io::decoder_limits limits = limits_of(number, window_bytes, std::move(dictionary));
  for (std::size_t i = 0; i < number; ++i) {
    free_.try_send(error_code{}, &contexts_.emplace_back(slots, counted, limits, large_windows_));
  }
}

asio::awaitable<decode_context*> decode_contexts::acquire() {
  co_return co_await free_.async_receive(asio::use_awaitable);
}

void decode_contexts::release(decode_context& done) {
  done.give_back_window();
  free_.try_send(error_code{}, &done);
}

void decode_contexts::flush(std::vector<cut_mark>& marks) {
  for (decode_context& each : contexts_) marks.push_back(each.cut.flush());
}

}  // namespace gpuhist::pipeline
