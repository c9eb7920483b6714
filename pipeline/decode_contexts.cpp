#include "pipeline/decode_contexts.hpp"

#include <boost/asio/use_awaitable.hpp>

namespace gpuhist::pipeline {
namespace asio = boost::asio;
using boost::system::error_code;

io::decoder& decode_context::decoder_for(const io::format& format) {
  if (!decoder_ || format_ != &format) decoder_ = format.make_decoder(limits_);
  format_ = &format;
  return *decoder_;
}

decode_contexts::decode_contexts(std::size_t number, ring& slots, collector& counted, const io::decoder_limits& limits,
                                 const asio::any_io_executor& executor)
    : free_(executor, number) {
  for (std::size_t i = 0; i < number; ++i) {
    free_.try_send(error_code{}, &contexts_.emplace_back(slots, counted, limits));
  }
}

asio::awaitable<decode_context*> decode_contexts::acquire() {
  co_return co_await free_.async_receive(asio::use_awaitable);
}

void decode_contexts::release(decode_context& done) { free_.try_send(error_code{}, &done); }

void decode_contexts::flush(std::vector<cut_mark>& marks) {
  for (decode_context& each : contexts_) marks.push_back(each.cut.flush());
}

}  // namespace gpuhist::pipeline
