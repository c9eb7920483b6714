#include "gpuhist/counter.hpp"

#include "pipeline/counts/input_failure.hpp"
#include "pipeline/flow/driver.hpp"
#include "pipeline/flow/fed_inputs.hpp"
#include "pipeline/library/counting_plan.hpp"
#include "pipeline/library/errors.hpp"
#include "pipeline/library/results.hpp"

#include <exception>
#include <future>
#include <optional>
#include <thread>
#include <utility>

namespace gpuhist {
namespace {

using pipeline::counting_plan;
using pipeline::fed_inputs;
using pipeline::input_id;

// Calls a member of the pipeline; its exceptions become those of the public interface.
template <typename Function>
auto translated(const Function& function) {
  try {
    return function();
  } catch (const error&) {
    throw;
  } catch (...) {
    rethrow_as_error(std::current_exception());
  }
}

template <typename Pointer>
auto& given(const Pointer& state) {
  if (!state) throw error(errc::misuse, "the object was moved from");
  return *state;
}

}  // namespace

// The run has a thread of its own, which runs the event loop. Inputs share this state, so it outlives them.
struct counter::state {
  explicit state(const counting_options& options) : planned(pipeline::make_plan(options)) {}

  void start(const std::stop_token& stop);
  void run() noexcept;
  results finish();
  [[nodiscard]] results results_of(pipeline::run_counts counts, std::string failure) const;

  /// The feed of the run. Throws errc::closed once the run has ended.
  [[nodiscard]] fed_inputs& feed() const { return *feed_; }

  const counting_plan planned;
  std::promise<void> started;  // the feed is there, or the run failed before
  std::shared_ptr<fed_inputs> feed_;
  std::thread thread;
  std::exception_ptr failure;                 // of the run
  std::optional<pipeline::outcome> finished;  // of the run
  std::optional<std::stop_callback<std::function<void()>>> on_stop;
};

void counter::state::run() noexcept {
  bool is_started = false;
  pipeline::run_hooks hooks;
  hooks.make_feed = [&](const pipeline::feed_parts& parts) {
    feed_ = std::make_shared<fed_inputs>(parts, [&] {
      is_started = true;
      started.set_value();
    });
    return feed_;
  };
  try {
    finished = pipeline::run(planned, hooks);
  } catch (...) {
    failure = std::current_exception();
  }
  if (!is_started) started.set_exception(failure);
}

void counter::state::start(const std::stop_token& stop) {
  thread = std::thread([this] { run(); });
  try {
    started.get_future().get();
    if (stop.stop_possible()) on_stop.emplace(stop, [this] { feed().cancel(); });
  } catch (...) {
    if (feed_) feed_->cancel();
    thread.join();
    throw;
  }
}

results counter::state::results_of(pipeline::run_counts counts, std::string error_text) const {
  auto made = std::make_shared<results::state>();
  made->content = pipeline::make_report(planned, pipeline::report::kind::result, std::move(counts));
  made->error = std::move(error_text);
  return results(std::move(made));
}

results counter::state::finish() {
  if (!thread.joinable()) throw error(errc::closed, "the counter was finished");
  if (feed().has_lent_room() && !feed().is_stopped()) {
    throw error(errc::misuse, "finish: a buffer of an input was lent and not committed");
  }
  feed().close();
  thread.join();
  on_stop.reset();
  if (failure) rethrow_as_error(failure);
  if (feed().is_stopped()) finished->result.complete = false;
  std::string failed = finished->engine_failure;
  if (failed.empty() && feed().callback_failure()) {
    failed = "a release callback failed: " + pipeline::failure_text(feed().callback_failure());
  }
  return results_of(std::move(finished->result), std::move(failed));
}

struct input::state {
  std::shared_ptr<counter::state> run;
  input_id number = 0;
};

struct lent_buffer::state {
  std::shared_ptr<counter::state> run;
  input_id number = 0;
  fed_inputs::lent_room room;
};

// events are connected with windows and conditions
counter::counter(const counting_options& options, counting_events /*events*/)
    : state_(translated([&] { return std::make_shared<state>(options); })) {
  translated([&] { state_->start(options.stop); });
}

counter::counter(counter&&) noexcept = default;

counter& counter::operator=(counter&& other) noexcept {
  counter ended(std::move(*this));
  state_ = std::move(other.state_);
  return *this;
}

counter::~counter() {
  if (!state_ || !state_->thread.joinable()) return;
  state_->feed().cancel();
  state_->thread.join();
  state_->on_stop.reset();
}

input counter::open_input(std::string name) {
  return translated([&] {
    auto made = std::make_unique<input::state>(input::state{.run = state_, .number = 0});
    made->number = given(state_).feed().open(std::move(name));
    return input(std::move(made));
  });
}

results counter::snapshot() {
  return translated([&] { return given(state_).results_of(state_->feed().snapshot(), {}); });
}

results counter::finish() {
  return translated([&] { return given(state_).finish(); });
}

void counter::cancel() noexcept {
  if (state_) state_->feed().cancel();
}

input::input(std::unique_ptr<state> made) : state_(std::move(made)) {}
input::input(input&&) noexcept = default;
input& input::operator=(input&&) noexcept = default;
input::~input() = default;

void input::feed(std::span<const std::byte> text) {
  translated([&] { given(state_).run->feed().feed(state_->number, text); });
}

void input::feed_borrowed(std::span<const std::byte> text, std::function<void()> release) {
  translated([&] { given(state_).run->feed().feed_borrowed(state_->number, text, std::move(release)); });
}

lent_buffer input::lend(std::size_t wanted) {
  if (wanted == 0) throw error(errc::invalid_argument, "lend: a buffer of 0 bytes");
  const state& mine = given(state_);
  return translated([&] {
    auto made =
        std::make_unique<lent_buffer::state>(lent_buffer::state{.run = mine.run, .number = mine.number, .room = {}});
    made->room = mine.run->feed().lend(mine.number, wanted);
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

lent_buffer::lent_buffer(std::unique_ptr<state> made) : state_(std::move(made)) {}
lent_buffer::lent_buffer(lent_buffer&&) noexcept = default;
lent_buffer::~lent_buffer() {
  if (state_) state_->run->feed().give_back(state_->number, state_->room);
}

std::span<std::byte> lent_buffer::bytes() const noexcept {
  return state_ ? state_->room.bytes : std::span<std::byte>();
}

void lent_buffer::commit(std::size_t filled) {
  if (!state_) throw error(errc::misuse, "commit: the buffer was committed before");
  if (filled > bytes().size()) {
    throw error(errc::invalid_argument,
                "commit: " + std::to_string(filled) + " bytes, but the buffer has " + std::to_string(bytes().size()));
  }
  const std::unique_ptr<state> taken = std::move(state_);
  translated([&] { taken->run->feed().commit(taken->number, taken->room, filled); });
}

}  // namespace gpuhist
