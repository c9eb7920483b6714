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
  std::shared_ptr<transfer> first = take_expected(url);
  const std::shared_ptr<transfers> by = started();
  if (first) {
    by->wait(*first);
    // a stream that waits to be read may be ended by its server
    if (as_stream || std::exchange(first->stream(), {})) first.reset();
  }
  if (!first) first = by->start({.url = url, .end = block_bytes, .in_full = as_stream});
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

void client::expect(const std::string& url) {
  if (!refusal_of(url).empty()) return;
  const std::shared_ptr<transfers> by = started();
  const std::scoped_lock lock(mutex_);
  if (expected_.size() < options_.ahead_bytes / block_bytes) {
    expected_.emplace(url, by->start({.url = url, .end = block_bytes}));
  }
}

std::shared_ptr<transfer> client::take_expected(const std::string& url) {
  const std::scoped_lock lock(mutex_);
  const auto found = expected_.find(url);
  if (found == expected_.end()) return nullptr;
  std::shared_ptr<transfer> first = std::move(found->second);
  expected_.erase(found);
  return first;
}

std::shared_ptr<transfers> client::started() {
  const std::scoped_lock lock(mutex_);
  if (!transfers_) transfers_ = std::make_shared<transfers>(options_.stop);
  return transfers_;
}

traffic client::measured() const {
  const std::scoped_lock lock(mutex_);
  return transfers_ ? transfers_->measured() : traffic();
}

}  // namespace gpuhist::io::http
