// The text of several inputs, one behind the other, whatever they are compressed with: read ahead in blocks, decoded in
// order by one decoder.
#pragma once

#include "async/event_loop.hpp"
#include "async/task.hpp"
#include "io/decoder.hpp"
#include "io/format.hpp"
#include "io/source.hpp"
#include "pipeline/flow/decoding/block_reader.hpp"
#include "pipeline/flow/statistics/stage_clock.hpp"
#include "pipeline/program/repack/repack.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <stop_token>
#include <string>

namespace gpuhist::pipeline {

/// Used by one coroutine at a time, on the pool. Gone before its executors are.
class repack_text {
 public:
  /// `streams`: where pipes and the like are read. `read`: the bytes of the inputs are
  /// counted in it as they are read; it outlives both executors.
  repack_text(const repack_plan& what, async::executor& pool, async::event_loop& streams, stage_clock& read,
              std::stop_token stop);
  repack_text(const repack_text&) = delete;
  repack_text& operator=(const repack_text&) = delete;
  ~repack_text();

  /// Fills `out` with what comes next; less only where the last input ended, or after a stop. Throws
  /// std::runtime_error that names the input which cannot be read, or is damaged or incomplete.
  async::task<std::size_t> read(std::span<std::byte> out);

  /// Ends the reading ahead, wherever it is. To be called in any case: else its coroutine waits in the pool for ever.
  void close();

 private:
  struct open_input;

  async::task<> open(const std::string& name);
  async::task<const io::format*> find_format(const std::string& name);
  async::task<std::size_t> fill(std::span<std::byte> out);
  async::task<bool> advance();

  const repack_plan& plan_;
  async::executor& pool_;
  async::event_loop& streams_;
  stage_clock& clock_;
  std::stop_token stop_;
  std::shared_ptr<block_pool> blocks_;
  std::size_t next_input_ = 0;
  std::unique_ptr<open_input> current_;
};

}  // namespace gpuhist::pipeline
