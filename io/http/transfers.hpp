// Requests to HTTP servers, many at once, by one thread that uses libcurl. A failed request is repeated if that may
// help: from the byte where it ended, after a delay that doubles, and within a limited time.
#pragma once

#include "io/descriptor.hpp"
#include "io/failure.hpp"
#include "io/http/client.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace gpuhist::io::http {

/// What identifies the content of an object.
struct object_version {
  std::uint64_t size = 0;
  std::string tag{};       ///< the ETag; empty: none
  std::string modified{};  ///< Last-Modified; empty: none

  /// The header of a request that fails if the object has changed; empty: the server gave nothing to compare with.
  [[nodiscard]] std::string condition() const;
};

/// The bytes [begin, end) of an object: a request, and what became of it.
class transfer {
 public:
  /// What the caller wants.
  struct wish {
    std::string url{};
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::shared_ptr<const object_version> version{};  ///< of earlier answers. Null: this is the first request
    bool in_full = false;                             ///< the whole object, as a stream
  };

  explicit transfer(wish asked) : asked_(std::move(asked)) {}

  // After transfers::wait(), unless it threw.

  /// The bytes of the range: fewer than were asked for only at the end of the object.
  [[nodiscard]] std::span<const std::byte> bytes() const { return {room_.get(), received_}; }

  /// Of the object.
  [[nodiscard]] const object_version& version() const { return found_; }

  /// The socket that the content is written to. Empty: the answer is a range.
  [[nodiscard]] descriptor& stream() { return reader_; }

 private:
  friend class transfers;
  using clock = std::chrono::steady_clock;

  // The headers of the last answer.
  struct answer {
    long status = 0;
    std::string tag{};
    std::string modified{};
    std::string range{};
    std::optional<std::chrono::seconds> retry_after{};
    std::string text{};        // the beginning of the body of an error
    bool has_content = false;  // the first byte of the range or stream was checked
  };

  const wish asked_;
  std::atomic<bool> abandoned_{false};  // no one waits for it any more

  // Of the thread, until it ends or streams.
  std::unique_ptr<std::byte[]> room_;
  std::size_t received_ = 0;
  answer answer_;
  object_version found_;
  descriptor reader_;
  descriptor writer_;
  std::size_t sent_ahead_ = 0;  // bytes that libcurl delivers again after a pause
  unsigned attempts_ = 0;
  std::optional<clock::time_point> first_failure_;
  clock::time_point due_{};
  std::string refused_;  // why the answer is not accepted; empty: it is
  std::unique_ptr<char[]> curl_text_;
  void* easy_ = nullptr;
  void* headers_ = nullptr;
  class transfers* by_ = nullptr;

  // Guarded by the mutex of transfers.
  bool streams_ = false;
  bool ended_ = false;
  std::optional<input_error> error_;
};

/// Thread-safe.
class transfers {
 public:
  explicit transfers(std::stop_token stop);
  ~transfers();
  transfers(const transfers&) = delete;
  transfers& operator=(const transfers&) = delete;

  /// Begins the request.
  std::shared_ptr<transfer> start(transfer::wish asked);

  /// Waits until it has ended, or streams. Throws input_error, also after a stop.
  void wait(transfer& of);

  /// At the end of the stream: waits until it is known whether it was the end of the content. Throws input_error, with
  /// the position.
  void check_end(transfer& of, std::uint64_t position);

  /// The result is not needed any more.
  static void abandon(transfer& of) noexcept { of.abandoned_ = true; }

  /// Ends the thread. All requests that have not ended fail.
  void close() noexcept;

  [[nodiscard]] traffic measured() const;

  std::atomic<std::uint64_t> objects{0};

 private:
  using clock = transfer::clock;
  using pointer = std::shared_ptr<transfer>;

  void run();
  void take_new();
  void start_due();
  void begin(const pointer& each);
  void finish_attempts();
  void finish(const pointer& each, int result);
  void end(const pointer& each, std::optional<input_error> error);
  void release(transfer& each) noexcept;
  void wait_for_traffic();
  [[nodiscard]] static std::string cause_of(const transfer& each, int result);

  static std::size_t take_header(char* data, std::size_t one, std::size_t size, void* to);
  static std::size_t take_bytes(char* data, std::size_t one, std::size_t size, void* to);
  std::size_t take(transfer& from, std::span<const std::byte> bytes);
  bool accept(transfer& from);
  static bool accept_range(transfer& from);
  static std::size_t send(transfer& from, std::span<const std::byte> bytes);

  const std::stop_token stop_;
  void* multi_ = nullptr;
  std::vector<void*> idle_;       // easy handles
  std::vector<pointer> delayed_;  // wait for the time of their next attempt
  std::vector<pointer> active_;   // known to libcurl
  std::vector<pointer> paused_;   // streams whose socket is full
  std::atomic<std::uint64_t> requests_{0};
  std::atomic<std::uint64_t> retries_{0};
  std::atomic<std::uint64_t> bytes_{0};

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<pointer> new_;
  bool closing_ = false;
  std::jthread thread_;
};

}  // namespace gpuhist::io::http
