#include "pipeline/flow/inputs/input_head.hpp"

#include "io/utf16/utf16_decoder.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {
namespace {

constexpr std::size_t read_step = std::size_t{64} << 10U;

// The number of first bytes that decide what an input is that begins with `head`; 0: those of `head` do.
std::size_t wanted_bytes(std::span<const std::byte> head) {
  return std::max(io::bytes_for_format(head), io::bytes_for_archive(head));
}

}  // namespace

head_reader::head_reader(const run_plan& plan, async::event_loop& streams, decode_contexts& contexts, feed_notes& notes)
    : plan_(plan), streams_(streams), contexts_(contexts), notes_(notes) {}

async::task<head_reader::bytes> head_reader::first_bytes(io::source& source) {
  if (std::holds_alternative<io::file_source>(source)) co_return co_await read_first(source);
  co_return co_await async::run_on(streams_, read_first(source));
}

std::unique_ptr<io::decoder> head_reader::take_decoder(const io::format& format) {
  constexpr std::uint64_t own_window = std::uint64_t{1} << 20U;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(kept_, &format, &kept_decoder::format);
    if (found != kept_.end()) {
      std::unique_ptr<io::decoder> taken = std::move(found->decoder);
      kept_.erase(found);
      return taken;
    }
  }
  return format.make_decoder(
      {.window_bytes = plan_.buffers.window_limit, .granted_bytes = own_window, .dictionary = plan_.dictionary});
}

// Of the format that was used last.
void head_reader::keep(const io::format& format, std::unique_ptr<io::decoder> decoder) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(kept_, [&](const kept_decoder& each) { return each.format != &format; });
  kept_.push_back({.format = &format, .decoder = std::move(decoder)});
}

// Stops reading a stream as soon as the format is decided, at its end, or after a stop.
async::task<head_reader::bytes> head_reader::read_first(io::source& source) {
  const io::format* const forced = plan_.forced_format;
  const bool is_decided = forced != nullptr && forced->archive == io::archive_kind::none;
  bytes head;
  for (std::size_t wanted = io::archive_head_bytes; wanted > 0; wanted = is_decided ? 0 : wanted_bytes(head)) {
    // at least as much again: what decides may be searched from the begin
    if (co_await read_more(source, head, std::max(wanted - head.size(), head.size())) == 0) break;
  }
  co_return head;
}

async::task<io::settled_archive> head_reader::find_archive(const std::string& name, io::source& source, bytes& head,
                                                           const io::identity& found) {
  const io::format* const compression = found.format.make_decoder != nullptr ? &found.format : nullptr;
  const bool is_forced = found.archive.has_value();
  const bool is_compressed_text = compression != nullptr && !compression->is_encoding;
  if (is_forced && (*found.archive != io::archive_kind::none || !is_compressed_text)) {
    co_return io::settled_archive{.kind = *found.archive};
  }
  bytes text;  // no conditional expression: GCC 12 destroys its temporaries twice
  if (compression != nullptr) {
    text = co_await decoded_head(source, head, *compression);
  } else {
    text = head;
  }
  if (is_forced) co_return io::settled_archive{.encoding = io::encoding_of(text, plan_.encoding)};
  try {
    co_return io::identify_text(name, text, compression, rules_of(plan_));
  } catch (const io::input_error&) {
    const io::archive_kind promised = io::promised_archive(name).kind;
    if (promised == io::archive_kind::none) throw;
    co_return io::settled_archive{.kind = promised};
  }
}

// Decodes the first bytes of the text, until it is decided of which format the text is. Appends to `head` the bytes of
// a stream that it had to read. Errors are ignored here, because the decoder that counts the input finds them again.
// Empty if an error precedes the decision.
async::task<head_reader::bytes> head_reader::decoded_head(io::source& source, bytes& head, const io::format& format) {
  std::unique_ptr<io::decoder> own = take_decoder(format);
  bytes text = co_await decode_with(*own, source, head, format);
  keep(format, std::move(own));
  co_return text;
}

async::task<head_reader::bytes> head_reader::decode_with(io::decoder& own, io::source& source, bytes& head,
                                                         const io::format& format) {
  constexpr std::size_t max_compressed = std::size_t{16} << 20U;
  decode_contexts::lease larger;
  io::decoder* decoder = &own;
  decoder->restart({});
  const auto* const file = std::get_if<io::file_source>(&source);
  bytes of_file;  // the bytes after `head`: they are read again, and not kept
  bytes text(io::archive_head_bytes);
  std::size_t have = 0;
  std::size_t fed = 0;
  std::span<const std::byte> in = head;
  while (have < text.size() && wanted_bytes(std::span(text).first(have)) > 0 && fed < max_compressed) {
    if (in.empty() && file != nullptr) {
      of_file.resize(read_step);
      in = std::span(of_file).first(file->read_at(of_file, fed));
    } else if (in.empty()) {
      static_cast<void>(co_await read_more(source, head, read_step));
      in = std::span(head).subspan(fed);
    }
    if (in.empty()) {
      if (!decoder->missing_cause_at_end().empty()) co_return bytes();
      break;
    }
    const io::fill_result result = decoder->fill(in, std::span(text).subspan(have));
    in = in.subspan(result.consumed);
    fed += result.consumed;
    have += result.produced;
    if (result.status == io::fill_status::failed) co_return bytes();
    if (result.status != io::fill_status::needs_window) continue;
    if (!larger) {  // start again, with a decoder whose memory is within the limit
      larger = co_await contexts_.acquire();
      decoder = &larger->decoder_for(format);
      decoder->restart({});
      fed = have = 0;
      in = head;
    } else {
      co_await larger->grant_window();
    }
  }
  text.resize(have);
  co_return text;
}

// Appends the next bytes of the source to `head`, at most `size`. Returns their number; 0 at the end.
async::task<std::size_t> head_reader::read_more(io::source& source, bytes& head, std::size_t size) {
  const std::size_t have = head.size();
  head.resize(have + std::min(size, read_step));
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
        streams_, read(std::get<io::stream_source>(source), std::span(head).subspan(have)));
    notes_.read.bytes += size;
  }
  head.resize(have + size);
  co_return size;
}

}  // namespace gpuhist::pipeline
