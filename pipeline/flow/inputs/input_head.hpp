// Reads the first bytes of an input, and detects from them its format and whether it is an archive, compressed or not.
#pragma once

#include "async/event_loop.hpp"
#include "async/task.hpp"
#include "io/archive/archive_format.hpp"
#include "io/decoder.hpp"
#include "io/format.hpp"
#include "io/source.hpp"
#include "pipeline/flow/decoding/decode_contexts.hpp"
#include "pipeline/flow/run_plan.hpp"
#include "pipeline/flow/statistics/feed_notes.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// Several coroutines may use it, each for another input.
class head_reader {
 public:
  using bytes = std::vector<std::byte>;

  /// `streams`: these are read there, files by the caller.
  head_reader(const run_plan& plan, async::event_loop& streams, decode_contexts& contexts, feed_notes& notes);

  /// The first bytes, as many as the detection of the format needs. Fewer at the end of the input, or after a stop.
  /// Throws input_error.
  async::task<bytes> first_bytes(io::source& source);

  /// As which archive the input is read. Decodes the start of a compressed input to find out. Appends to `head` the
  /// bytes that it had to read. If these are not as the name promises, the walk of the promised archive reports the
  /// cause. Throws input_error.
  async::task<io::settled_archive> find_archive(const std::string& name, io::source& source, bytes& head,
                                                const io::identity& found);

 private:
  async::task<bytes> read_first(io::source& source);
  async::task<std::size_t> read_more(io::source& source, bytes& head, std::size_t size);
  async::task<bytes> decoded_head(io::source& source, bytes& head, const io::format& format);
  async::task<bytes> decode_with(io::decoder& own, io::source& source, bytes& head, const io::format& format);
  std::unique_ptr<io::decoder> take_decoder(const io::format& format);
  void keep(const io::format& format, std::unique_ptr<io::decoder> decoder);

  const run_plan& plan_;
  async::event_loop& streams_;
  decode_contexts& contexts_;
  feed_notes& notes_;

  /// For the next input of the format: making one costs more than decoding a head.
  struct kept_decoder {
    const io::format* format;
    std::unique_ptr<io::decoder> decoder;
  };
  std::mutex mutex_;
  std::vector<kept_decoder> kept_;
};

}  // namespace gpuhist::pipeline
