#include "pipeline/program/repack/repack_verification.hpp"

#include "async/task_group.hpp"
#include "io/discard_frame.hpp"
#include "io/source.hpp"
#include "io/zstd/zstd_compressor.hpp"
#include "io/zstd/zstd_decoder.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

namespace gpuhist::pipeline {
namespace {

constexpr std::size_t text_buffer_bytes = std::size_t{256} << 10U;

// What the tasks share.
struct verifying {
  const repack_verification& what;
  const std::stop_token& stop;
  const io::file_source& file;
  std::vector<std::uint64_t> offsets;  // where frames begin, and the table
  std::atomic<std::size_t> next{0};
  std::stop_source wrong{};  // one frame that differs is enough
};

[[noreturn]] void fail(std::size_t frame, const std::string& how) {
  throw std::runtime_error("what was written is not what was read: frame " + std::to_string(frame + 1) + " " + how);
}

std::vector<std::uint64_t> offsets_of(std::span<const io::seekable_frame> frames) {
  std::vector<std::uint64_t> offsets{0};
  for (const io::seekable_frame& each : frames) offsets.push_back(offsets.back() + each.compressed_bytes);
  return offsets;
}

std::span<const std::byte> read_exactly(const verifying& run, std::size_t frame, std::span<std::byte> room) {
  if (run.file.read_at(room, run.offsets[frame]) != room.size()) fail(frame, "is not there as a whole");
  return room;
}

// One decoder, that keeps its memory, and the buffers of one task.
class frame_verifier {
 public:
  explicit frame_verifier(const verifying& run)
      : run_(run),
        decoder_(io::make_zstd_decoder({})),
        packed_(std::make_unique_for_overwrite<std::byte[]>(run.what.frame_bytes)),
        text_(std::make_unique_for_overwrite<std::byte[]>(text_buffer_bytes)) {}

  void verify(std::size_t number) {
    const io::seekable_frame& expected = run_.what.frames[number];
    std::span<const std::byte> rest = read_exactly(run_, number, {packed_.get(), expected.compressed_bytes});
    if (io::zstd_checksum_of(rest) != expected.checksum) fail(number, "has another checksum");
    decoder_->restart({.frames = number, .compressed_bytes = run_.offsets[number]});
    const io::fill_status status = io::discard_frame(*decoder_, rest, {text_.get(), text_buffer_bytes});
    if (status == io::fill_status::failed) fail(number, "cannot be decoded: " + decoder_->fault(0));
    if (status != io::fill_status::frame_verified || !rest.empty()) fail(number, "does not end where it should");
    if (decoder_->produced_total() != expected.text_bytes) fail(number, "has text of another length");
  }

 private:
  const verifying& run_;
  std::unique_ptr<io::decoder> decoder_;
  std::unique_ptr<std::byte[]> packed_;
  std::unique_ptr<std::byte[]> text_;
};

async::task<> verify_frames(verifying& run) {
  frame_verifier verifier(run);
  while (!run.stop.stop_requested() && !run.wrong.stop_requested()) {
    const std::size_t frame = run.next++;
    if (frame >= run.what.frames.size()) break;
    verifier.verify(frame);
  }
  co_return;
}

void verify_table(const verifying& run) {
  std::vector<std::byte> found(run.what.table.size() + 1);  // nothing may stand behind it
  found.resize(run.file.read_at(found, run.offsets.back()));
  if (std::ranges::equal(found, run.what.table)) return;
  throw std::runtime_error("what was written is not what was meant: its seek table differs");
}

}  // namespace

async::task<> verify(const repack_verification& what, async::event_loop& streams, async::executor& pool,
                     std::stop_token stop) {
  const io::source source = io::open_source(what.file, streams.context().get_executor(), 0);
  verifying run{
      .what = what, .stop = stop, .file = std::get<io::file_source>(source), .offsets = offsets_of(what.frames)};
  const std::size_t tasks = std::min<std::size_t>(what.tasks, what.frames.size());
  async::first_failure failures(run.wrong);
  async::task_group verifiers(failures);
  try {
    for (std::size_t i = 0; i < tasks; ++i) verifiers.spawn(pool, verify_frames(run));
  } catch (...) {
    failures.note(std::current_exception());
  }
  co_await verifiers.ended();
  failures.rethrow();
  if (!stop.stop_requested()) verify_table(run);
}

}  // namespace gpuhist::pipeline
