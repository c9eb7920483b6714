// The text of several inputs in sequence, of any compressed format: read ahead in blocks, and decoded in order by one
// decoder at a time.
#pragma once

#include "async/event_loop.hpp"
#include "async/task.hpp"
#include "command/repack/repack.hpp"
#include "io/decoder.hpp"
#include "io/format.hpp"
#include "io/source.hpp"
#include "pipeline/flow/decoding/block_reader.hpp"
#include "pipeline/flow/statistics/stage_clock.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// Used by one coroutine at a time, on the pool. Destroyed before its executors.
class repack_text {
 public:
  /// `streams`: the executor that reads pipes, sockets and terminals. `clock`: counts the bytes of the inputs as they
  /// are read; it outlives both executors.
  repack_text(const repack_plan& planned, async::executor& pool, async::event_loop& streams, stage_clock& clock,
              std::stop_token stop);
  repack_text(const repack_text&) = delete;
  repack_text& operator=(const repack_text&) = delete;
  ~repack_text();

  /// Fills `out` with the next text. Returns less than its size only if the last input has ended, or after a stop.
  /// Throws std::runtime_error that names the input that cannot be read, is damaged or is incomplete.
  async::task<std::size_t> read(std::span<std::byte> out);

  /// Of the inputs that were read, each with the name of its input. Valid after close().
  [[nodiscard]] const std::vector<std::string>& notices() const { return notices_; }

  /// Ends the reading ahead. Must be called: otherwise its coroutine waits in the pool forever.
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
  std::vector<std::string> notices_;
};

}  // namespace gpuhist::pipeline
