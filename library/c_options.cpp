// The C interface of options and events: a translation of named_options.hpp and of the callbacks of a run.
#include "library/c_interface.hpp"

#include "gpuhist/errors.hpp"
#include "gpuhist/results.hpp"
#include "gpuhist/units.hpp"
#include "library/results.hpp"
#include "report/formats/member_writer.hpp"
#include "report/formats/report.hpp"
#include "report/formats/report_json.hpp"

#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

/// Borrows what happened. The text that is returned is kept here.
struct gpuhist_event {
  using any = std::variant<const gpuhist::window*, const gpuhist::verdict*, const gpuhist::unit*, const gpuhist::alert*,
                           const std::string_view*, const gpuhist::results*, const gpuhist::progress*>;

  std::int32_t kind;
  any happened;
  mutable std::string json{};
};

namespace gpuhist::c_interface {
namespace {

std::string line_of(std::string_view notice) {
  report::object_text line;
  report::add_beginning(line.members, "notice", {});
  line.members.add_text("text", notice);
  return line.take() + "\n";
}

std::string line_of(const progress& now) {
  report::object_text line;
  report::add_beginning(line.members, "progress", {});
  line.members.add_number("source_bytes", now.source_bytes);
  line.members.add_number("text_bytes", now.text_bytes);
  line.members.add_number("elapsed_seconds", now.elapsed.count());
  return line.take() + "\n";
}

// Of a snapshot, or of an input as a result that contains it alone.
std::string line_of(const results& counted) {
  if (counted.type() == results::kind::snapshot) return counted.to_json();
  const report::run_report& content = counted.shared().content;
  return report::input_json_line(content, {}, content.inputs[0]);
}

template <typename Event>
std::string line_of(const Event& happened) {
  return happened.to_json();
}

// Calls a function with the counts of the event. Throws errc::invalid_argument if it has none.
template <typename Call>
void with_counts(const gpuhist_event& event, const Call& call) {
  const auto visit = [&]<typename Event>(const Event* happened) {
    if constexpr (std::is_same_v<Event, window> || std::is_same_v<Event, results>) {
      call(*happened);
    } else {
      throw error(errc::invalid_argument, "the event has no counts; windows, snapshots and inputs have");
    }
  };
  std::visit(visit, event.happened);
}

// A callback of counting_events or file_events.
auto publish(std::int32_t kind, const gpuhist_options& options, const std::stop_source& stop) {
  return [kind, on_event = options.on_event, stop = std::stop_source(stop)](const auto& happened) mutable {
    const gpuhist_event event{.kind = kind, .happened = &happened};
    if (call_back("gpuhist_options_on_event", [&] { return on_event(&event); }) != 0) stop.request_stop();
  };
}

const std::vector<std::string>& all_names() {
  static const std::vector<std::string> names = option_names();
  return names;
}

}  // namespace

counting_events events_of(const gpuhist_options& options, const std::stop_source& stop) {
  if (!options.on_event) return {};
  return {.on_window = publish(GPUHIST_EVENT_WINDOW, options, stop),
          .on_verdict = publish(GPUHIST_EVENT_VERDICT, options, stop),
          .on_alert = publish(GPUHIST_EVENT_ALERT, options, stop),
          .on_unit = publish(GPUHIST_EVENT_UNIT, options, stop),
          .on_notice = publish(GPUHIST_EVENT_NOTICE, options, stop)};
}

file_events file_events_of(const gpuhist_options& options, const std::stop_source& stop) {
  file_events made;
  if (!options.on_event) return made;
  static_cast<counting_events&>(made) = events_of(options, stop);
  made.on_snapshot = publish(GPUHIST_EVENT_SNAPSHOT, options, stop);
  made.on_input = publish(GPUHIST_EVENT_INPUT, options, stop);
  made.on_progress = publish(GPUHIST_EVENT_PROGRESS, options, stop);
  return made;
}

}  // namespace gpuhist::c_interface

using gpuhist::c_interface::all_names;
using gpuhist::c_interface::copy_counts;
using gpuhist::c_interface::given;
using gpuhist::c_interface::guarded;
using gpuhist::c_interface::line_of;
using gpuhist::c_interface::with_counts;

extern "C" {

gpuhist_status gpuhist_options_create(gpuhist_options** made) {
  return guarded([&] {
    given(made, "made") = nullptr;
    *made = new gpuhist_options;
  });
}

gpuhist_status gpuhist_options_set(gpuhist_options* options, const char* name, const char* value) {
  return guarded([&] { given(options, "options").named.set(&given(name, "name"), &given(value, "value")); });
}

gpuhist_status gpuhist_options_on_event(gpuhist_options* options,
                                        int32_t (*on_event)(void* context, const gpuhist_event* event), void* context) {
  return guarded([&] {
    auto& set = given(options, "options").on_event;
    set = nullptr;
    if (on_event == nullptr) return;
    set = [on_event, context](const gpuhist_event* event) { return on_event(context, event); };
  });
}

gpuhist_status gpuhist_options_on_text(gpuhist_options* options,
                                       int32_t (*on_text)(void* context, const void* bytes, size_t size),
                                       void* context) {
  return guarded([&] {
    auto& set = given(options, "options").on_text;
    set = nullptr;
    if (on_text == nullptr) return;
    set = [on_text, context](const void* bytes, std::size_t size) { return on_text(context, bytes, size); };
  });
}

void gpuhist_options_destroy(gpuhist_options* options) { delete options; }

const char* gpuhist_option_name(size_t number) {
  const char* name = nullptr;
  guarded([&] {
    if (number < all_names().size()) name = all_names()[number].c_str();
  });
  return name;
}

int32_t gpuhist_event_kind(const gpuhist_event* event) { return event == nullptr ? 0 : event->kind; }

gpuhist_status gpuhist_event_json(const gpuhist_event* event, const char** json) {
  return guarded([&] {
    std::string& text = given(event, "event").json;
    const char*& to = given(json, "json");
    if (text.empty()) text = std::visit([](const auto* happened) { return line_of(*happened); }, event->happened);
    to = text.c_str();
  });
}

gpuhist_status gpuhist_event_counts(const gpuhist_event* event, const char* scheme, uint64_t* counts, size_t room) {
  return guarded([&] {
    with_counts(given(event, "event"),
                [&](const auto& counted) { copy_counts(counted.counts(&given(scheme, "scheme")), counts, room); });
  });
}

gpuhist_status gpuhist_event_pairs(const gpuhist_event* event, const char* scheme, uint64_t* counts, size_t room) {
  return guarded([&] {
    with_counts(given(event, "event"),
                [&](const auto& counted) { copy_counts(counted.pairs(&given(scheme, "scheme")), counts, room); });
  });
}

}  // extern "C"
