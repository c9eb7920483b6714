// What decoding needs beside its input, as often as there are decoders at work at once: a decoder that keeps its memory
// from one group of frames to the next, and a cutter for the text that it gives.
#pragma once

#include "io/decoder.hpp"
#include "io/format.hpp"
#include "pipeline/collector.hpp"
#include "pipeline/cutter.hpp"
#include "pipeline/ring.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

namespace gpuhist::pipeline {

/// Of one task at a time.
class decode_context {
 public:
  decode_context(ring& slots, collector& counted, const io::decoder_limits& limits)
      : cut(slots, counted), limits_(limits) {}

  /// A decoder of the format, to be restarted. Throws std::bad_alloc.
  io::decoder& decoder_for(const io::format& format);

  /// The decoder of decoder_for(), which is wanted longer than the context: the next one is a new one.
  std::shared_ptr<const io::decoder> keep_decoder() { return std::move(decoder_); }

  cutter cut;

 private:
  const io::decoder_limits limits_;
  const io::format* format_ = nullptr;
  std::shared_ptr<io::decoder> decoder_;
};

/// A fixed number of contexts. acquire() and release() are thread-safe; who waits first is served first.
class decode_contexts {
 public:
  decode_contexts(std::size_t number, ring& slots, collector& counted, const io::decoder_limits& limits,
                  const boost::asio::any_io_executor& executor);

  boost::asio::awaitable<decode_context*> acquire();
  void release(decode_context& done);

  /// Seals what all of their cutters have, whether they are in use or not. Thread-safe.
  void flush(std::vector<cut_mark>& marks);

  [[nodiscard]] std::size_t size() const { return contexts_.size(); }

 private:
  using channel = boost::asio::experimental::concurrent_channel<void(boost::system::error_code, decode_context*)>;

  std::deque<decode_context> contexts_;
  channel free_;
};

}  // namespace gpuhist::pipeline
