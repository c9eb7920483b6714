#include "pipeline/inputs/input_head.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <span>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {
namespace asio = boost::asio;

namespace {

// Goes back in any case.
struct borrowed_context {
  decode_contexts& from;
  decode_context* context = nullptr;

  ~borrowed_context() {
    if (context != nullptr) from.release(*context);
  }
};

}  // namespace

head_reader::head_reader(const plan& what, executors where, decode_contexts& contexts, feed_notes& notes)
    : plan_(what), where_(std::move(where)), contexts_(contexts), notes_(notes) {}

asio::awaitable<head_reader::bytes> head_reader::first_bytes(io::source& source) {
  const bool is_file = std::holds_alternative<io::file_source>(source);
  co_return co_await asio::co_spawn(is_file ? where_.pool : where_.streams, read_first(source), asio::use_awaitable);
}

// Kept for the next input of the format: making one costs more than a head does.
io::decoder& head_reader::decoder_for(const io::format& format) {
  constexpr std::uint64_t own_window = std::uint64_t{1} << 20U;
  if (decoder_of_ != &format) {
    decoder_ = format.make_decoder(
        {.window_bytes = plan_.buffers.window_limit, .granted_bytes = own_window, .dictionary = plan_.dictionary});
    decoder_of_ = &format;
  }
  decoder_->restart({});
  return *decoder_;
}

std::optional<io::archive_kind> head_reader::forced_archive() const {
  if (plan_.forced_format == nullptr || plan_.forced_format->archive == io::archive_kind::none) return std::nullopt;
  return plan_.forced_format->archive;
}

// Whether what there is may be taken for an archive: not where a format is forced that is none.
bool head_reader::takes_archives() const { return plan_.forced_format == nullptr || forced_archive(); }

// The first bytes, for finding the format: of a stream no more than decide it. Fewer where there are no more (or after
// a stop).
asio::awaitable<head_reader::bytes> head_reader::read_first(io::source& source) {
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

// Whether members are to be looked for. What is compressed is looked into, unless its name says so.
asio::awaitable<bool> head_reader::is_archive(const std::string& name, io::source& source, bytes& head,
                                              const io::format& format) {
  if (!takes_archives()) co_return false;
  if (plan_.forced_format != nullptr || io::promised_archive(name).kind != io::archive_kind::none) co_return true;
  if (format.make_decoder == nullptr) co_return io::detect_archive(head) != io::archive_kind::none;
  const bytes text = co_await decoded_head(source, head, format);
  co_return io::detect_archive(text) != io::archive_kind::none;
}

// The first bytes of the text, no more than decide whether it is an archive. `head` grows by what had to be read. What
// fails is told by whoever decodes it in earnest.
asio::awaitable<head_reader::bytes> head_reader::decoded_head(io::source& source, bytes& head,
                                                              const io::format& format) {
  constexpr std::size_t most_compressed = std::size_t{16} << 20U;
  borrowed_context larger{.from = contexts_};
  io::decoder* decoder = &decoder_for(format);
  bytes text(io::archive_head_bytes);
  std::size_t have = 0;
  std::size_t fed = 0;
  while (have < text.size() && io::is_undecided_archive(std::span(text).first(have)) && head.size() < most_compressed) {
    if (fed == head.size()) {
      const std::size_t more = co_await read_more(source, head);
      if (more == 0) break;
    }
    const io::fill_result got = decoder->fill(std::span(head).subspan(fed), std::span(text).subspan(have));
    fed += got.consumed;
    have += got.produced;
    if (got.status == io::fill_status::failed) break;
    if (got.status != io::fill_status::needs_window) continue;
    if (larger.context == nullptr) {  // once more, with memory that is accounted for
      larger.context = co_await contexts_.acquire();
      decoder = &larger.context->decoder_for(format);
      decoder->restart({});
      fed = have = 0;
    } else {
      co_await larger.context->grant_window();
    }
  }
  text.resize(have);
  co_return text;
}

// Bytes of the source behind `head`, to its end.
asio::awaitable<std::size_t> head_reader::read_more(io::source& source, bytes& head) {
  constexpr std::size_t step = std::size_t{64} << 10U;
  const std::size_t have = head.size();
  head.resize(have + step);
  std::size_t size = 0;
  if (const auto* file = std::get_if<io::file_source>(&source)) {
    size = file->read_at(std::span(head).subspan(have), have);
  } else {
    const auto read = [](io::stream_source& stream, std::span<std::byte> out) -> asio::awaitable<std::size_t> {
      for (;;) {
        if (const auto got = stream.read_some(out)) co_return *got;
        if (!co_await stream.readable()) co_return 0;
      }
    };
    size = co_await asio::co_spawn(
        where_.streams, read(std::get<io::stream_source>(source), std::span(head).subspan(have)), asio::use_awaitable);
    notes_.read.bytes += size;
  }
  head.resize(have + size);
  co_return size;
}

}  // namespace gpuhist::pipeline
