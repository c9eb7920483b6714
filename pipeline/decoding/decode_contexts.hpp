// What decoding needs beside its input, as often as there are decoders at work at once: a decoder that keeps its memory
// from one group of frames to the next, and a cutter for the text that it gives.
#pragma once

#include "io/decoder.hpp"
#include "io/format.hpp"
#include "pipeline/collector.hpp"
#include "pipeline/cutter.hpp"
#include "pipeline/decoding/memory_budget.hpp"
#include "pipeline/ring.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace gpuhist::pipeline {

/// Of one task at a time.
class decode_context {
 public:
  /// `large_windows`: for windows larger than limits.granted_bytes.
  decode_context(ring& slots, collector& counted, io::decoder_limits limits, memory_budget& large_windows)
      : cut(slots, counted), limits_(std::move(limits)), budget_(large_windows) {}

  /// A decoder of the format, to be restarted. Throws std::bad_alloc.
  io::decoder& decoder_for(const io::format& format);

  /// The decoder of decoder_for(), which is wanted longer than the context: the next one is a new one.
  std::shared_ptr<const io::decoder> keep_decoder();

  /// Waits until the decoder may have the window that it wants, and tells it.
  boost::asio::awaitable<void> grant_window();

  /// What was granted is given back, and the decoder's memory with it.
  void give_back_window();

  cutter cut;

 private:
  const io::decoder_limits limits_;
  memory_budget& budget_;
  std::uint64_t granted_ = 0;  // of the budget
  const io::format* format_ = nullptr;
  std::shared_ptr<io::decoder> decoder_;
};

/// A fixed number of contexts. acquire() and release() are thread-safe; who waits first is served first.
class decode_contexts {
 public:
  /// `window_bytes`: memory for the windows of all of them. Each has a part of it for itself, enough for what most
  /// archives need; the rest is for those that need more, as many at once as it suffices for.
  decode_contexts(std::size_t number, std::uint64_t window_bytes, std::shared_ptr<const io::zstd_dictionary> dictionary,
                  ring& slots, collector& counted, const boost::asio::any_io_executor& executor);

  boost::asio::awaitable<decode_context*> acquire();
  void release(decode_context& done);

  /// Seals what all of their cutters have, whether they are in use or not. Thread-safe.
  void flush(std::vector<cut_mark>& marks);

  [[nodiscard]] std::size_t size() const { return contexts_.size(); }

 private:
  using channel = boost::asio::experimental::concurrent_channel<void(boost::system::error_code, decode_context*)>;

  memory_budget large_windows_;
  std::deque<decode_context> contexts_;
  channel free_;
};

}  // namespace gpuhist::pipeline
