#include "pipeline/flow/decoding/archive_walk.hpp"

#include "async/task_group.hpp"
#include "config/size.hpp"
#include "io/input_error.hpp"
#include "pipeline/counts/input_failure.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <utility>

namespace gpuhist::pipeline {

namespace {

constexpr unsigned deepest = 3;  // archives around a text

std::string within(std::string_view inner, const std::string& outer) {
  return outer.empty() ? std::string(inner) : std::string(inner) + "." + outer;
}

// What a head is. Where it could not be read to its end, that is what is wrong, and not what the part of it looks like.
template <typename Settle>
auto settled(const peeking_bytes& head, Settle settle) {
  if (!head.failure()) return settle();
  try {
    return settle();
  } catch (const io::input_error&) {
    std::rethrow_exception(head.failure());
  }
}

}  // namespace

archive_walk::archive_walk(const archive_limits& limits, std::atomic<std::int64_t>& members_left,
                           decode_context& context, async::executor& pool, rolling_counts& counts, feed_notes& notes,
                           std::stop_token stop)
    : limits_(limits),
      members_left_(members_left),
      context_(context),
      pool_(pool),
      counts_(counts),
      notes_(notes),
      stop_(std::move(stop)) {
  constexpr std::size_t buffer_bytes = std::size_t{64} << 10U;
  buffer_.resize(buffer_bytes);
  context_.cut.set_chunking({});  // whoever had it before may have
}

void archive_walk::run(input_id input, const std::string& name, io::byte_reader& bytes,
                       std::optional<io::archive_kind> forced) {
  archive_ = input;
  forced_ = forced;
  verdict_gate bottom(nullptr, counts_);
  peeking_bytes peeking(bytes);
  entry own{.input = input};
  const content whole{
      .name = name, .path = name, .format = {}, .bytes = peeking, .below = bottom, .depth = 0, .shown = own};
  try {
    count(whole);
    // whoever writes into a pipe is not to fail because the archive's end came before theirs
    if (!bytes.seekable_bytes()) attempt(whole, [&] { drain(whole); });
  } catch (const io::input_error&) {
    given_up_ = true;  // why was noted where it happened, and around it
  }
  if (!own.has_text) counts_.finish(input, 0);
}

// One compression at the most, and then what is in it.
void archive_walk::count(const content& what) {
  attempt(what, [&] {
    const bool is_forced = what.depth == 0 && forced_;
    const auto head = what.bytes.peek(io::zlib_head_bytes);
    const io::format* const found =
        settled(what.bytes, [&] { return &io::settle_format(is_forced ? std::string() : what.path, head, nullptr); });
    if (found->make_decoder != nullptr) return count_compressed(what, *found);
    count_decoded(what);
  });
}

void archive_walk::count_compressed(const content& what, const io::format& compression) {
  std::unique_ptr<io::decoder> own;
  if (what.depth > 0) own = compression.make_decoder(limits_.inner_decoder);
  io::decoder& decoder = own ? *own : context_.decoder_for(compression);
  decoded_bytes::settings how{.most = max_decoded()};
  if (!own) how.grant_window = [this] { async::run_blocking(pool_, context_.grant_window()); };
  verdict_gate frames(&what.below, counts_);
  decoded_bytes decoded(what.bytes, decoder, frames, notes_, std::move(how));
  peeking_bytes peeking(decoded);
  const content inner{.name = what.name,
                      .path = what.path,
                      .format = within(compression.name, what.format),
                      .bytes = peeking,
                      .below = frames,
                      .depth = what.depth,
                      .shown = what.shown};
  attempt(inner, [&] { count_decoded(inner); });
  attempt(inner, [&] { drain(inner); });  // what was counted waits for the verdict over its frame
  if (what.depth == 0) counts_.set_compressed_bytes(archive_, 1, decoder.consumed_total());
}

void archive_walk::count_decoded(content what) {
  const bool is_forced = what.depth == 0 && forced_;
  const auto head = what.bytes.peek(io::archive_head_bytes);
  const io::archive_kind kind =
      is_forced ? *forced_ : settled(what.bytes, [&] { return io::settle_archive(what.path, head); });
  if (kind == io::archive_kind::none) return count_text(what);
  what.format = within(io::name_of(kind), what.format);
  if (what.shown.input) counts_.set_format(*what.shown.input, what.format);
  attempt(what, [&] { count_members(what, kind); });
}

void archive_walk::count_members(const content& what, io::archive_kind kind) {
  if (what.depth == deepest) {
    throw io::input_error(
        "is an archive within " + std::to_string(deepest) + " others, deeper than gpuhist looks; extract it first", 0,
        failure_kind::refused);
  }
  io::archive_reader reader(kind, what.bytes);
  bool any = false;
  try {
    while (const std::optional<std::string> path = reader.next()) {
      count_member(what, reader, *path);
      any = true;
    }
  } catch (...) {
    note_skipped(what, reader);
    throw;
  }
  note_skipped(what, reader);
  if (!any) counts_.finish(shown(what), 0);
}

void archive_walk::note_skipped(const content& of, const io::archive_reader& reader) {
  for (const io::skipped_entries& each : reader.skipped()) {
    add_skipped(skipped_, {.cause = std::string(each.kind) + " in an archive",
                           .count = each.count,
                           .first = of.name + "/" + each.first,
                           .bytes = each.bytes});
  }
}

void archive_walk::count_member(const content& of, io::archive_reader& reader, const std::string& path) {
  // a long name counts as several members
  const std::string name = of.name + "/" + path;
  const auto room = static_cast<std::int64_t>(1 + name.size() / archive_limits::bytes_of_name);
  if (members_left_.fetch_sub(room) < room) {
    given_up_ = true;
    throw io::input_error(
        "holds more members than the memory limit has room for in the result; give a higher "
        "--memory-limit",
        0, failure_kind::refused);
  }
  verdict_gate member(&of.below, counts_);
  member_bytes bytes(reader, member);
  peeking_bytes peeking(bytes);
  entry own;
  const content what{.name = name,
                     .path = path,
                     .format = of.format,
                     .bytes = peeking,
                     .below = member,
                     .depth = of.depth + 1,
                     .shown = own};
  count(what);
  // what was counted of an archive within waits for the verdict over the member
  if (!reader.is_broken()) attempt(what, [&] { drain(what); });
}

void archive_walk::count_text(const content& what) {
  const input_id input = shown(what);
  counts_.open_group(input);
  what.shown.has_text = true;
  std::uint64_t bytes = 0;
  try {
    while (const std::size_t size = what.bytes.read(buffer_)) {
      put(std::span(buffer_).first(size), input);
      bytes += size;
      text_bytes_ += size;
      if (stop_.stop_requested()) throw as_error(left_at(bytes));
      if (text_bytes_ <= limits_.max_text) continue;
      given_up_ = true;
      throw io::input_error("the archive holds more text than the " + config::format_size(limits_.max_text) +
                                " of --max-output; given up",
                            0, failure_kind::refused);
    }
  } catch (...) {
    counts_.close_group(input, 1,
                        {.text_bytes = bytes,
                         .failure = [why = failure_from(std::current_exception())](std::uint64_t) { return why; }});
    counts_.finish(input, bytes);
    throw;
  }
  what.below.hand_down({.input = input, .bytes = bytes});
}

void archive_walk::put(std::span<const std::byte> text, input_id input) {
  if (limits_.text_to != nullptr) async::run_blocking(pool_, limits_.text_to->write(text));
  while (!text.empty()) {
    const reservation where = room(text.size());
    std::copy_n(text.begin(), where.bytes.size(), where.bytes.begin());
    context_.cut.commit(where, where.bytes.size(), {.input = input, .group = 1, .frame = 1});
    text = text.subspan(where.bytes.size());
  }
}

reservation archive_walk::room(std::uint64_t wanted) {
  if (const std::optional<reservation> free = context_.cut.try_reserve(wanted)) return *free;
  return async::run_blocking(pool_, context_.cut.reserve(wanted));
}

// Its entry in the result. An archive is represented by its members as soon as it has one.
input_id archive_walk::shown(const content& what) {
  if (what.shown.input) return *what.shown.input;
  what.shown.input = counts_.open_member(what.name, archive_);
  counts_.set_format(*what.shown.input, what.format.empty() ? "raw" : what.format);
  if (!std::exchange(is_represented_by_members_, true)) counts_.represent_by_members(archive_);
  return *what.shown.input;
}

// What goes wrong with a content is noted there. What surrounds it goes on, unless all is over.
void archive_walk::attempt(const content& what, const std::function<void()>& task) {
  input_failure wrong;
  try {
    return task();
  } catch (const std::bad_alloc&) {
    wrong = {.kind = failure_kind::out_of_memory, .text = "not enough memory to read it"};
  } catch (const io::input_error&) {
    wrong = failure_from(std::current_exception());
  }
  if (io::is_cut_short(wrong.kind)) what.below.note_interruption();
  counts_.fail(shown(what), 0, wrong);
  if (is_finished()) throw as_error(wrong);
}

void archive_walk::drain(const content& what) {
  while (what.bytes.read(buffer_) > 0) {
  }
}

// Headers and padding are let have as much as the text, and something on top.
std::uint64_t archive_walk::max_decoded() const {
  constexpr std::uint64_t on_top = std::uint64_t{64} << 20U;
  const std::uint64_t most = limits_.max_text;
  return most > (~std::uint64_t{0} - on_top) / 2 ? ~std::uint64_t{0} : 2 * most + on_top;
}

}  // namespace gpuhist::pipeline
