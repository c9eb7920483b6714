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

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace gpuhist {

class counter;
class input;

/// A string literal as text, without its final NUL.
struct literal_text {
  template <std::size_t size>
  // NOLINTNEXTLINE(google-explicit-constructor,cppcoreguidelines-avoid-c-arrays): feed("abc")
  consteval literal_text(const char (&literal)[size]) : text(literal, size - 1) {
    if (literal[size - 1] != '\0') throw "not a string literal";  // an error of the compiler
  }

  std::string_view text;
};

/// How the bytes of an input are read.
struct input_options {
  /// "raw": the bytes are the text. A name of a compressed format ("zstd", "gzip", "xz", "lzip", "bzip2", "lz4",
  /// "lzma", "compress"): they are decoded, and verified as in a file. Empty: the first bytes decide. Archives are not
  /// opened: the bytes of a tar archive are its text.
  std::string format{"raw"};
  std::uint64_t max_output = 0;  ///< most bytes of text of a compressed input, else it fails; 0: unlimited
  /// With unit_options::filter, and only then, and not if units are values: receives the text of the units that are
  /// kept, in order, within the calls that feed this input, and within finish() and fail() of the input or
  /// counter::finish(); not if the input is destroyed before, and not after the end of the counting. The span is valid
  /// during the call. Callbacks of inputs that different threads feed are called at once. Calls of the counter and its
  /// inputs within it throw errc::misuse, except counter::cancel(). An exception ends the counting, and is thrown by
  /// counter::finish().
  std::function<void(std::span<const std::byte>)> on_kept{};
};

/// Bytes that the caller writes straight into a buffer of the counter. Owned by one thread at a time. It may be kept
/// for any time, and delays no other input.
class GPUHIST_API lent_buffer {
 public:
  lent_buffer(lent_buffer&&) noexcept;
  lent_buffer& operator=(lent_buffer&&) = delete;
  /// Without commit(), the buffer is returned unused.
  ~lent_buffer();

  /// The memory to write to, of the size that input::lend() states. Empty after commit(), and of an object that was
  /// moved from.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept;

  /// The first `filled` bytes are the next bytes of the input, at most bytes().size(), else errc::invalid_argument. The
  /// buffer must not be accessed afterwards. Throws as input::feed().
  void commit(std::size_t filled);

 private:
  friend class input;
  struct state;
  explicit lent_buffer(std::unique_ptr<state> made);
  std::unique_ptr<state> state_;
};

/// One input of a counter: a sequence of bytes. One thread at a time may use it; a second one gets errc::misuse.
/// Different inputs may be fed by different threads at once, and never wait for each other's bytes.
///
/// Members throw errc::closed once the counter is finished, cancelled or has failed; errc::misuse after the end of the
/// input, and in callbacks of the counter; errc::out_of_memory, and then the input has failed.
class GPUHIST_API input {
 public:
  input(input&&) noexcept;
  input& operator=(input&&) noexcept;
  /// Without finish() or fail(), the input fails (failure::stopped), because bytes may be missing: an exception may
  /// have ended the feeding.
  ~input();

  /// The next bytes. They may be changed after the return. Blocks while all buffers are in use. Large spans (64 KiB or
  /// more) are counted by the calling thread where they lie (host engines); others are copied. Bytes of a compressed
  /// input are decoded by the calling thread. Damage does not throw: the input has failed, and later bytes are ignored.
  void feed(std::span<const std::byte> bytes);

  template <typename Text>
    requires std::convertible_to<const Text&, std::string_view> && (!std::is_array_v<Text>) &&
             (!std::is_pointer_v<Text>)
  void feed(const Text& text) {
    feed(std::as_bytes(std::span(std::string_view(text))));
  }
  void feed(literal_text literal) { feed(literal.text); }
  template <std::size_t size>
  void feed(char (&)[size]) = delete;  // NOLINT(cppcoreguidelines-avoid-c-arrays): pass a span or a std::string_view

  /// As feed(), but the bytes may be read after the return, by the threads of the counter, until `release` is called:
  /// once, on any thread, also within this call, and also if this call throws. So it must not wait for anything that
  /// the caller holds. In it all calls of the counter and its inputs throw errc::misuse, except counter::cancel(). Its
  /// exception is kept: results::error() of counter::finish() describes it. Bytes of compressed inputs and, with
  /// engine::cuda, all bytes are read before the return.
  void feed_borrowed(std::span<const std::byte> bytes, std::function<void()> release);

  /// A buffer for the next bytes of this input, of `wanted` bytes, but at most 256 KiB or more, depending on the
  /// engine. Does not wait. Other bytes of this input must not be fed before it is committed.
  [[nodiscard]] lent_buffer lend(std::size_t wanted = std::numeric_limits<std::size_t>::max());

  /// The next values. With unit_options::kind::value each is a unit; without units they are only counted. An absent
  /// value is a unit of no bytes without values of formulas (unit_summary::without_field). Values that are adjacent in
  /// memory are counted as by feed(), where they lie if they are large together. Returns, by value, whether
  /// unit_options::where holds for it, or, with unit_options::filter, whether it is kept; without a condition true.
  /// Throws as feed(); errc::misuse if units are others.
  std::vector<bool> feed_values(std::span<const std::optional<std::string_view>> values);

  /// All bytes were fed. Further calls throw errc::misuse.
  void finish();

  /// The input has ended early. The result is then incomplete: input_result::kind is failure::unreadable, and
  /// input_result::error is `cause`.
  void fail(std::string_view cause);

  /// Whether a compressed input has failed: it is damaged, refused, or needs more memory than there is. Its bytes need
  /// not be fed any more. The result describes the failure. Throws as feed(), so also after finish().
  [[nodiscard]] bool failed() const;

 private:
  friend class counter;
  struct state;
  explicit input(std::unique_ptr<state> made);
  std::unique_ptr<state> state_;
};

/// Members are thread-safe; the destructor is the last call. Several counters may exist at once. A counter must be
/// constructed after fork(): in a child of fork() it has no threads, and only _exit() and exec() are safe.
class GPUHIST_API counter {
 public:
  struct state;  ///< of the implementation

  /// Starts the threads: `threads` of a pool and one more, which calls `events`. They block all signals. Throws
  /// errc::invalid_argument, whose text names the option; errc::engine; errc::out_of_memory; errc::system if a thread
  /// cannot be started.
  explicit counter(const counting_options& options = {}, counting_events events = {});
  counter(counter&&) noexcept;
  counter& operator=(counter&&) noexcept;
  /// Cancels and waits for the end of all threads. Within a callback of this counter it does not wait: the threads end
  /// after the callback.
  ~counter();

  /// Inputs appear in the result in the order in which they were opened. A name is any bytes, and need not be unique.
  /// Throws errc::invalid_argument for an unknown format, or one that is not raw if units are values, and if on_kept
  /// and unit_options::filter are not given together; errc::misuse if windows span inputs and another input has not
  /// ended; and as the members of input.
  [[nodiscard]] input open_input(std::string name, const input_options& options = {});

  /// The counts of all text that was fed before the call. Waits until it is counted. Text of a compressed frame that
  /// has not ended is unverified. Throws as the members of input.
  [[nodiscard]] results snapshot();

  /// Waits for calls on other threads and for borrowed bytes, and returns the counts of everything that was fed. Inputs
  /// that exist and have not ended are finished, as by input::finish(). Other calls throw errc::closed afterwards.
  /// Throws errc::misuse, and changes nothing, if a lent buffer is neither committed nor destroyed, and within a
  /// callback; errc::closed if the counter was finished before. Throws the exception of a callback of counting_events.
  /// A failure of the counting is in the result (results::error_kind()).
  results finish();

  /// Ends the counting as soon as possible: calls that feed or wait throw errc::closed. finish() then returns what was
  /// counted, as incomplete. Any thread, also a callback.
  void cancel() noexcept;

 private:
  std::shared_ptr<state> state_;
};

}  // namespace gpuhist
