// Decodes bzip2 streams with libbz2. A stream ends at a whole byte, and libbz2 takes no bytes after it.
#include "io/bzip2/bzip2_decoder.hpp"

#include "io/frame_decoder.hpp"

#include <bzlib.h>

#include <algorithm>
#include <new>

namespace gpuhist::io {
namespace {

constexpr std::string_view bzip2_magic("BZh");

/// libbz2 counts in 32 bits.
constexpr std::size_t max_at_once = std::size_t{1} << 30U;

class bzip2_decoder final : public frame_decoder {
 public:
  explicit bzip2_decoder(const decoder_limits& limits)
      : frame_decoder(limits, {.format = "bzip2", .frame = "stream"}) {}
  bzip2_decoder(const bzip2_decoder&) = delete;
  bzip2_decoder& operator=(const bzip2_decoder&) = delete;
  ~bzip2_decoder() override { close(); }

  [[nodiscard]] bool in_frame() const override { return phase_ != phase::header || !collected().empty(); }

 private:
  enum class phase { header, window, text, end };

  /// The progress of a call of libbz2 in its two spans, and its return code.
  struct progress {
    int code = BZ_OK;
    std::size_t consumed = 0;
    std::size_t written = 0;
  };

  step_result step(cursor& at) override;
  void reset_frame() override;
  void free_memory() noexcept override { close(); }

  void close() noexcept;
  step_result read_header(cursor& at);
  step_result begin();
  progress run(std::span<const std::byte> in, std::span<std::byte> out);
  step_result decode(cursor& at);

  bz_stream stream_{};
  bool is_open_ = false;
  phase phase_ = phase::header;
};

frame_decoder::step_result bzip2_decoder::step(cursor& at) {
  switch (phase_) {
    case phase::header:
      return read_header(at);
    case phase::window:
      return begin();
    case phase::text:
      return decode(at);
    case phase::end:
      close();
      phase_ = phase::header;
      return end_frame();
  }
  return std::nullopt;
}

void bzip2_decoder::reset_frame() {
  close();
  phase_ = phase::header;
}

void bzip2_decoder::close() noexcept {
  if (is_open_) BZ2_bzDecompressEnd(&stream_);
  is_open_ = false;
}

frame_decoder::step_result bzip2_decoder::read_header(cursor& at) {
  constexpr std::size_t header_bytes = 4;
  while (collected().size() < header_bytes) {
    if (!collect(at, collected().size() + 1)) return fill_status::needs_input;
    if (!may_begin(bzip2_magic)) return refuse_magic();
  }
  const auto level = std::to_integer<char>(collected()[3]);
  if (level < '1' || level > '9') return fail_damaged("its header has an invalid block size");
  phase_ = phase::window;
  return std::nullopt;
}

frame_decoder::step_result bzip2_decoder::begin() {
  constexpr std::uint64_t level_bytes = 100'000;
  constexpr std::uint64_t bytes_of_memory = 4;  // per byte of a block
  const auto level = static_cast<std::uint64_t>(std::to_integer<char>(collected()[3]) - '0');
  if (const step_result asked = request_window(level * level_bytes * bytes_of_memory)) return asked;
  stream_ = {};
  if (BZ2_bzDecompressInit(&stream_, 0, 0) != BZ_OK) throw std::bad_alloc();
  is_open_ = true;
  std::byte none{};
  if (run(collected(), {&none, 1}).code != BZ_OK) return fail_damaged("its header is invalid");
  drop_collected();
  phase_ = phase::text;
  return std::nullopt;
}

bzip2_decoder::progress bzip2_decoder::run(std::span<const std::byte> in, std::span<std::byte> out) {
  in = in.first(std::min(in.size(), max_at_once));
  // libbz2 takes a pointer to non-const input, but does not write to it
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  stream_.next_in = reinterpret_cast<char*>(const_cast<std::byte*>(in.data()));
  stream_.avail_in = static_cast<unsigned>(in.size());
  stream_.next_out = reinterpret_cast<char*>(out.data());
  stream_.avail_out = static_cast<unsigned>(out.size());
  const int code = BZ2_bzDecompress(&stream_);
  if (code == BZ_MEM_ERROR) throw std::bad_alloc();
  return {.code = code, .consumed = in.size() - stream_.avail_in, .written = out.size() - stream_.avail_out};
}

frame_decoder::step_result bzip2_decoder::decode(cursor& at) {
  const progress got = run(at.in, room(at));
  if (got.code == BZ_OK) return continue_after(at, got.consumed, got.written);
  advance(at, got.consumed, got.written);
  if (got.code != BZ_STREAM_END) return fail_damaged("a block does not decode, or does not match its checksum");
  phase_ = phase::end;
  return std::nullopt;
}

}  // namespace

std::unique_ptr<decoder> make_bzip2_decoder(const decoder_limits& limits) {
  return std::make_unique<bzip2_decoder>(limits);
}

}  // namespace gpuhist::io
