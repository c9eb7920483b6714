// Feeds the ring: opens every input in turn, settles its format, and has its text put into slots, by plain_files, by a
// decoder, or read from a stream. What fails is the input's error in the rolling counts; the others are still fed.
#pragma once

#include "io/decoder.hpp"
#include "io/source.hpp"
#include "pipeline/block_reader.hpp"
#include "pipeline/cutter.hpp"
#include "pipeline/feed_notes.hpp"
#include "pipeline/plain_files.hpp"
#include "pipeline/plan.hpp"
#include "pipeline/ring.hpp"
#include "pipeline/rolling_counts.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

class feeder {
 public:
  /// `streams`: the executor of one thread, on which pipes and the like are read; `pool`: where files are read and
  /// frames decoded.
  struct executors {
    boost::asio::any_io_executor pool;
    boost::asio::any_io_executor streams;
  };

  feeder(const plan& what, const executors& where, cutter& cut, rolling_counts& counts, feed_notes& notes,
         std::stop_token stop);

  /// Feeds all inputs and flushes the last slot. On the pool. Throws only for what no input is to blame for.
  boost::asio::awaitable<void> feed_all();

 private:
  using shared_source = std::shared_ptr<io::source>;
  using bytes = std::vector<std::byte>;

  // One compressed input on its way through its decoder.
  struct decoding {
    input_id input = 0;
    io::decoder& decoder;
    frame_id frame = 0;
    std::uint64_t frame_bytes = 0;  // of text, so far
    std::uint64_t fed = 0;          // of text, of all frames
  };

  boost::asio::awaitable<void> feed(input_id input);
  boost::asio::awaitable<bytes> head_of(io::source& source);
  void note_manner(const io::source& source, bool is_raw);
  boost::asio::awaitable<void> feed_stream(input_id input, shared_source source, bytes head);
  boost::asio::awaitable<void> put(input_id input, std::span<const std::byte> text);
  boost::asio::awaitable<void> read_stream(input_id input, io::stream_source& stream);
  boost::asio::awaitable<void> feed_decoded(input_id input, shared_source source, bytes head);
  boost::asio::awaitable<std::string> decode(decoding& task, block_reader& blocks);
  boost::asio::awaitable<std::string> decode_block(decoding& task, std::span<const std::byte> in);
  io::fill_result fill(decoding& task, std::span<const std::byte> in, const place& where);
  void conclude(decoding& task, bool verified);

  const plan& plan_;
  executors where_;
  cutter& cutter_;
  rolling_counts& counts_;
  feed_notes& notes_;
  std::stop_token stop_;
  plain_files files_;
  frame_id last_frame_ = 0;
};

}  // namespace gpuhist::pipeline
