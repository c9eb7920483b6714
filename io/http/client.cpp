#include "io/http/client.hpp"

#include "io/http/remote_object.hpp"
#include "io/http/transfers.hpp"
#include "io/http/url.hpp"

#include <utility>

namespace gpuhist::io::http {

client::client(settings options) : options_(std::move(options)) {}

client::~client() {
  if (transfers_) transfers_->close();
}

source client::open(const std::string& url, const boost::asio::any_io_executor& executor, bool as_stream) {
  if (const std::string refusal = refusal_of(url); !refusal.empty()) {
    throw input_error(refusal, 0, failure_kind::refused);
  }
  std::shared_ptr<transfers> by;
  {
    const std::scoped_lock lock(mutex_);
    if (!transfers_) transfers_ = std::make_shared<transfers>(options_.stop);
    by = transfers_;
  }
  std::shared_ptr<transfer> first = by->start({.url = url, .end = block_bytes, .in_full = as_stream});
  by->wait(*first);
  ++by->objects;
  if (!first->stream()) {
    const std::uint64_t size = first->version().size;
    return file_source(std::make_shared<remote_object>(by, url, std::move(first), held_, options_.ahead_bytes), size);
  }
  stream_source stream(executor, std::move(first->stream()), 0);
  stream.check_end_with([by, first](std::uint64_t position) { by->check_end(*first, position); });
  return stream;
}

traffic client::measured() const {
  const std::scoped_lock lock(mutex_);
  return transfers_ ? transfers_->measured() : traffic();
}

}  // namespace gpuhist::io::http
