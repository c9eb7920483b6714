#include "gpuhist/counter.hpp"

#include "library/counting_plan.hpp"
#include "library/errors.hpp"
#include "library/event_publisher.hpp"
#include "library/results.hpp"
#include "library/signals.hpp"
#include "library/unit_reports.hpp"
#include "pipeline/counts/input_report.hpp"
#include "pipeline/flow/driver.hpp"
#include "pipeline/flow/fed_inputs.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace gpuhist {
namespace {

using library::counting_plan;
using pipeline::callback_scope;
using pipeline::fed_inputs;
using pipeline::input_id;

// Pages of slots are allocated when they are first used: large spans need none. A slot holds short messages of many
// inputs. Nothing is read ahead, so that memory is left to the windows of decoders.
counting_plan make_fed_plan(const counting_options& options) {
  constexpr std::uint32_t min_extents = 256;
  counting_plan planned = library::make_plan(options);
  planned.joins_waker = true;
  pipeline::buffer_plan& buffers = planned.buffers;
  buffers.window_limit += std::uint64_t{buffers.block_bytes} * buffers.blocks * buffers.open_inputs;
  const std::uint64_t more = min_extents - std::min(min_extents, buffers.max_extents);
  const std::uint64_t rows = more * buffers.slots * planned.partition.classes * sizeof(std::uint32_t);
  if (planned.pairs || rows > buffers.window_limit / 2) return planned;  // rows of pairs are large
  buffers.window_limit -= rows;
  buffers.besides_windows.bytes += rows;
  buffers.max_extents += static_cast<std::uint32_t>(more);
  return planned;
}

std::optional<pipeline::fed_decoding> decoding_of(const input_options& options) {
  if (options.format.empty()) return pipeline::fed_decoding{.max_text = options.max_output};
  const io::format* const found = io::format_named(options.format);
  if (found != nullptr && found->is_plain) return std::nullopt;
  if (found == nullptr || found->make_decoder == nullptr) {
    throw error(errc::invalid_argument, "input_options::format: '" + options.format +
                                            "' is not the name of a compressed format, such as zstd, nor raw");
  }
  return pipeline::fed_decoding{.format = found, .max_text = options.max_output};
}

template <typename Pointer>
auto& given(const Pointer& state) {
  if (!state) throw error(errc::misuse, "the object was moved from");
  return *state;
}

}  // namespace

// The run has a thread of its own, which runs the event loop and calls the callbacks. Inputs share this state, so it
// outlives them.
struct [[gnu::visibility("hidden")]] counter::state : std::enable_shared_from_this<counter::state> {
  state(const counting_options& options, counting_events called)
      : planned(make_fed_plan(options)), events(planned, std::move(called)), units(make_units()) {}

  void start(const std::stop_token& stop);
  void run() noexcept;
  void count();
  void notify_of_failures(pipeline::run_hooks& hooks);
  void end() noexcept;
  void wait_for_end();
  results take_results();
  [[nodiscard]] fed_inputs::kept_text receiver_of(const input_options& options);
  results make_results(report::run_report::kind kind, pipeline::run_counts counts, counting_failure failed) const;

  /// The feed of the run. Its members throw feed_closed once the run has ended.
  [[nodiscard]] fed_inputs& feed() const { return *feed_; }

  [[nodiscard]] std::unique_ptr<library::unit_reports> make_units();

  /// Whether units are values, so that text is fed by feed_values() only.
  [[nodiscard]] bool takes_values() const { return planned.units && planned.units->shape.are_values(); }

  /// The feed, for text that is not a value.
  [[nodiscard]] fed_inputs& feed_of_text() const {
    if (takes_values()) throw error(errc::misuse, "feed: units are values; pass them to feed_values()");
    return feed();
  }

  const counting_plan planned;
  library::event_publisher events;
  const std::unique_ptr<library::unit_reports> units;  // null: no units are measured
  std::promise<void> started;                          // the feed is there, or the run failed before
  bool is_started = false;                             // the first of these; used by the thread
  std::shared_ptr<fed_inputs> feed_;
  std::mutex ending;  // of the thread
  std::thread thread;
  std::exception_ptr failure;                 // of the run
  std::optional<pipeline::outcome> finished;  // of the run
  std::optional<std::stop_callback<std::function<void()>>> on_stop;
};

namespace {

// Calls within the hook are recognized as those of a callback.
template <typename Result, typename Argument>
void mark(std::function<Result(Argument)>& hook, const std::shared_ptr<fed_inputs>& feed) {
  if (!hook) return;
  hook = [&feed, inner = std::move(hook)](Argument argument) {
    const callback_scope within(feed.get());
    return inner(argument);
  };
}

}  // namespace

