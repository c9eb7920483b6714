// Counts what a program feeds.
//
//     gpuhist::counter counts({.schemes = {"letters"}});
//     gpuhist::input log = counts.open_input("log");
//     log.feed(bytes);
//     const gpuhist::results result = counts.finish();
//     result.counts("letters");  // a-d, e-h, ..., other
#pragma once

#include <gpuhist/api.hpp>
#include <gpuhist/errors.hpp>
#include <gpuhist/options.hpp>
#include <gpuhist/results.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace gpuhist {

class counter;
class input;

/// Text that the caller writes straight into a page-locked buffer of the counter. Owned by one thread at a time.
class GPUHIST_API lent_buffer {
 public:
  lent_buffer(lent_buffer&&) noexcept;
  lent_buffer& operator=(lent_buffer&&) = delete;
  /// Without commit(), the buffer is returned unused.
  ~lent_buffer();

  [[nodiscard]] std::span<std::byte> bytes() const noexcept;

  /// The first `filled` bytes are the next text of the input. The buffer must not be accessed afterwards.
  void commit(std::size_t filled);

 private:
  friend class input;
  struct state;
  explicit lent_buffer(std::unique_ptr<state> made);
  std::unique_ptr<state> state_;
};

/// One input of a counter: a sequence of bytes. One thread at a time may use it; a second one gets errc::misuse.
/// Different inputs may be fed by different threads at once.
class GPUHIST_API input {
 public:
  input(input&&) noexcept;
  input& operator=(input&&) noexcept;
  /// Without finish(), the input ends when the counter is finished.
  ~input();

  /// The next bytes. They may be changed after the return. Large spans are counted by the calling thread where they lie
  /// (host engines); others are copied.
  void feed(std::span<const std::byte> text);
  void feed(std::string_view text) { feed(std::as_bytes(std::span(text))); }

  /// As feed(), without a copy where the engine permits it. `release` is called once, on any thread, when the bytes are
  /// no longer read, also if this call throws. It must not use the counter. Its exception is kept:
  /// results::error() of counter::finish() describes it.
  void feed_borrowed(std::span<const std::byte> text, std::function<void()> release);

  /// A buffer of 1 to `wanted` bytes for the next text of this input. Other text of this input must not be fed before
  /// it is committed.
  [[nodiscard]] lent_buffer lend(std::size_t wanted);

  /// The input is complete. Further calls throw errc::misuse.
  void finish();

  /// The input has ended early, because of `cause`. The result is then incomplete.
  void fail(std::string_view cause);

 private:
  friend class counter;
  struct state;
  explicit input(std::unique_ptr<state> made);
  std::unique_ptr<state> state_;
};

/// Members are thread-safe, except finish() and the destructor, which are the last calls. Several counters may exist at
/// once. A counter must be constructed after fork().
class GPUHIST_API counter {
 public:
  struct state;  ///< of the implementation

  /// Starts the threads. Throws error.
  explicit counter(const counting_options& options = {}, counting_events events = {});
  counter(counter&&) noexcept;
  counter& operator=(counter&&) noexcept;
  /// Cancels and waits for the end of all threads.
  ~counter();

  /// Inputs appear in the result in the order in which they were opened.
  [[nodiscard]] input open_input(std::string name);

  /// The counts of all text that was fed before the call. Waits until it is counted.
  [[nodiscard]] results snapshot();

  /// Ends all inputs and returns the counts of everything that was fed. Other calls throw errc::closed afterwards.
  results finish();

  /// Ends the counting as soon as possible: calls that feed throw errc::closed. finish() then returns what was counted,
  /// as incomplete. Any thread, also a callback.
  void cancel() noexcept;

 private:
  std::shared_ptr<state> state_;
};

}  // namespace gpuhist
