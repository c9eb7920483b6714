// Opens inputs on HTTP servers. An object whose server answers ranges is read at any offset, by any thread, as a file
// is; any other one is a stream. A build without libcurl has client_absent.cpp, which refuses all addresses.
#pragma once

#include "io/source.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

namespace gpuhist::io::http {

class transfer;
class transfers;

/// Of all objects.
struct traffic {
  std::uint64_t objects = 0;   ///< that were opened
  std::uint64_t requests = 0;  ///< repeated ones included
  std::uint64_t retries = 0;
  std::uint64_t bytes = 0;  ///< of contents that were received
};

/// Thread-safe. Owns one thread, which exists from the first call of open() on and does all transfers.
class client {
 public:
  struct settings {
    std::uint64_t ahead_bytes = std::uint64_t{64} << 20U;  ///< limit of what is read ahead, of all objects
    std::stop_token stop{};                                ///< ends all waiting: with an error of kind `stopped`
  };

  explicit client(settings options);

  /// Sources that are still open can be read no more.
  ~client();

  client(const client&) = delete;
  client& operator=(const client&) = delete;

  /// `as_stream`: also an object that can be read at any offset becomes a stream, on `executor`. Waits for the answer
  /// of the server. Throws input_error.
  source open(const std::string& url, const boost::asio::any_io_executor& executor, bool as_stream);

  /// Begins the first request of an address that open() is called with soon, unless many are expected already. The
  /// answer of the server is then waited for while earlier inputs are read.
  void expect(const std::string& url);

  [[nodiscard]] traffic measured() const;

 private:
  std::shared_ptr<transfers> started();
  std::shared_ptr<transfer> take_expected(const std::string& url);

  const settings options_;
  mutable std::mutex mutex_;
  const std::shared_ptr<std::atomic<std::uint64_t>> held_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::multimap<std::string, std::shared_ptr<transfer>> expected_;
  std::shared_ptr<transfers> transfers_;  // null: nothing was opened
};

}  // namespace gpuhist::io::http
