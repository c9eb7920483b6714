// gpuhist: exact counts of byte values by bucket. The C++ interface.
//
//     gpuhist::counter counts({.schemes = {"letters"}});
//     gpuhist::input log = counts.open_input("log");
//     log.feed(bytes);
//     const gpuhist::results result = counts.finish();
//     result.counts("letters");  // a-d, e-h, ..., other
//
// The library does not read the environment or the locale, does not use the standard streams, and does not change
// signal dispositions. All its threads belong to an object (counter, or a call of count_files) and end with it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#define GPUHIST_API __attribute__((visibility("default")))

namespace gpuhist {

/// Kinds of errors. New kinds may be added.
enum class errc : std::uint8_t {
  invalid_argument = 1,  ///< a value of an option: an unknown name, a size that exceeds the memory limit
  misuse,         ///< a call that the interface forbids: feeding an input that has ended, two threads on one input
  closed,         ///< the counter was finished, cancelled, or stopped by a failure
  engine,         ///< the requested engine cannot be used, or failed
  out_of_memory,  ///< memory could not be allocated
  system,         ///< the system refused a resource: a thread, a file
};

/// Every error that the library throws, except exceptions of callbacks, which are passed on.
class GPUHIST_API error : public std::runtime_error {
 public:
  error(errc kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  ~error() override;

  [[nodiscard]] errc kind() const noexcept { return kind_; }

 private:
  errc kind_;
};

/// What counts. All engines give the same counts.
enum class engine : std::uint8_t {
  automatic,  ///< the host, and GPUs if the cores are saturated
  host,       ///< SIMD on the cores
  cuda,       ///< NVIDIA GPUs; an error if there is none
};

/// Why an input is not complete.
enum class failure : std::uint8_t {
  none,
  not_read,       ///< the run ended before this input was started
  stopped,        ///< the run ended while this input was being read
  unreadable,     ///< the system refuses to open or read it
  damaged,        ///< its content contradicts its format, its name or a checksum
  refused,        ///< it is not counted: an unknown format, a limit, a rule
  out_of_memory,  ///< memory could not be allocated
  not_counted,    ///< it was read, but the engine failed
  unknown,        ///< a result that was read from a file does not state it
};

/// The counts of an input or of the totals. A value.
struct input_result {
  std::string name;                               ///< raw bytes, not necessarily UTF-8
  std::string format;                             ///< "raw", "zstd", ...
  std::optional<std::uint64_t> compressed_bytes;  ///< read so far, if the input is compressed
  std::uint64_t bytes = 0;                        ///< of verified text
  std::uint64_t lines = 0;                        ///< line feeds in it
  std::uint64_t unverified_bytes = 0;             ///< decoded without a correct checksum; not in `bytes`
  bool complete = false;                          ///< all of it was counted and verified
  failure kind = failure::none;                   ///< why it is not complete
  std::string error;                              ///< the same for people; empty if there was no error
};

class counter;
class input;

/// Counts at one moment: of a whole run, or of a part of it (snapshot). A value; copies share their memory. Copies may
/// be used by different threads.
class GPUHIST_API results {
 public:
  results();
  results(const results&);
  results(results&&) noexcept;
  results& operator=(const results&);
  results& operator=(results&&) noexcept;
  ~results();

  [[nodiscard]] bool complete() const;           ///< every byte of every input was counted and verified
  [[nodiscard]] std::uint64_t bytes() const;     ///< of verified text, in all
  [[nodiscard]] std::uint64_t lines() const;     ///< line feeds in it
  [[nodiscard]] std::string_view error() const;  ///< why counting failed or was stopped; empty: it was not

  /// The names of the schemes, in the order in which they were requested.
  [[nodiscard]] std::vector<std::string> schemes() const;

  /// The names of the buckets of a scheme. Throws errc::invalid_argument for an unknown scheme.
  [[nodiscard]] std::vector<std::string> buckets(std::string_view scheme) const;

  /// The totals: one count for each bucket.
  [[nodiscard]] std::vector<std::uint64_t> counts(std::string_view scheme) const;

  /// The number of inputs, in the order in which they were opened.
  [[nodiscard]] std::size_t inputs() const;

  /// Throws errc::invalid_argument if there is no such input.
  [[nodiscard]] input_result input(std::size_t number) const;

  /// One count for each bucket of a scheme, of one input.
  [[nodiscard]] std::vector<std::uint64_t> counts(std::string_view scheme, std::size_t input) const;

  /// The result as JSON, schema gpuhist.result/1, with a final newline.
  [[nodiscard]] std::string to_json() const;

 private:
  friend class counter;
  struct state;
  explicit results(std::shared_ptr<const state> shared);
  std::shared_ptr<const state> state_;
};

struct counter_options {
  /// Names of schemes (letters, alphabet, bytes, classes, utf8) and definitions: "vowels=aeiou;digits=0-9".
  std::vector<std::string> schemes{"classes"};
  bool ignore_case = false;  ///< A-Z are counted as a-z
  bool byte_counts = false;  ///< keep the counts of all 256 values
  engine counting_engine = engine::automatic;
  std::vector<unsigned> devices{};  ///< CUDA devices by number; empty: the first usable one
  unsigned threads = 0;             ///< of the counter's pool; 0: one for each core
  std::uint64_t memory_limit = std::uint64_t{256}
                               << 20U;  ///< bytes of the counter's buffers, and of the device's copies
  std::stop_token stop{};               ///< a request cancels the counter
};

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

/// Counts what a program feeds. Members are thread-safe, except finish() and the destructor, which are the last calls.
/// Several counters may exist at once. A counter must be constructed after fork().
class GPUHIST_API counter {
 public:
  struct state;  ///< of the implementation

  /// Starts the threads. Throws error.
  explicit counter(const counter_options& options = {});
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