// Units are reported on the thread of the run.
std::unique_ptr<library::unit_reports> counter::state::make_units() {
  if (!planned.units) return nullptr;
  const auto publish = [this](std::span<const report::units::unit_record> found) {
    const callback_scope within(feed_.get());
    events.publish(found);
  };
  const auto publish_faults = [this](const report::units::input_fault& found) {
    const callback_scope within(feed_.get());
    events.publish(found);
  };
  using run = report::units::unit_run;
  return std::make_unique<library::unit_reports>(planned, events.wants_units() ? run::report_units(publish) : nullptr,
                                                 events.wants_notices() ? run::report_faults(publish_faults) : nullptr);
}

// An input that has failed is also in the result, which comes later. Inputs that a stop has ended have not failed.
void counter::state::notify_of_failures(pipeline::run_hooks& hooks) {
  if (!events.wants_notices()) return;
  hooks.input_finished = [this, next = std::move(hooks.input_finished)](const pipeline::input_report& input) {
    if (!input.error.empty() && !io::is_cut_short(input.error_kind)) events.notify(input.name + ": " + input.error);
    return next && next(input);
  };
}

fed_inputs::kept_text counter::state::receiver_of(const input_options& options) {
  const bool filters = planned.units && planned.units->filter && !takes_values();
  if (filters && !options.on_kept) {
    throw error(errc::invalid_argument, "input_options::on_kept: unit_options::filter requires it");
  }
  if (!filters && options.on_kept) {
    throw error(errc::invalid_argument, "input_options::on_kept: requires unit_options::filter, and no values");
  }
  if (!filters) return {};
  return [this, kept = options.on_kept](std::span<const std::byte> text) { events.call(kept, text); };
}

void counter::state::count() {
  pipeline::run_hooks hooks;
  events.connect(hooks);
  if (units) units->connect(hooks);
  notify_of_failures(hooks);
  mark(hooks.window, feed_);
  mark(hooks.verdict, feed_);
  mark(hooks.input_finished, feed_);
  mark(hooks.check_counts, feed_);
  hooks.make_feed = [&](const pipeline::fed_run& run) {
    feed_ = std::make_shared<fed_inputs>(run, [&] {
      is_started = true;
      started.set_value();
    });
    return feed_;
  };
  finished = pipeline::run(planned, hooks);
  if (feed().is_stopped()) return;
  const callback_scope within(feed_.get());
  if (!units) return events.watch_totals(finished->result, nullptr);
  const report::units::unit_result found = units->result();
  events.watch_totals(finished->result, &found);
}

void counter::state::run() noexcept {
  try {
    count();
  } catch (...) {
    failure = std::current_exception();
    if (!is_started) started.set_exception(failure);
  }
}

// The thread keeps this object, because the counter may be destroyed by a callback on that thread.
void counter::state::start(const std::stop_token& stop) {
  thread = library::start_without_signals([kept = shared_from_this()] { kept->run(); });
  try {
    started.get_future().get();
    if (stop.stop_possible()) on_stop.emplace(stop, [this] { feed().cancel(); });
  } catch (...) {
    if (feed_) feed_->cancel();
    thread.join();
    throw;
  }
}

// A thread that is within a callback must not wait for the threads that wait for the callback.
void counter::state::end() noexcept {
  if (!thread.joinable()) return;
  feed().cancel();
  if (callback_scope::is_within(feed_.get())) return thread.detach();
  thread.join();
  on_stop.reset();
}

results counter::state::make_results(report::run_report::kind kind, pipeline::run_counts counts,
                                     counting_failure failed) const {
  auto made = std::make_shared<results::state>();
  made->content = library::make_report(planned, kind, std::move(counts));
  if (units) made->content.units = units->result();
  made->failed = std::move(failed);
  return results(std::move(made));
}

void counter::state::wait_for_end() {
  if (callback_scope::is_within(feed_.get())) {
    throw error(errc::misuse, "finish: a callback of the counter must not finish it");
  }
  const std::scoped_lock lock(ending);
  if (!thread.joinable()) throw error(errc::closed, "finish: the counter was finished before");
  feed().end();
  thread.join();
  on_stop.reset();
}

results counter::state::take_results() {
  if (failure) rethrow_as_error(failure);
  if (feed().is_stopped()) finished->result.complete = false;
  counting_failure failed = failure_of(finished->engine_failure, finished->engine_cause);
  if (!failed.kind && feed().callback_failure()) {
    failed = {.text = "a release callback failed: " + pipeline::failure_text(feed().callback_failure()),
              .kind = errc::callback};
  }
  return make_results(report::run_report::kind::result, std::move(finished->result), std::move(failed));
}

