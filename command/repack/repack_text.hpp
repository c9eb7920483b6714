// The text of several inputs in sequence, of any compressed format. The threads of the pool decode ahead what can be
// decoded so (decoded_bytes).
#pragma once

#include "async/event_loop.hpp"
#include "async/semaphore.hpp"
#include "command/repack/repack.hpp"
#include "io/source.hpp"
#include "pipeline/flow/decoding/block_reader.hpp"
#include "pipeline/flow/statistics/feed_notes.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace gpuhist::command {

/// Used by one thread, which it blocks while an input has no bytes. Destroyed before its executors.
class repack_text {
 public:
  /// `streams`: the executor that reads pipes, sockets and terminals, on another thread. `notes`: count the bytes of
  /// the inputs as they are read; they outlive both executors.
  repack_text(const repack_plan& planned, async::executor& pool, async::event_loop& streams,
              pipeline::feed_notes& notes, std::stop_token stop);
  repack_text(const repack_text&) = delete;
  repack_text& operator=(const repack_text&) = delete;
  ~repack_text();

  /// Fills `out` with the next text. Returns less than its size only if the last input has ended, or after a stop.
  /// Throws std::runtime_error that names the input that cannot be read, is damaged or is incomplete.
  std::size_t read(std::span<std::byte> out);

  /// Of the inputs that were read, each with the name of its input. Valid after close().
  [[nodiscard]] const std::vector<std::string>& notices() const { return notices_; }

  /// Ends the reading ahead. Must be called: otherwise its coroutine waits forever.
  void close();

 private:
  struct open_input;

  void open(const std::string& name);
  void begin_decoding(const io::format& format);

  const repack_plan& plan_;
  const io::decoder_limits limits_;  // of each decoder
  async::executor& pool_;
  async::event_loop& streams_;
  pipeline::feed_notes& notes_;
  const std::stop_token stop_;
  const std::shared_ptr<pipeline::block_pool> blocks_;
  async::semaphore memory_;  // bytes, for parts that are decoded ahead and for larger windows
  std::size_t next_input_ = 0;
  std::unique_ptr<open_input> current_;
  std::vector<std::string> notices_;
};

}  // namespace gpuhist::command
