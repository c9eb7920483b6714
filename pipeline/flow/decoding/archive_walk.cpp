#include "pipeline/flow/decoding/archive_walk.hpp"

#include "async/task_group.hpp"
#include "config/size.hpp"
#include "io/archive/seven_zip_decoder.hpp"
#include "io/archive/volume_name.hpp"
#include "io/archive/zip_records.hpp"
#include "io/failure.hpp"
#include "pipeline/counts/input_report.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <utility>

namespace gpuhist::pipeline {

namespace {

constexpr unsigned max_depth = 3;  // archives around a text

std::string within(std::string_view inner, const std::string& outer) {
  return outer.empty() ? std::string(inner) : std::string(inner) + "." + outer;
}

// Determines the format of a head. If the head could not be read as a whole, reports that error instead of an error
// that is caused by the missing bytes.
template <typename Settle>
auto settled(const peeking_bytes& head, Settle settle) {
  if (!head.failure()) return settle();
  try {
    return settle();
  } catch (const io::input_error&) {
    std::rethrow_exception(head.failure());
  }
}

// Volumes of an archive cannot be read, because its rest is in other files. An archive that ends early may be a volume,
// by its name or its first bytes; the end of a zip archive may state that it is one.
input_failure explained(input_failure failure, const std::string& path, io::byte_reader& bytes) {
  if (failure.kind != failure_kind::damaged) return failure;
  const bool lacks_end = failure.missing == lack::end;
  const auto volume = lacks_end ? io::volume_named(path) : std::nullopt;
  if (volume) {
    failure.text += "; it " + volume->cause() + "; " + volume->remedy;
  } else if (io::promised_archive(path).kind == io::archive_kind::zip && io::ends_split_zip(bytes)) {
    failure.text = "is the last volume of a split archive; " + io::join_split_zip(path);
  } else if (lacks_end && io::begins_split_zip(bytes)) {
    failure.text += "; it is the first volume of a split archive; " + io::join_split_zip("LAST.zip");
  } else {
    return failure;
  }
  failure.kind = failure_kind::refused;
  return failure;
}

}  // namespace

archive_walk::archive_walk(const archive_limits& limits, decode_context& context, async::executor& pool,
                           rolling_counts& counts, feed_notes& notes, std::stop_token stop)
    : limits_(limits),
      context_(context),
      pool_(pool),
      counts_(counts),
      notes_(notes),
      stop_(std::move(stop)),
      windows_(*limits.windows, context, pool) {
  constexpr std::size_t buffer_bytes = std::size_t{64} << 10U;
  buffer_.resize(buffer_bytes);
  context_.cut.set_chunking({});  // the previous user may have changed it
  if (limits_.text_to != nullptr && limits_.text_to->awaits_verdicts()) held_.emplace(*limits_.text_to);
}

void archive_walk::run(input_id input, const std::string& name, io::byte_reader& bytes,
                       std::optional<io::archive_kind> forced, const io::file_source* file) {
  archive_ = input;
  file_ = file;
  verdict_gate bottom(counts_, held_ ? &*held_ : nullptr);
  peeking_bytes peeking(bytes);
  entry own{.input = input};
  const content whole{.name = name,
                      .path = name,
                      .format = {},
                      .bytes = peeking,
                      .below = bottom,
                      .depth = 0,
                      .shown = own,
                      .forced = forced};
  try {
    count(whole);
    // reads a pipe to its end: a writer must not fail because the archive ends before its data
    if (!bytes.seekable_bytes()) attempt(whole, [&] { drain(whole); });
  } catch (const io::input_error&) {
    given_up_ = true;  // the cause was noted for the member and for everything around it
  }
  if (!own.has_text) counts_.finish(input, 0);
}

// Handles at most one compression, and then the decompressed content.
void archive_walk::count(const content& item) {
  attempt(item, [&] {
    const auto head = item.bytes.peek_head();
    const io::identity found = settled(item.bytes, [&] {
      return io::identify(item.forced ? std::string() : item.path, head, nullptr, limits_.rules);
    });
    note(item, found.notice);
    if (found.format.make_decoder != nullptr) return count_compressed(item, found.format);
    count_decoded(item);
  });
}

void archive_walk::count_compressed(const content& item, const io::format& compression) {
  archive_windows::member window(windows_);
  std::unique_ptr<io::decoder> own;
  if (!item.format.empty()) own = compression.make_decoder(limits_.inner_decoder);
  io::decoder& decoder = own ? *own : context_.decoder_for(compression);
  decoded_bytes::settings options{.begin = item.begin,
                                  .max_text = max_decoded(),
                                  .grant_window =
                                      [&](io::decoder& of) {
                                        if (own) return window.grant(of, limits_.inner_decoder);
                                        windows_.grant_outer(of);
                                        return std::string();
                                      },
                                  .note = [&](const io::notice& found) { note(item, found); },
                                  .ahead = own ? nullptr : blocks_ahead(item, compression)};
  is_decoding_ |= own == nullptr;
  verdict_gate frames(item.below);
  decoded_bytes decoded(item.bytes, decoder, &frames, notes_, std::move(options));
  peeking_bytes peeking(decoded);
  const content inner{.name = item.name,
                      .path = item.path,
                      .format = within(compression.name, item.format),
                      .bytes = peeking,
                      .below = frames,
                      .depth = item.depth,
                      .shown = item.shown,
                      .forced = item.forced};
  attempt(inner, [&] { count_decoded(inner, &compression); });
  attempt(inner, [&] { drain(inner); });  // the counts wait for the verdict of the frame
  if (!own) counts_.set_compressed_bytes(archive_, 1, decoded.consumed());
}

// The threads of the pool decode the compression around the whole archive ahead.
std::unique_ptr<ahead_blocks> archive_walk::blocks_ahead(const content& item, const io::format& compression) {
  if (limits_.threads < 2) return nullptr;
  ahead_resources resources{.pool = pool_,
                            .threads = limits_.threads,
                            .memory = context_.shared_memory(),
                            .limits = context_.limits(),
                            .parts = [this, &compression] { return parts_of(compression, file_, notes_, stop_); }};
  return std::make_unique<ahead_blocks>(item.bytes, compression, std::move(resources), notes_.decompress);
}

void archive_walk::count_decoded(content item, const io::format* compression) {
  const auto head = item.bytes.peek(io::archive_head_bytes);
  const io::settled_archive settled_as =
      item.forced ? io::settled_archive{.kind = *item.forced}
                  : settled(item.bytes, [&] { return io::identify_text(item.path, head, compression, limits_.rules); });
  const io::archive_kind kind = settled_as.kind;
  note(item, settled_as.notice);
  if (settled_as.encoding != io::text_encoding::utf8) {
    return count_compressed(item, io::encoded_format(settled_as.encoding));
  }
  if (kind == io::archive_kind::none) return count_text(item);
  item.format = within(io::name_of(kind), item.format);
  if (item.shown.input) counts_.set_format(*item.shown.input, item.format);
  attempt(item, [&] { count_members(item, kind); });
}

void archive_walk::count_members(const content& item, io::archive_kind kind) {
  if (item.depth == max_depth) {
    throw io::input_error(
        "is an archive within " + std::to_string(max_depth) + " others, deeper than gpuhist looks; extract it first", 0,
        failure_kind::refused);
  }
  const std::unique_ptr<member_queue> ahead = decode_ahead(item, kind);
  io::archive_reader reader(kind, item.bytes, ahead.get());
  bool any = false;
  try {
    while (const std::optional<std::string> path = reader.next()) {
      count_member(item, reader, *path);
      any = true;
    }
  } catch (...) {
    note_skipped(item, reader);
    throw;
  }
  note_skipped(item, reader);
  note(item, reader.notice());
  if (!any && kind != io::archive_kind::rpm) counts_.finish(shown(item), 0);
  if (reader.following() != nullptr) count_following(item, reader);
}

// A cpio archive, compressed or not, after a cpio archive or the headers of an rpm package.
void archive_walk::count_following(const content& archive, io::archive_reader& reader) {
  peeking_bytes peeking(*reader.following());
  const content compressed{.name = archive.name,
                           .path = {},
                           .format = archive.format,
                           .bytes = peeking,
                           .below = archive.below,
                           .depth = archive.depth,
                           .shown = archive.shown,
                           .forced = io::archive_kind::cpio,
                           .begin = reader.following_at()};
  const io::format& compression = io::detect(peeking.peek(io::archive_head_bytes));
  if (compression.make_decoder == nullptr) return count_decoded(compressed);
  count_compressed(compressed, compression);
}

// Members can be decoded in any order if the directory locates them in a file. Null: they cannot.
std::unique_ptr<member_queue> archive_walk::decode_ahead(const content& item, io::archive_kind kind) {
  const bool is_of_7z = kind == io::archive_kind::seven_zip;
  if ((kind != io::archive_kind::zip && !is_of_7z) || file_ == nullptr) return {};
  if (!item.bytes.seekable_bytes() || limits_.threads < 2) return {};
  constexpr std::uint64_t most = std::uint64_t{128} << 20U;
  source_bytes directory(*file_, notes_, stop_);
  const member_queue::settings options{.threads = limits_.threads,
                                       .max_bytes = std::min(most, context_.limits().window_bytes / 2),
                                       .list = is_of_7z ? io::list_seven_zip_members : io::list_zip_members};
  return std::make_unique<member_queue>(options, *file_, directory, pool_, context_.shared_memory(), notes_);
}

void archive_walk::note_skipped(const content& archive, const io::archive_reader& reader) {
  for (const io::skipped_entries& each : reader.skipped()) {
    add_skipped(skipped_, {.kind = each.type,
                           .cause = std::string(each.kind) + " in an archive",
                           .count = each.count,
                           .first = archive.name + "/" + each.first,
                           .bytes = each.bytes});
  }
}

void archive_walk::count_member(const content& archive, io::archive_reader& reader, const std::string& path) {
  const std::string name = archive.name + "/" + path;
  if (archive.below.has_pending_verdict() && counts_.waiting_members() >= limits_.max_waiting) {
    given_up_ = true;
    throw io::input_error("more than " + std::to_string(limits_.max_waiting) +
                              " members wait until the frame around them is verified, which the memory limit does not "
                              "permit; give a higher --memory-limit",
                          0, failure_kind::refused);
  }
  verdict_gate member(archive.below);
  member_bytes bytes(reader, member, archive.bytes.seekable_bytes().has_value());
  peeking_bytes peeking(bytes);
  entry own;
  const content member_content{.name = name,
                               .path = path,
                               .format = archive.format,
                               .bytes = peeking,
                               .below = member,
                               .depth = archive.depth + 1,
                               .shown = own};
  count(member_content);
  // the counts of a nested archive wait for the verdict of the member
  if (!reader.is_broken()) attempt(member_content, [&] { drain(member_content); });
  if (own.input && !own.has_text) counts_.finish(*own.input, 0);  // an archive with a notice
}

void archive_walk::count_text(const content& item) {
  const input_id input = shown(item);
  text_track text({.counts = counts_, .taps = held_ ? nullptr : limits_.text_to}, {.input = input});
  text.open_group(1);
  item.shown.has_text = true;
  const std::uint64_t held_at = held_ ? held_->begin() : 0;
  try {
    while (const std::size_t size = put_next(item.bytes, text)) {
      text_bytes_ += size;
      if (stop_.stop_requested()) throw as_error(left_at(text.bytes()));
      if (text_bytes_ <= limits_.max_text) continue;
      given_up_ = true;
      throw io::input_error("the archive holds more text than the " + config::format_size(limits_.max_text) +
                                " of --max-output; given up",
                            0, failure_kind::refused);
    }
  } catch (...) {
    input_failure cause = failure_from(std::current_exception());
    end_text({.input = input, .bytes = text.bytes(), .held_at = held_at}, cause);
    text.close_group({.failure = [cause = std::move(cause)](std::uint64_t) { return cause; }});
    text.finish();
    throw;
  }
  const member_text whole{.input = input, .bytes = text.bytes(), .held_at = held_at};
  if (!held_) end_text(whole, {});
  item.below.submit(whole);
}

// Returns the number of bytes that were read and are counted. A stream is not read into a slot: while it pauses, the
// text that is in the slot has to be counted for snapshots.
std::size_t archive_walk::put_next(io::byte_reader& content, text_track& to) {
  if (file_ != nullptr && limits_.text_to == nullptr) {
    // one byte more than permitted, so that more is noticed
    const std::uint64_t permitted = limits_.max_text - std::min<std::uint64_t>(limits_.max_text, text_bytes_);
    constexpr std::uint64_t any = std::numeric_limits<std::uint32_t>::max();
    held_reservation target = room(std::min(any, permitted) + 1);
    const std::size_t size = content.read(target.bytes());
    to.commit(target, size);
    return size;
  }
  const std::size_t size = content.read(buffer_);
  if (size > 0) put(std::span(buffer_).first(size), to);
  return size;
}

void archive_walk::put(std::span<const std::byte> text, text_track& to) {
  if (held_) held_->add(text);
  if (to.is_observed()) async::run_here(to.observe(text));
  while (!text.empty()) {
    held_reservation target = room(text.size());
    const std::size_t size = target.bytes().size();
    std::copy_n(text.begin(), size, target.bytes().begin());
    to.commit(target, size);
    text = text.subspan(size);
  }
}

// Text that is held and has not failed ends with its verdict instead.
void archive_walk::end_text(const member_text& ended, const input_failure& failure) {
  using enum held_members::verdict;
  using ending = input_observer::ending;
  if (held_) {
    held_->conclude({.input = ended.input, .begin = ended.held_at, .bytes = ended.bytes},
                    failure.kind == failure_kind::damaged ? damaged : unread);
  } else if (limits_.text_to != nullptr) {
    const ending how = failure.is_none() ? ending::whole : ending::early;
    async::run_here(limits_.text_to->end(ended.input, how));
  }
}

// While threads of the pool decode what is around the archive, none of them is free to count.
held_reservation archive_walk::room(std::uint64_t wanted) {
  if (is_decoding_) context_.choose_chunking();
  if (const std::optional<reservation> free = context_.cut.try_reserve(wanted)) return {context_.cut, *free};
  return {context_.cut, async::run_blocking(pool_, context_.cut.reserve(wanted))};
}

// The input of a content in the result. Once an archive has a member, its members represent it.
input_id archive_walk::shown(const content& item) {
  if (item.shown.input) return *item.shown.input;
  item.shown.input = counts_.open_member(item.name, archive_);
  counts_.set_format(*item.shown.input, item.format.empty() ? "raw" : item.format);
  if (!std::exchange(is_represented_by_members_, true)) counts_.represent_by_members(archive_);
  return *item.shown.input;
}

// A nested archive with a notice is an input of the result, too.
void archive_walk::note(const content& item, const std::optional<io::notice>& added) {
  if (added) counts_.note(shown(item), *added);
}

// Notes the errors of a content. The surrounding content continues, unless the whole walk is finished.
void archive_walk::attempt(const content& item, const std::function<void()>& task) {
  input_failure failure;
  try {
    return task();
  } catch (const std::bad_alloc&) {
    failure = {.kind = failure_kind::out_of_memory, .text = "not enough memory to read it"};
  } catch (const io::input_error&) {
    failure = failure_from(std::current_exception());
    if (item.depth == 0) failure = explained(std::move(failure), item.path, item.bytes);
  }
  if (io::is_cut_short(failure.kind)) item.below.note_interruption();
  counts_.fail(shown(item), 0, failure);
  failure.origin = failure_origin::input;  // of the surrounding content
  if (is_finished()) throw as_error(failure);
}

void archive_walk::drain(const content& item) {
  while (item.bytes.read(buffer_) > 0) {
  }
}

// Headers and padding may be as large as the text, plus a constant.
std::uint64_t archive_walk::max_decoded() const {
  constexpr std::uint64_t extra = std::uint64_t{64} << 20U;
  const std::uint64_t most = limits_.max_text;
  return most > (~std::uint64_t{0} - extra) / 2 ? ~std::uint64_t{0} : 2 * most + extra;
}

}  // namespace gpuhist::pipeline