struct input::state {
  state(std::shared_ptr<counter::state> of, input_id opened) : run(std::move(of)), number(opened) {}
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() { run->feed().drop(number); }

  const std::shared_ptr<counter::state> run;
  const input_id number;
};

struct lent_buffer::state {
  std::shared_ptr<counter::state> run;
  input_id number = 0;
  fed_inputs::lent_room room;
};

counter::counter(const counting_options& options, counting_events events)
    : state_(translated([&] { return std::make_shared<state>(options, std::move(events)); })) {
  translated([&] { state_->start(options.stop); });
}

counter::counter(counter&&) noexcept = default;

counter& counter::operator=(counter&& other) noexcept {
  const counter ended(std::move(*this));
  state_ = std::move(other.state_);
  return *this;
}

counter::~counter() {
  if (state_) state_->end();
}

input counter::open_input(std::string name, const input_options& options) {
  return translated([&] {
    state& run = given(state_);
    const std::optional<pipeline::fed_decoding> decoding = decoding_of(options);
    if (decoding && run.takes_values()) {
      throw error(errc::invalid_argument,
                  "input_options::format: units are values, which are not compressed; give raw");
    }
    const input_id number = run.feed().open(std::move(name), decoding, run.receiver_of(options));
    try {
      return input(std::make_unique<input::state>(state_, number));
    } catch (...) {
      run.feed().drop(number);
      throw;
    }
  });
}

results counter::snapshot() {
  return translated([&] {
    const state& run = given(state_);
    return run.make_results(report::run_report::kind::snapshot, run.feed().snapshot(), {});
  });
}

results counter::finish() {
  translated([&] { given(state_).wait_for_end(); });
  if (state_->events.thrown()) std::rethrow_exception(state_->events.thrown());
  return translated([&] { return state_->take_results(); });
}

void counter::cancel() noexcept {
  if (state_) state_->feed().cancel();
}

input::input(std::unique_ptr<state> made) : state_(std::move(made)) {}
input::input(input&&) noexcept = default;
input& input::operator=(input&&) noexcept = default;
input::~input() = default;

void input::feed(std::span<const std::byte> bytes) {
  translated([&] { given(state_).run->feed_of_text().feed(state_->number, bytes); });
}

void input::feed_borrowed(std::span<const std::byte> bytes, std::function<void()> release) {
  translated([&] {
    const counter::state& run = *given(state_).run;
    if (run.takes_values()) bytes = {};  // they are released, and not read
    run.feed().feed_borrowed(state_->number, bytes, std::move(release));
    static_cast<void>(run.feed_of_text());
  });
}

std::vector<bool> input::feed_values(std::span<const std::optional<std::string_view>> values) {
  return translated([&] {
    const counter::state& run = *given(state_).run;
    if (run.units && !run.takes_values()) {
      throw error(errc::misuse, "feed_values: units are not values: unit_options::kind::value");
    }
    return run.feed().feed_values(state_->number, values);
  });
}

lent_buffer input::lend(std::size_t wanted) {
  if (wanted == 0) throw error(errc::invalid_argument, "lend: a buffer of 0 bytes");
  return translated([&] {
    const state& mine = given(state_);
    auto made =
        std::make_unique<lent_buffer::state>(lent_buffer::state{.run = mine.run, .number = mine.number, .room = {}});
    made->room = mine.run->feed_of_text().lend(mine.number, wanted);
    return lent_buffer(std::move(made));
  });
}

void input::finish() {
  translated([&] { given(state_).run->feed().finish(state_->number); });
}

void input::fail(std::string_view cause) {
  translated([&] {
    given(state_).run->feed().fail(state_->number, {.kind = io::failure_kind::unreadable, .text = std::string(cause)});
  });
}

bool input::failed() const {
  return translated([&] { return given(state_).run->feed().has_failed(state_->number); });
}

lent_buffer::lent_buffer(std::unique_ptr<state> made) : state_(std::move(made)) {}
lent_buffer::lent_buffer(lent_buffer&&) noexcept = default;
lent_buffer::~lent_buffer() {
  if (state_) state_->run->feed().give_back(state_->number, state_->room);
}

std::span<std::byte> lent_buffer::bytes() const noexcept {
  return state_ ? state_->room.bytes : std::span<std::byte>();
}

void lent_buffer::commit(std::size_t filled) {
  if (!state_) throw error(errc::misuse, "commit: the buffer was committed or moved from before");
  if (filled > bytes().size()) {
    throw error(errc::invalid_argument,
                "commit: " + std::to_string(filled) + " bytes, but the buffer has " + std::to_string(bytes().size()));
  }
  const std::unique_ptr<state> taken = std::move(state_);
  translated([&] { taken->run->feed().commit(taken->number, taken->room, filled); });
}

}  // namespace gpuhist
