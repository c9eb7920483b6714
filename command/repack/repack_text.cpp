#include "command/repack/repack_text.hpp"

#include "pipeline/counts/input_report.hpp"
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
#include <vector>

namespace gpuhist::pipeline {
namespace {

constexpr std::size_t block_bytes = std::size_t{256} << 10U;
constexpr std::size_t blocks_ahead = 8;
constexpr std::size_t pipe_bytes = std::size_t{1} << 20U;

[[noreturn]] void fail(const std::string& name, const std::string& cause) {
  throw std::runtime_error(printable(name) + ": " + printable(cause));
}

}  // namespace

struct repack_text::open_input {
  std::string name;
  std::uint64_t read_before = 0;  // bytes of the inputs before it
  std::shared_ptr<io::source> source;
  std::shared_ptr<block_reader> blocks;
  std::optional<std::stop_callback<std::function<void()>>> cancel_on_stop{};  // does not throw

  std::deque<block> ahead{};  // blocks that were read to detect the format
  block now{};
  std::span<const std::byte> rest{};       // the unread bytes of `now`
  std::unique_ptr<io::decoder> decoder{};  // null: the bytes are the text
};

repack_text::repack_text(const repack_plan& planned, async::executor& pool, async::event_loop& streams,
                         stage_clock& clock, std::stop_token stop)
    : plan_(planned),
      pool_(pool),
      streams_(streams),
      clock_(clock),
      stop_(std::move(stop)),
      blocks_(std::make_shared<block_pool>(block_bytes, 0)) {}

repack_text::~repack_text() = default;

async::task<std::size_t> repack_text::read(std::span<std::byte> out) {
  std::size_t filled = 0;
  while (filled < out.size() && !stop_.stop_requested()) {
    if (!current_ && next_input_ == plan_.inputs.size()) break;
    const std::string& name = current_ ? current_->name : plan_.inputs[next_input_];
    try {
      if (!current_) co_await open(plan_.inputs[next_input_++]);
      filled += co_await fill(out.subspan(filled));
    } catch (const io::input_error&) {
      fail(name, failure_text(std::current_exception()));
    } catch (const std::bad_alloc&) {
      fail(name, "not enough memory to read it");
    }
  }
  co_return filled;
}

async::task<> repack_text::open(const std::string& name) {
  if (const std::string closed = io::closed_descriptor_text(name, plan_.descriptors); !closed.empty()) {
    fail(name, closed);
  }
  auto source = std::make_shared<io::source>(io::open_source(name, streams_.context().get_executor(), pipe_bytes));
  const std::uint64_t read_before = clock_.bytes;
  const bool is_stream = std::holds_alternative<io::stream_source>(*source);
  auto blocks = std::make_shared<block_reader>(blocks_, blocks_ahead, *source, clock_, stop_);
  current_.reset(new open_input{.name = name, .read_before = read_before, .source = source, .blocks = blocks});
  block_reader::start(is_stream ? streams_ : pool_, blocks, source, {});
  if (is_stream) {
    current_->cancel_on_stop.emplace(stop_, [cancel = make_stream_cancel(streams_, source)] { cancel->post(); });
  }
  const io::format* const format = co_await find_format(name);
  if (format->make_decoder != nullptr) current_->decoder = format->make_decoder(plan_.decoding);
}

// Waits for no more bytes of a stream than the detection of its format needs, and for no more blocks than can be held.
async::task<const io::format*> repack_text::find_format(const std::string& name) {
  std::vector<std::byte> head;
  std::deque<block>& ahead = current_->ahead;
  do {
    ahead.push_back(co_await current_->blocks->next());
    const std::span<const std::byte> bytes = ahead.back().bytes;
    head.insert(head.end(), bytes.begin(), bytes.end());
  } while (!ahead.back().end && ahead.size() < blocks_ahead && io::bytes_for_format(head) > 0);
  if (ahead.back().error) std::rethrow_exception(ahead.back().error);
  const io::identity as = io::identify(name, head, plan_.forced_format);
  if (as.notice) notices_.push_back(printable(name) + ": " + printable(as.notice->text));
  co_return &as.format;
}

// Produces text from the current block. Takes the next block if the current one is used up.
async::task<std::size_t> repack_text::fill(std::span<std::byte> out) {
  open_input& from = *current_;
  if (!from.decoder) {
    const std::size_t size = std::min(from.rest.size(), out.size());
    std::copy_n(from.rest.begin(), size, out.begin());
    from.rest = from.rest.subspan(size);
    if (from.rest.empty() && !co_await advance()) close();
    co_return size;
  }
  const io::fill_result got = from.decoder->fill(from.rest, out);
  from.rest = from.rest.subspan(got.consumed);
  if (got.status == io::fill_status::failed) fail(from.name, from.decoder->fault(0));
  if (got.status == io::fill_status::needs_input && !co_await advance()) {
    const std::string missing = stop_.stop_requested() ? "" : from.decoder->missing_at_end(0);
    if (!missing.empty()) fail(from.name, missing);
    close();
  }
  co_return got.produced;
}

// Takes the next block. Returns false at the end of the input.
async::task<bool> repack_text::advance() {
  open_input& from = *current_;
  if (from.ahead.empty()) {
    from.now = co_await from.blocks->next();
  } else {
    from.now = std::move(from.ahead.front());
    from.ahead.pop_front();
  }
  if (from.now.error) std::rethrow_exception(from.now.error);
  from.rest = from.now.bytes;
  co_return !from.now.end;
}

void repack_text::close() {
  if (!current_) return;
  current_->blocks->give_up();
  const auto* const file = std::get_if<io::file_source>(current_->source.get());
  if (file != nullptr) file->leave_offset_at(clock_.bytes - current_->read_before);
  current_.reset();
}

}  // namespace gpuhist::pipeline
