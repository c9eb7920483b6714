// The first bytes of an input, and what they say: which format it is in, and whether it is an archive, whatever it is
// compressed in.
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
#include <optional>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// For one coroutine, input by input.
class head_reader {
 public:
  using bytes = std::vector<std::byte>;

  struct executors {
    async::executor& pool;       ///< where files are read
    async::event_loop& streams;  ///< where streams are read
  };

  head_reader(const run_plan& what, const executors& where, decode_contexts& contexts, feed_notes& notes);

  /// As many as decide the format. Fewer where there are no more, or after a stop. Throws input_error.
  async::task<bytes> first_bytes(io::source& source);

  /// Whether members are to be looked for. What is compressed is looked into, unless its name says so; `head` grows by
  /// what had to be read for that. Throws input_error.
  async::task<bool> is_archive(const std::string& name, io::source& source, bytes& head, const io::format& format);

  /// The archive that --input-format insists on.
  [[nodiscard]] std::optional<io::archive_kind> forced_archive() const;

 private:
  [[nodiscard]] bool takes_archives() const;
  async::task<bytes> read_first(io::source& source);
  async::task<std::size_t> read_more(io::source& source, bytes& head);
  async::task<bytes> decoded_head(io::source& source, bytes& head, const io::format& format);
  io::decoder& decoder_for(const io::format& format);

  const run_plan& plan_;
  const executors where_;
  decode_contexts& contexts_;
  feed_notes& notes_;
  std::unique_ptr<io::decoder> decoder_;
  const io::format* decoder_of_ = nullptr;
};

}  // namespace gpuhist::pipeline
