#include "command/repack/repack_verification.hpp"

#include "async/task_group.hpp"
#include "io/decoder.hpp"
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

namespace gpuhist::command {
namespace {

constexpr std::size_t text_buffer_bytes = std::size_t{256} << 10U;

// State that the tasks share.
struct verification_run {
  const repack_verification& expected;
  const std::stop_token& stop;
  const io::file_source& file;
  std::vector<std::uint64_t> offsets;  // of the frames, and of the table
  std::atomic<std::size_t> next{0};
  std::stop_source difference_found{};  // one differing frame is enough
};

[[noreturn]] void fail(std::size_t frame, const std::string& difference) {
  throw std::runtime_error("the archive differs from its input: frame " + std::to_string(frame + 1) + " " + difference);
}

std::vector<std::uint64_t> offsets_of(std::span<const io::seekable_frame> frames) {
  std::vector<std::uint64_t> offsets{0};
  for (const io::seekable_frame& each : frames) offsets.push_back(offsets.back() + each.compressed_bytes);
  return offsets;
}

std::span<const std::byte> read_exactly(const verification_run& run, std::size_t frame, std::span<std::byte> room) {
  if (run.file.read_at(room, run.offsets[frame]) != room.size()) fail(frame, "is incomplete");
  return room;
}

// The decoder of one task, which is used again for each frame, and its buffers.
class frame_verifier {
 public:
  explicit frame_verifier(const verification_run& run)
      : run_(run),
        decoder_(io::make_zstd_decoder({})),
        packed_(std::make_unique_for_overwrite<std::byte[]>(run.expected.frame_bytes)),
        text_(std::make_unique_for_overwrite<std::byte[]>(text_buffer_bytes)) {}

  void verify(std::size_t number) {
    const io::seekable_frame& expected = run_.expected.frames[number];
    std::span<const std::byte> rest = read_exactly(run_, number, {packed_.get(), expected.compressed_bytes});
    if (io::zstd_checksum_of(rest) != expected.checksum) fail(number, "has another checksum");
    decoder_->restart({.frames = number, .compressed_bytes = run_.offsets[number]});
    const io::fill_status status = io::discard_frame(*decoder_, rest, {text_.get(), text_buffer_bytes});
    if (status == io::fill_status::failed) fail(number, "cannot be decoded: " + decoder_->fault(0));
    if (status != io::fill_status::frame_verified || !rest.empty()) fail(number, "does not end at its last byte");
    if (decoder_->produced_total() != expected.text_bytes) fail(number, "has text of another length");
  }

 private:
  const verification_run& run_;
  std::unique_ptr<io::decoder> decoder_;
  std::unique_ptr<std::byte[]> packed_;
  std::unique_ptr<std::byte[]> text_;
};

async::task<> verify_frames(verification_run& run) {
  frame_verifier verifier(run);
  while (!run.stop.stop_requested() && !run.difference_found.stop_requested()) {
    const std::size_t frame = run.next++;
    if (frame >= run.expected.frames.size()) break;
    verifier.verify(frame);
  }
  co_return;
}

void verify_table(const verification_run& run) {
  std::vector<std::byte> found(run.expected.table.size() + 1);  // the file must end after the table
  found.resize(run.file.read_at(found, run.offsets.back()));
  if (std::ranges::equal(found, run.expected.table)) return;
  throw std::runtime_error("the archive differs from its input: the seek table is not the one that was written");
}

}  // namespace

async::task<> verify(const repack_verification& expected, async::event_loop& streams, async::executor& pool,
                     std::stop_token stop) {
  const io::source source = io::open_source(expected.file, streams.context().get_executor(), 0);
  verification_run run{.expected = expected,
                       .stop = stop,
                       .file = std::get<io::file_source>(source),
                       .offsets = offsets_of(expected.frames)};
  const std::size_t tasks = std::min<std::size_t>(expected.tasks, expected.frames.size());
  async::first_failure failures(run.difference_found);
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

}  // namespace gpuhist::command
