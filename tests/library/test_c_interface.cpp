// The C interface: one example of each call, options by name, events, callbacks that fail, and errors. It translates
// calls to those of C++, whose tests check what is counted.
#include "fed_text.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/temporary_folder.hpp"

#include <gpuhist/gpuhist.h>
#include <gpuhist/named_options.hpp>

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace gpuhist {
namespace {

using namespace testing;
using nlohmann::json;

/// A handle and its owner. It is passed as the handle.
template <typename Handle, void (*Destroy)(Handle*)>
class owned {
 public:
  owned() = default;
  owned(owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  owned& operator=(owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~owned() { Destroy(handle_); }

  operator Handle*() const { return handle_; }  // NOLINT(google-explicit-constructor)

  /// For a call that makes a handle.
  Handle** out() {
    Destroy(std::exchange(handle_, nullptr));
    return &handle_;
  }

 private:
  Handle* handle_ = nullptr;
};

using owned_options = owned<gpuhist_options, gpuhist_options_destroy>;
using owned_counter = owned<gpuhist_counter, gpuhist_counter_destroy>;
using owned_input = owned<gpuhist_input, gpuhist_input_destroy>;
using owned_results = owned<gpuhist_results, gpuhist_results_destroy>;
using pairs_of_text = std::vector<std::pair<const char*, const char*>>;

owned_options options_of(const pairs_of_text& all) {
  owned_options made;
  REQUIRE(gpuhist_options_create(made.out()) == GPUHIST_OK);
  for (const auto& [name, value] : all) {
    CAPTURE(name);
    REQUIRE(gpuhist_options_set(made, name, value) == GPUHIST_OK);
  }
  return made;
}

const pairs_of_text on_host = {{"engine", "host"}, {"threads", "2"}, {"buckets", "bytes"}, {"buckets", "vowels=aeiou"}};

pairs_of_text with(const pairs_of_text& more) {
  pairs_of_text made = on_host;
  made.insert(made.end(), more.begin(), more.end());
  return made;
}

owned_options host(const pairs_of_text& more = {}) { return options_of(with(more)); }

gpuhist_input_options input_options_of(const char* format) {
  return {.size = sizeof(gpuhist_input_options),
          .format = format,
          .max_output = 0,
          .on_kept = nullptr,
          .kept_context = nullptr};
}

owned_counter make(const gpuhist_options* options) {
  owned_counter made;
  REQUIRE(gpuhist_counter_create(options, made.out()) == GPUHIST_OK);
  REQUIRE(made != nullptr);
  return made;
}

owned_input open(gpuhist_counter* counter, const char* name, const gpuhist_input_options* options = nullptr) {
  owned_input made;
  REQUIRE(gpuhist_input_open_with(counter, name, options, made.out()) == GPUHIST_OK);
  return made;
}

void feed(gpuhist_input* input, std::string_view text) {
  CHECK(gpuhist_input_feed(input, text.data(), text.size()) == GPUHIST_OK);
}

owned_results finish(gpuhist_counter* counter) {
  owned_results made;
  REQUIRE(gpuhist_counter_finish(counter, made.out()) == GPUHIST_OK);
  return made;
}

owned_results count_file(const std::string& path, const gpuhist_options* options) {
  owned_results made;
  REQUIRE(gpuhist_count_file(path.c_str(), options, made.out()) == GPUHIST_OK);
  return made;
}

json json_of(const gpuhist_results* results) {
  const char* text = nullptr;
  REQUIRE(gpuhist_results_json(results, &text) == GPUHIST_OK);
  return json::parse(text);
}

std::vector<std::uint64_t> bytes_in(const gpuhist_results* results) {
  std::vector<std::uint64_t> counts(256);
  REQUIRE(gpuhist_results_counts(results, "bytes", counts.data(), counts.size()) == GPUHIST_OK);
  return counts;
}

bool error_names(std::string_view part) {
  return std::string_view(gpuhist_error_text()).find(part) != std::string_view::npos;
}

// Callbacks.

std::int32_t append_text(void* context, const void* bytes, std::size_t size) {
  static_cast<std::string*>(context)->append(static_cast<const char*>(bytes), size);
  return 0;
}

// Events by kind, with their JSON. Windows have no times.
using event_list = std::map<std::int32_t, std::vector<json>>;

json without_times(std::string_view text) {
  json made = json::parse(text);
  made.erase("start_time");
  made.erase("end_time");
  return made;
}

// The counts of a window, snapshot or input are those of its JSON.
std::int32_t add_event(void* context, const gpuhist_event* event) {
  const char* text = nullptr;
  REQUIRE(gpuhist_event_json(event, &text) == GPUHIST_OK);
  const std::int32_t kind = gpuhist_event_kind(event);
  const json& made = (*static_cast<event_list*>(context))[kind].emplace_back(without_times(text));
  std::array<std::uint64_t, 2> counts{};
  const gpuhist_status status = gpuhist_event_counts(event, "custom", counts.data(), counts.size());
  if (kind != GPUHIST_EVENT_WINDOW && kind != GPUHIST_EVENT_SNAPSHOT && kind != GPUHIST_EVENT_INPUT) {
    CHECK(status == GPUHIST_INVALID_ARGUMENT);
    CHECK(error_names("the event has no counts"));
    return 0;
  }
  CHECK(status == GPUHIST_OK);
  CHECK(counts[0] == made["buckets"]["custom"]["vowels"]);
  CHECK(counts[1] == made["buckets"]["custom"]["other"]);
  CHECK(gpuhist_event_counts(event, "custom", counts.data(), 1) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_event_pairs(event, "custom", counts.data(), 2) == GPUHIST_INVALID_ARGUMENT);
  return 0;
}

[[noreturn]] void throw_from_callback(void* /*context*/) { throw std::runtime_error("from a callback"); }

// The context of callbacks that end the counting: by their result or by an exception.
struct refusal {
  bool throws = false;
  int calls = 0;
};

std::int32_t refuse(void* context) {
  refusal& called = *static_cast<refusal*>(context);
  ++called.calls;
  if (called.throws) throw_from_callback(context);
  return 1;
}

std::int32_t refuse_event(void* context, const gpuhist_event* /*event*/) { return refuse(context); }
std::int32_t refuse_text(void* context, const void* /*bytes*/, std::size_t /*size*/) { return refuse(context); }

}  // namespace

TEST_CASE("C: fed, borrowed and lent bytes are counted once, and the results describe the inputs") {
  const std::string text = random_text(1'000'000, 1);
  const owned_counter counter = make(host());  // does not need the options any more
  const owned_input input = open(counter, "text");
  feed(input, std::string_view(text).substr(0, 100'000));
  int releases = 0;
  CHECK(gpuhist_input_feed_borrowed(
            input, text.data() + 100'000, 400'000, [](void* context) { ++*static_cast<int*>(context); }, &releases) ==
        GPUHIST_OK);
  CHECK(gpuhist_input_feed_borrowed(input, nullptr, 0, nullptr, nullptr) == GPUHIST_OK);
  for (std::size_t at = 500'000; at < text.size();) {
    gpuhist_buffer* buffer = nullptr;
    void* bytes = nullptr;
    std::size_t size = 0;
    REQUIRE(gpuhist_input_lend(input, text.size() - at, &buffer, &bytes, &size) == GPUHIST_OK);
    CHECK(size >= std::min<std::size_t>(text.size() - at, 65536));
    std::memcpy(bytes, text.data() + at, size);
    CHECK(gpuhist_buffer_commit(buffer, size) == GPUHIST_OK);
    at += size;
  }
  owned_results snapshot;
  CHECK(gpuhist_counter_snapshot(counter, snapshot.out()) == GPUHIST_OK);
  CHECK(bytes_in(snapshot) == byte_counts(text));
  CHECK(gpuhist_input_finish(input) == GPUHIST_OK);
  const owned_results results = finish(counter);
  CHECK(releases == 1);
  CHECK(gpuhist_results_complete(results) == 1);
  CHECK(gpuhist_results_failure(results) == GPUHIST_OK);
  CHECK(std::string_view(gpuhist_results_error(results)).empty());
  CHECK(bytes_in(results) == byte_counts(text));
  CHECK(gpuhist_results_bytes(results) == text.size());
  REQUIRE(gpuhist_results_schemes(results) == 2);
  const char* name = nullptr;
  CHECK(gpuhist_results_scheme_name(results, 1, &name) == GPUHIST_OK);
  CHECK(std::string_view(name) == "custom");
  CHECK(gpuhist_results_bucket_name(results, "custom", 1, &name) == GPUHIST_OK);
  CHECK(std::string_view(name) == "other");
  CHECK(gpuhist_results_inputs(results) == 1);
  const json found = json_of(results)["inputs"][0];
  CHECK(found["name"] == "text");
  CHECK(found["bytes"] == text.size());
  CHECK(found["complete"] == true);
}

TEST_CASE("C: pairs are read by scheme, and an error if they were not counted or do not fit") {
  const owned_counter counter = make(options_of({{"buckets", "vowels=aeiou"}, {"pairs", "true"}, {"engine", "host"}}));
  const owned_input input = open(counter, "text");
  feed(input, "aabcba");
  const owned_results results = finish(counter);
  std::array<std::uint64_t, 4> pairs{};
  constexpr std::array<std::uint64_t, 4> expected = {1, 1, 1, 2};
  CHECK(gpuhist_results_pairs(results, "custom", pairs.data(), pairs.size()) == GPUHIST_OK);
  CHECK(pairs == expected);
  pairs = {};
  CHECK(gpuhist_results_input_pairs(results, 0, "custom", pairs.data(), pairs.size()) == GPUHIST_OK);
  CHECK(pairs == expected);
  CHECK(gpuhist_results_pairs(results, "custom", pairs.data(), 3) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_results_pairs(nullptr, "custom", pairs.data(), pairs.size()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_results_pairs(results, nullptr, pairs.data(), pairs.size()) == GPUHIST_INVALID_ARGUMENT);
  const owned_results counts_only = finish(make(host()));
  CHECK(gpuhist_results_pairs(counts_only, "custom", pairs.data(), pairs.size()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("pairs"));
}

TEST_CASE("C: unknown names and refused values of options are errors") {
  const owned_options options = options_of({});
  CHECK(gpuhist_options_set(options, "nope", "1") == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("nope"));
  CHECK(gpuhist_options_set(options, "threads", "many") == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("threads"));
  CHECK(gpuhist_options_set(options, nullptr, "1") == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_options_set(options, "threads", nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_options_set(nullptr, "threads", "1") == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_options_on_event(nullptr, refuse_event, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_options_on_text(nullptr, refuse_text, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_options_create(nullptr) == GPUHIST_INVALID_ARGUMENT);
  owned_counter none;
  CHECK(gpuhist_counter_create(host({{"skip-damage", "true"}}), none.out()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("skip-damage"));
  CHECK(none == nullptr);
}

TEST_CASE("C: events of a counter are those of C++, as JSON") {
  const pairs_of_text texts =
      with({{"window", "500000B"}, {"each", "line"}, {"where", "bytes > 60"}, {"alert-if", "bytes > 0"}});
  auto packed = test::zstd_frame_of(test::sample_text(2'000'000));
  packed.back() ^= std::byte{1};  // of the checksum

  event_list expected;
  named_options named;
  for (const auto& [name, value] : texts) named.set(name, value);
  const auto add_to = [&](std::int32_t kind) {
    return [&expected, kind](const auto& each) { expected[kind].push_back(without_times(each.to_json())); };
  };
  counter same(named.counting(), {.on_window = add_to(GPUHIST_EVENT_WINDOW),
                                  .on_verdict = add_to(GPUHIST_EVENT_VERDICT),
                                  .on_alert = add_to(GPUHIST_EVENT_ALERT),
                                  .on_unit = add_to(GPUHIST_EVENT_UNIT),
                                  .on_notice = [&](std::string_view text) {
                                    expected[GPUHIST_EVENT_NOTICE].push_back(
                                        {{"kind", "notice"}, {"schema", "gpuhist.result/1"}, {"text", text}});
                                  }});
  input compressed = same.open_input("packed", {.format = "zstd"});
  compressed.feed(packed);
  compressed.finish();
  CHECK_FALSE(same.finish().complete());

  event_list found;
  const owned_options options = options_of(texts);
  CHECK(gpuhist_options_on_event(options, add_event, &found) == GPUHIST_OK);
  const owned_counter counter = make(options);
  const gpuhist_input_options recognised = input_options_of("");
  const owned_input input = open(counter, "packed", &recognised);
  CHECK(gpuhist_input_feed(input, packed.data(), packed.size()) == GPUHIST_OK);
  std::int32_t failed = -1;
  CHECK(gpuhist_input_failed(input, &failed) == GPUHIST_OK);
  CHECK(failed == 1);
  CHECK(gpuhist_input_finish(input) == GPUHIST_OK);
  const owned_results results = finish(counter);
  const json damaged = json_of(results)["inputs"][0];
  CHECK(damaged["error_kind"] == "damaged");
  CHECK(gpuhist_results_unverified_bytes(results) == 2'000'000);

  for (std::int32_t kind = GPUHIST_EVENT_WINDOW; kind <= GPUHIST_EVENT_NOTICE; ++kind) {
    CAPTURE(kind);
    CHECK_FALSE(found[kind].empty());
    if (kind != GPUHIST_EVENT_VERDICT) CHECK(found[kind] == expected[kind]);  // one verdict may be on several windows
  }
  CHECK(found[GPUHIST_EVENT_VERDICT].back()["verified"] == false);
  CHECK(found[GPUHIST_EVENT_UNIT].front()["buckets"].contains("custom"));
  CHECK(found[GPUHIST_EVENT_NOTICE].front()["text"] == "packed: " + damaged["error"].get<std::string>());
}

TEST_CASE("C: snapshots, inputs and progress of a file are events") {
  struct seen {
    event_list events{};
    std::atomic<bool> has_all = false;
  };
  const test::temporary_folder folder;
  const std::string path = folder / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  seen all;
  const owned_options options = host({{"snapshot-every", "50ms"}});
  const auto note = [](void* context, const gpuhist_event* event) -> std::int32_t {
    seen& found = *static_cast<seen*>(context);
    const std::int32_t status = add_event(&found.events, event);
    found.has_all = found.events.contains(GPUHIST_EVENT_PROGRESS) && found.events.contains(GPUHIST_EVENT_SNAPSHOT);
    return status;
  };
  CHECK(gpuhist_options_on_event(options, note, &all) == GPUHIST_OK);
  std::jthread writing([&](const std::stop_token& stop) {
    std::ofstream to(path);
    to << "some text" << std::flush;
    while (!all.has_all && !stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  CHECK(gpuhist_results_complete(count_file(path, options)) == 1);
  CHECK(all.events[GPUHIST_EVENT_SNAPSHOT].back()["kind"] == "snapshot");
  const json& progress = all.events[GPUHIST_EVENT_PROGRESS].back();
  CHECK(progress["kind"] == "progress");
  CHECK(progress["source_bytes"] <= 9);  // the last one may precede the end of the text
  CHECK(progress["text_bytes"].is_number());
  CHECK(progress["elapsed_seconds"] > 0);
  REQUIRE(all.events[GPUHIST_EVENT_INPUT].size() == 1);
  const json& input = all.events[GPUHIST_EVENT_INPUT].front();
  CHECK(input["kind"] == "input");
  CHECK(input["name"] == path);
  CHECK(input["bytes"] == 9);
}

TEST_CASE("C: no other call is accepted in a callback, and null is no event") {
  struct call {
    gpuhist_input* input = nullptr;
    int refused = 0;
  };
  call made;
  const owned_options options = host({{"window", "10B"}});
  const auto feed_again = [](void* context, const gpuhist_event* event) -> std::int32_t {
    call& seen = *static_cast<call*>(context);
    seen.refused += gpuhist_input_feed(seen.input, "a", 1) == GPUHIST_MISUSE ? 1 : 0;
    CHECK(gpuhist_event_json(event, nullptr) == GPUHIST_INVALID_ARGUMENT);
    CHECK(gpuhist_event_counts(event, "bytes", nullptr, 256) == GPUHIST_INVALID_ARGUMENT);
    CHECK(gpuhist_event_counts(event, nullptr, nullptr, 256) == GPUHIST_INVALID_ARGUMENT);
    return 0;
  };
  CHECK(gpuhist_options_on_event(options, feed_again, &made) == GPUHIST_OK);
  const owned_counter counter = make(options);
  const owned_input input = open(counter, "text");
  made.input = input;
  feed(input, std::string(95, 'a'));
  CHECK(gpuhist_results_complete(finish(counter)) == 1);
  CHECK(made.refused == 10);
  CHECK(gpuhist_event_kind(nullptr) == 0);
  CHECK(gpuhist_event_json(nullptr, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_event_counts(nullptr, "bytes", nullptr, 0) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_event_pairs(nullptr, "bytes", nullptr, 0) == GPUHIST_INVALID_ARGUMENT);
}

TEST_CASE("C: a callback that returns another number than 0 cancels a counter, and its exception is a status") {
  const std::string text = std::string(999, 'a') + '\n';
  for (const bool throws : {false, true}) {
    for (const std::string name : {"gpuhist_options_on_event", "gpuhist_input_options.on_kept"}) {
      CAPTURE(name);
      refusal called{.throws = throws};
      const bool filters = name.ends_with("on_kept");
      const owned_options options = filters ? host({{"keep-if", "bytes > 0"}}) : host({{"window", "10B"}});
      gpuhist_input_options receives = input_options_of(nullptr);
      if (filters) {
        receives.on_kept = refuse_text;
        receives.kept_context = &called;
      } else {
        CHECK(gpuhist_options_on_event(options, refuse_event, &called) == GPUHIST_OK);
      }
      const owned_counter counter = make(options);
      const owned_input input = open(counter, "text", &receives);
      while (gpuhist_input_feed(input, text.data(), text.size()) == GPUHIST_OK) {
      }
      CHECK(gpuhist_input_feed(input, "x", 1) == GPUHIST_CLOSED);
      owned_results results;
      const gpuhist_status status = gpuhist_counter_finish(counter, results.out());
      CHECK(called.calls > 0);
      CHECK(status == (throws ? GPUHIST_CALLBACK : GPUHIST_OK));
      CHECK((results == nullptr) == throws);
      if (throws) CHECK(error_names(name + " threw an exception: from a callback"));
      if (!throws) CHECK(gpuhist_results_complete(results) == 0);
    }
  }
}

TEST_CASE("C: a callback that returns another number than 0 ends the reading of a file, as its exception does") {
  const test::temporary_folder folder;
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += "some line\n";
  const std::string path = folder.file("text", text);
  for (const bool throws : {false, true}) {
    for (const bool filters : {false, true}) {
      refusal called{.throws = throws};
      const owned_options options = filters ? host({{"keep-if", "bytes > 0"}}) : host({{"window", "1000B"}});
      CHECK((filters ? gpuhist_options_on_text(options, refuse_text, &called)
                     : gpuhist_options_on_event(options, refuse_event, &called)) == GPUHIST_OK);
      owned_results results;
      const gpuhist_status status = gpuhist_count_file(path.c_str(), options, results.out());
      CHECK(status == (throws ? GPUHIST_CALLBACK : GPUHIST_OK));
      CHECK((results == nullptr) == throws);
      CHECK((filters ? called.calls == 1 : called.calls > 0));
      const std::string name = filters ? "gpuhist_options_on_text" : "gpuhist_options_on_event";
      if (throws) CHECK(error_names(name + " threw an exception: from a callback"));
    }
  }
}

TEST_CASE("C: an exception without a text is a status, and one of a release is why the counting failed") {
  gpuhist_input_options receives = input_options_of(nullptr);
  receives.on_kept = [](void* /*context*/, const void* /*bytes*/, std::size_t /*size*/) -> std::int32_t { throw 5; };
  const owned_counter throwing = make(host({{"keep-if", "bytes > 0"}}));
  const owned_input kept = open(throwing, "text", &receives);
  CHECK(gpuhist_input_feed(kept, "x\n", 2) == GPUHIST_CLOSED);
  owned_results none;
  CHECK(gpuhist_counter_finish(throwing, none.out()) == GPUHIST_CALLBACK);
  CHECK(std::string_view(gpuhist_error_text()) == "gpuhist_input_options.on_kept threw an exception");

  CHECK(gpuhist_input_feed_borrowed(nullptr, "a", 1, throw_from_callback, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("input is null"));
  const owned_counter counter = make(host());
  const owned_input input = open(counter, "text");
  CHECK(gpuhist_input_feed_borrowed(input, "abc", 3, throw_from_callback, nullptr) == GPUHIST_OK);
  const owned_results failed = finish(counter);
  CHECK(gpuhist_results_failure(failed) == GPUHIST_CALLBACK);
  CHECK(std::string_view(gpuhist_results_error(failed)) == "a release callback failed: from a callback");
  CHECK(gpuhist_results_bytes(failed) == 3);
}

TEST_CASE("C: filters and pass-through pass text to a callback, which they require, as it does them") {
  const test::temporary_folder folder;
  const std::string path = folder.file("a", "x1\n222\nyy\n3");
  const std::map<std::string, pairs_of_text> expected = {{"x1\nyy\n3", {{"keep-if", "bytes < 4"}}},
                                                         {"222\n", {{"drop-if", "bytes < 4"}}},
                                                         {"x1\n222\nyy\n3", {{"pass-through", "raw"}}}};
  for (const auto& [text, options] : expected) {
    CAPTURE(text);
    const owned_options receiving = host(options);
    owned_results none;
    CHECK(gpuhist_count_file(path.c_str(), receiving, none.out()) == GPUHIST_INVALID_ARGUMENT);
    CHECK(error_names("gpuhist_options_on_text"));
    std::string received;
    CHECK(gpuhist_options_on_text(receiving, append_text, &received) == GPUHIST_OK);
    CHECK(gpuhist_results_complete(count_file(path, receiving)) == 1);
    CHECK(received == text);
  }
  owned_results none;
  const owned_options receiving = host();
  CHECK(gpuhist_options_on_text(receiving, append_text, nullptr) == GPUHIST_OK);
  CHECK(gpuhist_count_file(path.c_str(), receiving, none.out()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("gpuhist_options_on_text: requires"));
  owned_counter refused;
  CHECK(gpuhist_counter_create(receiving, refused.out()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("gpuhist_options_on_text: only for gpuhist_count_file"));
  CHECK(gpuhist_options_on_text(receiving, nullptr, nullptr) == GPUHIST_OK);
  CHECK(gpuhist_results_complete(count_file(path, receiving)) == 1);
}

TEST_CASE("C: the text that a filter keeps of a fed input is passed to the callback of the input") {
  const owned_counter counter = make(host({{"each", "record"}, {"delimiter", ";"}, {"keep-if", "bytes < 3"}}));
  std::string kept;
  gpuhist_input_options receives = input_options_of(nullptr);
  receives.on_kept = append_text;
  receives.kept_context = &kept;
  const owned_input input = open(counter, "text", &receives);
  feed(input, "x;yyy;z");
  CHECK(kept == "x;");
  CHECK(gpuhist_input_finish(input) == GPUHIST_OK);
  CHECK(kept == "x;z");
  const json units = json_of(finish(counter))["units"];
  CHECK(units["seen"] == 3);
  CHECK(units["selected"] == 2);
}

TEST_CASE("C: structures of older callers have defaults, and unknown fields and impossible sizes are refused") {
  struct newer_options {
    gpuhist_input_options known;
    std::uint64_t unknown;
  };
  const owned_counter counter = make(host());
  newer_options newer{.known = input_options_of("zstd"), .unknown = 0};
  newer.known.size = sizeof(newer);
  static_cast<void>(open(counter, "newer", &newer.known));
  newer.unknown = 1;
  owned_input refused;
  CHECK(gpuhist_input_open_with(counter, "newer", &newer.known, refused.out()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(refused == nullptr);
  CHECK(error_names("gpuhist_input_options"));
  gpuhist_input_options older = input_options_of(nullptr);
  for (const std::size_t size : {std::size_t{0}, static_cast<std::size_t>(1) << 40U}) {
    older.size = size;
    CHECK(gpuhist_input_open_with(counter, "older", &older, refused.out()) == GPUHIST_INVALID_ARGUMENT);
    CHECK(error_names("gpuhist_input_options.size"));
  }
  older.size = offsetof(gpuhist_input_options, on_kept);
  older.on_kept = append_text;  // is not read: without a filter it would be refused
  static_cast<void>(open(counter, "older", &older));
}

TEST_CASE("C: null, unknown names and numbers, and calls in the wrong order are errors with a text") {
  CHECK(gpuhist_counter_create(nullptr, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("made is null"));
  const owned_counter counter = make(host());
  owned_input input;
  CHECK(gpuhist_input_open(nullptr, "text", input.out()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_input_open(counter, nullptr, input.out()) == GPUHIST_INVALID_ARGUMENT);
  const gpuhist_input_options unknown = input_options_of("rar");
  CHECK(gpuhist_input_open_with(counter, "text", &unknown, input.out()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("'rar'"));
  REQUIRE(gpuhist_input_open(counter, "text", input.out()) == GPUHIST_OK);
  int releases = 0;
  const auto release = [](void* context) { ++*static_cast<int*>(context); };
  CHECK(gpuhist_input_feed(nullptr, "a", 1) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_input_feed(input, nullptr, 1) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_input_feed_borrowed(nullptr, "a", 1, release, &releases) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_input_feed_borrowed(input, nullptr, 1, release, &releases) == GPUHIST_INVALID_ARGUMENT);
  CHECK(releases == 2);
  gpuhist_buffer* buffer = nullptr;
  void* bytes = nullptr;
  std::size_t size = 0;
  CHECK(gpuhist_input_lend(input, 0, &buffer, &bytes, &size) == GPUHIST_INVALID_ARGUMENT);
  REQUIRE(gpuhist_input_lend(input, 10, &buffer, &bytes, &size) == GPUHIST_OK);
  owned_results results;
  CHECK(gpuhist_counter_finish(counter, results.out()) == GPUHIST_MISUSE);
  CHECK(gpuhist_buffer_commit(buffer, size + 1) == GPUHIST_INVALID_ARGUMENT);
  gpuhist_buffer_destroy(buffer);
  CHECK(gpuhist_buffer_commit(nullptr, 0) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_input_fail(input, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_input_fail(input, "mine") == GPUHIST_OK);
  CHECK(gpuhist_input_finish(input) == GPUHIST_MISUSE);
  CHECK(gpuhist_counter_finish(counter, nullptr) == GPUHIST_INVALID_ARGUMENT);
  results = finish(counter);
  CHECK(gpuhist_counter_cancel(counter) == GPUHIST_OK);
  CHECK(gpuhist_input_feed(input, "a", 1) == GPUHIST_CLOSED);
  const json failed = json_of(results)["inputs"][0];
  CHECK(failed["error_kind"] == "unreadable");
  CHECK(failed["error"] == "mine");
  std::uint64_t counts = 0;
  CHECK(gpuhist_results_counts(results, "bytes", &counts, 1) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_results_counts(results, "letters", &counts, 1) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_results_input_counts(results, 1, "bytes", &counts, 1) == GPUHIST_INVALID_ARGUMENT);
  const char* name = nullptr;
  CHECK(gpuhist_results_bucket_name(results, "bytes", 256, &name) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_results_scheme_name(results, 2, &name) == GPUHIST_INVALID_ARGUMENT);
  gpuhist_options_destroy(nullptr);
  gpuhist_counter_destroy(nullptr);
  gpuhist_input_destroy(nullptr);
  gpuhist_buffer_destroy(nullptr);
  gpuhist_results_destroy(nullptr);
  CHECK(gpuhist_results_complete(nullptr) == 0);
  CHECK(gpuhist_results_bytes(nullptr) == 0);
  CHECK(gpuhist_results_failure(nullptr) == GPUHIST_OK);
}

TEST_CASE("C: a file is counted as by a counter, and what it lacks is in the result") {
  const test::temporary_folder folder;
  const std::string text = random_text(300000, 9);
  const owned_options options = host();
  const owned_results counted = count_file(folder.file("text", text), options);
  CHECK(gpuhist_results_complete(counted) == 1);
  CHECK(bytes_in(counted) == byte_counts(text));
  const owned_results missing = count_file(folder / "missing", options);
  CHECK(gpuhist_results_complete(missing) == 0);
  CHECK(json_of(missing)["inputs"][0]["error_kind"] == "unreadable");
}

TEST_CASE("C: a file without a path, and standard input, are refused") {
  owned_results result;
  CHECK(gpuhist_count_file(nullptr, nullptr, result.out()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_count_file("x", nullptr, nullptr) == GPUHIST_INVALID_ARGUMENT);
  CHECK(gpuhist_count_file("-", nullptr, result.out()) == GPUHIST_INVALID_ARGUMENT);
  CHECK(error_names("standard input"));
  CHECK(result == nullptr);
}

TEST_CASE("C: threads read names and JSON of one result at once") {
  const owned_counter counter = make(host());
  const owned_input input = open(counter, "text");
  feed(input, "abc");
  const owned_results results = finish(counter);
  std::vector<std::jthread> reading;
  for (int i = 0; i < 4; ++i) {
    reading.emplace_back([&results] {
      for (std::size_t number = 0; number < 100; ++number) {
        const char* text = nullptr;
        CHECK(gpuhist_results_bucket_name(results, number % 2 == 0 ? "bytes" : "custom", 0, &text) == GPUHIST_OK);
        CHECK(gpuhist_results_json(results, &text) == GPUHIST_OK);
      }
    });
  }
}

}  // namespace gpuhist
