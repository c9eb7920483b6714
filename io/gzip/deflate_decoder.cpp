#include "io/gzip/deflate_decoder.hpp"

#include "io/frame_decoder.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>
#include <string>

namespace gpuhist::io {
namespace {

constexpr std::size_t max_at_once = std::size_t{1} << 30U;  // zlib counts in 32 bits

enum class wrapper { none, zlib };

class deflate_decoder final : public frame_decoder {
 public:
  deflate_decoder(const decoder_limits& limits, wrapper around)
      : frame_decoder(limits, {.format = around == wrapper::zlib ? "zlib" : "deflate", .frame = "stream"}),
        is_wrapped_(around == wrapper::zlib) {}
  ~deflate_decoder() override { free_memory(); }

  [[nodiscard]] bool verifies_whole(std::uint64_t frames) const override { return is_wrapped_ && frames == 1; }
  [[nodiscard]] bool in_frame() const override { return phase_ != phase::header || !collected().empty(); }

 private:
  enum class phase { header, window, text, end };

  struct progress {
    int code = Z_OK;
    std::size_t consumed = 0;
    std::size_t written = 0;
  };

  step_result step(cursor& at) override;
  void reset_frame() override { phase_ = phase::header; }
  void free_memory() noexcept override {
    if (is_open_) ::inflateEnd(&stream_);
    is_open_ = false;
  }

  step_result read_header(cursor& at);
  step_result begin();
  step_result inflate(cursor& at);
  progress run(std::span<const std::byte> in, std::span<std::byte> out);

  const bool is_wrapped_;
  phase phase_ = phase::header;
  bool is_open_ = false;  // stream_ has memory
  z_stream stream_{};
};

frame_decoder::step_result deflate_decoder::step(cursor& at) {
  switch (phase_) {
    case phase::header:
      return read_header(at);
    case phase::window:
      return begin();
    case phase::text:
      return inflate(at);
    case phase::end:
      phase_ = phase::header;
      return end_frame();
  }
  return std::nullopt;
}

// The two bytes of zlib: the method and window, and flags that make them a multiple of 31.
frame_decoder::step_result deflate_decoder::read_header(cursor& at) {
  constexpr unsigned method_mask = 0x0F;
  constexpr unsigned deflate = 8;
  constexpr unsigned largest_window = 7;
  constexpr unsigned dictionary_flag = 0x20;
  if (is_wrapped_) {
    if (!collect(at, 2)) return fill_status::needs_input;
    const auto method = std::to_integer<unsigned>(collected()[0]);
    const auto flags = std::to_integer<unsigned>(collected()[1]);
    if ((method & method_mask) != deflate || method >> 4U > largest_window || (method << 8U | flags) % 31 != 0) {
      return refuse_magic();
    }
    if ((flags & dictionary_flag) != 0) return refuse(frame_name() + " needs a preset dictionary,");
  } else {
    if (at.in.empty()) return fill_status::needs_input;
    if (frames_ended() != 0) return fail("trailing data after the end of the stream,");
  }
  phase_ = phase::window;
  return std::nullopt;
}

frame_decoder::step_result deflate_decoder::begin() {
  constexpr std::uint64_t memory = std::uint64_t{48} << 10U;
  if (const step_result asked = request_window(memory)) return asked;
  if (!is_open_) {
    stream_ = {};
    if (::inflateInit2(&stream_, is_wrapped_ ? MAX_WBITS : -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    is_open_ = true;
  } else {
    ::inflateReset(&stream_);
  }
  std::byte none{};
  if (run(collected(), {&none, 1}).code < Z_OK) return refuse_magic();
  drop_collected();
  phase_ = phase::text;
  return std::nullopt;
}

deflate_decoder::progress deflate_decoder::run(std::span<const std::byte> in, std::span<std::byte> out) {
  in = in.first(std::min(in.size(), max_at_once));
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): zlib does not write through it
  stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));
  stream_.avail_in = static_cast<uInt>(in.size());
  stream_.next_out = reinterpret_cast<Bytef*>(out.data());
  stream_.avail_out = static_cast<uInt>(out.size());
  int code = ::inflate(&stream_, Z_NO_FLUSH);
  if (code == Z_MEM_ERROR) throw std::bad_alloc();
  if (code == Z_BUF_ERROR) code = Z_OK;  // no progress, which is not an error: there was no input
  return {.code = code, .consumed = in.size() - stream_.avail_in, .written = out.size() - stream_.avail_out};
}

frame_decoder::step_result deflate_decoder::inflate(cursor& at) {
  const progress got = run(at.in, room(at));
  if (got.code == Z_OK) return continue_after(at, got.consumed, got.written);
  advance(at, got.consumed, got.written);
  if (got.code != Z_STREAM_END) return fail_damaged(stream_.msg != nullptr ? stream_.msg : "its data does not decode");
  phase_ = phase::end;
  return std::nullopt;
}

}  // namespace

std::unique_ptr<decoder> make_zlib_decoder(const decoder_limits& limits) {
  return std::make_unique<deflate_decoder>(limits, wrapper::zlib);
}

std::unique_ptr<decoder> make_deflate_decoder(const decoder_limits& limits) {
  return std::make_unique<deflate_decoder>(limits, wrapper::none);
}

}  // namespace gpuhist::io
