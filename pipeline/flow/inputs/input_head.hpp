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
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// Used by one coroutine, for one input at a time.
class head_reader {
 public:
  using bytes = std::vector<std::byte>;

  struct executors {
    async::executor& pool;       ///< files are read here
    async::event_loop& streams;  ///< streams are read here
  };

  head_reader(const run_plan& plan, const executors& executor_set, decode_contexts& contexts, feed_notes& notes);

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
  io::decoder& decoder_for(const io::format& format);

  const run_plan& plan_;
  const executors executors_;
  decode_contexts& contexts_;
  feed_notes& notes_;
  std::unique_ptr<io::decoder> decoder_;
  const io::format* decoder_format_ = nullptr;
};

}  // namespace gpuhist::pipeline
