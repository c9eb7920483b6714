#include "pipeline/flow/inputs/input_head.hpp"

#include <span>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {

head_reader::head_reader(const run_plan& plan, const executors& executor_set, decode_contexts& contexts,
                         feed_notes& notes)
    : plan_(plan), executors_(executor_set), contexts_(contexts), notes_(notes) {}

async::task<head_reader::bytes> head_reader::first_bytes(io::source& source) {
  const bool is_file = std::holds_alternative<io::file_source>(source);
  async::executor& on = is_file ? executors_.pool : static_cast<async::executor&>(executors_.streams);
  bytes head = co_await async::run_on(on, read_first(source));
  while (head.size() < io::skippable_head_bytes(head)) {
    if (co_await read_more(source, head) == 0) break;
  }
  co_return head;
}

// The decoder is kept for the next input of the format: making one costs more than decoding a head.
io::decoder& head_reader::decoder_for(const io::format& format) {
  constexpr std::uint64_t own_window = std::uint64_t{1} << 20U;
  if (decoder_format_ != &format) {
    decoder_ = format.make_decoder(
        {.window_bytes = plan_.buffers.window_limit, .granted_bytes = own_window, .dictionary = plan_.dictionary});
    decoder_format_ = &format;
  }
  decoder_->restart({});
  return *decoder_;
}

// False if --input-format names a format that is not an archive.
bool head_reader::takes_archives() const {
  return plan_.forced_format == nullptr || plan_.forced_format->archive != io::archive_kind::none;
}

// Reads the first bytes for format detection. Stops reading a stream as soon as the format is decided, at its end, or
// after a stop.
async::task<head_reader::bytes> head_reader::read_first(io::source& source) {
  bytes head(takes_archives() ? io::archive_head_bytes : io::detection_bytes);
  if (const auto* file = std::get_if<io::file_source>(&source)) {
    head.resize(file->read_at(head, 0));
    co_return head;
  }
  auto& stream = std::get<io::stream_source>(source);
  std::size_t have = 0;
  const auto is_undecided = [&] {
    const auto so_far = std::span(head).first(have);
    return io::is_undecided(so_far) || (takes_archives() && io::is_undecided_archive(so_far));
  };
  while (have < head.size() && is_undecided()) {
    const auto read = stream.read_some(std::span(head).subspan(have));
    if (read == 0U) break;
    if (read) {
      have += *read;
    } else if (!co_await stream.readable()) {
      break;
    }
  }
  notes_.read.bytes += have;
  head.resize(have);
  co_return head;
}

async::task<io::settled_archive> head_reader::find_archive(const std::string& name, io::source& source, bytes& head,
                                                           const io::format& format) {
  bytes text;  // no conditional expression: GCC 12 destroys its temporaries twice
  if (format.make_decoder != nullptr) {
    text = co_await decoded_head(source, head, format);
  } else {
    text = head;
  }
  io::settled_archive found;
  try {
    found = io::settle_archive(name, text, rules_of(plan_));
  } catch (const io::input_error&) {
    co_return io::settled_archive{.kind = io::promised_archive(name).kind};
  }
  if (format.make_decoder != nullptr && found.kind == io::archive_kind::none && !found.notice) {
    found.notice = io::notice_of_inner(format.name, name, text, rules_of(plan_));
  }
  co_return found;
}

// Decodes the first bytes of the text, until it is decided of which format the text is. Appends to `head` the bytes
// that it had to read. Errors are ignored here, because the decoder that counts the input finds them again. Empty if an
// error precedes the decision.
async::task<head_reader::bytes> head_reader::decoded_head(io::source& source, bytes& head, const io::format& format) {
  constexpr std::size_t max_compressed = std::size_t{16} << 20U;
  decode_contexts::lease larger;
  io::decoder* decoder = &decoder_for(format);
  bytes text(io::archive_head_bytes);
  std::size_t have = 0;
  std::size_t fed = 0;
  const auto is_undecided = [&] {
    const auto so_far = std::span(text).first(have);
    return io::is_undecided_archive(so_far) || io::is_undecided(so_far);
  };
  while (have < text.size() && is_undecided() && head.size() < max_compressed) {
    if (fed == head.size()) {
      if (co_await read_more(source, head) == 0) {
        if (!decoder->missing_cause_at_end().empty()) co_return bytes();
        break;
      }
    }
    const io::fill_result result = decoder->fill(std::span(head).subspan(fed), std::span(text).subspan(have));
    fed += result.consumed;
    have += result.produced;
    if (result.status == io::fill_status::failed) co_return bytes();
    if (result.status != io::fill_status::needs_window) continue;
    if (!larger) {  // start again, with a decoder whose memory is within the limit
      larger = co_await contexts_.acquire();
      decoder = &larger->decoder_for(format);
      decoder->restart({});
      fed = have = 0;
    } else {
      co_await larger->grant_window();
    }
  }
  text.resize(have);
  co_return text;
}

// Appends the next bytes of the source to `head`. Returns their number; 0 at the end.
async::task<std::size_t> head_reader::read_more(io::source& source, bytes& head) {
  constexpr std::size_t step = std::size_t{64} << 10U;
  const std::size_t have = head.size();
  head.resize(have + step);
  std::size_t size = 0;
  if (const auto* file = std::get_if<io::file_source>(&source)) {
    size = file->read_at(std::span(head).subspan(have), have);
  } else {
    const auto read = [](io::stream_source& stream, std::span<std::byte> out) -> async::task<std::size_t> {
      for (;;) {
        if (const auto size_read = stream.read_some(out)) co_return *size_read;
        if (!co_await stream.readable()) co_return 0;
      }
    };
    size = co_await async::run_on<std::size_t>(
        executors_.streams, read(std::get<io::stream_source>(source), std::span(head).subspan(have)));
    notes_.read.bytes += size;
  }
  head.resize(have + size);
  co_return size;
}

}  // namespace gpuhist::pipeline
