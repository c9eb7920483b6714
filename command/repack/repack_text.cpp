#include "command/repack/repack_text.hpp"

#include "pipeline/counts/input_report.hpp"
#include "pipeline/flow/decoding/ahead_blocks.hpp"
#include "pipeline/flow/decoding/archive_bytes.hpp"
#include "pipeline/flow/decoding/stream_cancel.hpp"
#include "report/formats/report.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>

namespace gpuhist::command {
namespace {

constexpr std::size_t block_bytes = std::size_t{256} << 10U;
constexpr std::size_t blocks_ahead = 8;
constexpr std::size_t pipe_bytes = std::size_t{1} << 20U;
constexpr std::uint64_t usual_window = std::uint64_t{8} << 20U;  // of zstd up to level 19, and of xz up to -6

[[noreturn]] void fail(const std::string& name, const std::string& cause) {
  throw std::runtime_error(report::printable(name) + ": " + report::printable(cause));
}

// A decoder has memory for a usual window at once; a larger one takes that of the parts.
io::decoder_limits limits_of(const repack_plan& planned) {
  io::decoder_limits limits = planned.decoding;
  limits.granted_bytes = std::min(usual_window, limits.window_bytes / 4);
  return limits;
}

}  // namespace

struct repack_text::open_input {
  explicit open_input(std::string of) : name(std::move(of)) {}

  std::string name;
  std::shared_ptr<io::source> source{};
  std::shared_ptr<pipeline::block_reader> blocks{};                    // of a stream
  std::optional<std::stop_callback<std::function<void()>>> on_stop{};  // cancels the stream; does not throw
  std::optional<pipeline::source_bytes> read{};
  std::optional<pipeline::peeking_bytes> stored{};
  std::unique_ptr<io::decoder> decoder{};  // null: the stored bytes are the text
  async::semaphore::permit window{};       // memory of the decoder
  std::optional<pipeline::decoded_bytes> text{};
};

repack_text::repack_text(const repack_plan& planned, async::executor& pool, async::event_loop& streams,
                         pipeline::feed_notes& notes, std::stop_token stop)
    : plan_(planned),
      limits_(limits_of(planned)),
      pool_(pool),
      streams_(streams),
      notes_(notes),
      stop_(std::move(stop)),
      blocks_(std::make_shared<pipeline::block_pool>(block_bytes, 0)),
      memory_(limits_.window_bytes) {}

repack_text::~repack_text() = default;

std::size_t repack_text::read(std::span<std::byte> out) {
  std::size_t filled = 0;
  while (filled < out.size() && !stop_.stop_requested()) {
    if (!current_ && next_input_ == plan_.inputs.size()) break;
    const std::string& name = current_ ? current_->name : plan_.inputs[next_input_];
    try {
      if (!current_) open(plan_.inputs[next_input_++]);
      io::byte_reader& text = current_->text ? static_cast<io::byte_reader&>(*current_->text) : *current_->stored;
      const std::size_t size = text.read(out.subspan(filled));
      filled += size;
      if (size == 0) close();
    } catch (const io::input_error&) {
      if (stop_.stop_requested()) break;
      fail(name, pipeline::failure_text(std::current_exception()));
    } catch (const std::bad_alloc&) {
      fail(name, "not enough memory to read it");
    }
  }
  return filled;
}

void repack_text::open(const std::string& name) {
  if (const std::string closed = io::closed_descriptor_text(name, plan_.descriptors); !closed.empty()) {
    fail(name, closed);
  }
  current_ = std::make_unique<open_input>(name);
  open_input& opened = *current_;
  opened.source = std::make_shared<io::source>(io::open_source(name, streams_.context().get_executor(), pipe_bytes));
  if (const auto* const file = std::get_if<io::file_source>(opened.source.get())) {
    opened.read.emplace(*file, notes_, stop_);
  } else {
    opened.blocks = std::make_shared<pipeline::block_reader>(blocks_, blocks_ahead, *opened.source, notes_.read, stop_);
    pipeline::block_reader::start(streams_, opened.blocks, opened.source, {});
    opened.on_stop.emplace(stop_, [cancel = pipeline::make_stream_cancel(streams_, opened.source)] { cancel->post(); });
    opened.read.emplace(*opened.blocks, streams_, stop_);
  }
  opened.stored.emplace(*opened.read);
  const std::span<const std::byte> head = opened.stored->peek_head();
  if (opened.stored->failure()) std::rethrow_exception(opened.stored->failure());
  const io::identity as = io::identify(name, head, plan_.forced_format);
  if (as.notice) notices_.push_back(report::printable(name) + ": " + report::printable(as.notice->text));
  if (as.format.make_decoder != nullptr) begin_decoding(as.format);
}

void repack_text::begin_decoding(const io::format& format) {
  open_input& opened = *current_;
  opened.decoder = format.make_decoder(limits_);
  opened.window = memory_.acquire_blocking(stop_, limits_.granted_bytes);
  const auto parts = [this, &opened, &format] {
    return pipeline::parts_of(format, std::get_if<io::file_source>(opened.source.get()), notes_, stop_);
  };
  pipeline::ahead_resources resources{
      .pool = pool_, .threads = plan_.threads, .memory = memory_, .limits = limits_, .parts = parts};
  // the parts have returned their memory
  const auto grant = [this, &opened](io::decoder& of) {
    of.grant_window(0);
    opened.window.release();
    opened.window = memory_.acquire_blocking(stop_, of.window_wanted());
    of.grant_window(of.window_wanted());
    return std::string();
  };
  opened.text.emplace(
      *opened.stored, *opened.decoder, nullptr, notes_,
      pipeline::decoded_bytes::settings{.grant_window = grant,
                                        .ahead = std::make_unique<pipeline::ahead_blocks>(
                                            *opened.stored, format, std::move(resources), notes_.decompress)});
}

void repack_text::close() {
  if (!current_) return;
  if (current_->blocks) current_->blocks->give_up();
  const auto* const file = std::get_if<io::file_source>(current_->source.get());
  if (file != nullptr) file->leave_offset_at(current_->read->position());
  current_.reset();
}

}  // namespace gpuhist::command
