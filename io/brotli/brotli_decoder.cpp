#include "io/brotli/brotli_decoder.hpp"

#include "io/frame_decoder.hpp"

#include <brotli/decode.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace gpuhist::io {
namespace {

// The size of the window that the first byte of a stream states: RFC 7932, section 9.1. 0 for the code of large
// windows, which the RFC does not define.
std::uint64_t window_bytes_of(std::byte first) {
  const auto bits = std::to_integer<unsigned>(first);
  const unsigned high = bits >> 1U & 7U;
  const unsigned low = bits >> 4U & 7U;
  unsigned window_bits = 16;
  if ((bits & 1U) != 0) {
    window_bits = 17;
    if (high != 0) {
      window_bits = 17 + high;
    } else if (low == 1) {
      return 0;
    } else if (low != 0) {
      window_bits = 8 + low;
    }
  }
  return std::uint64_t{1} << window_bits;
}

class brotli_decoder final : public frame_decoder {
 public:
  explicit brotli_decoder(const decoder_limits& limits)
      : frame_decoder(limits, {.format = "brotli", .frame = "stream"}) {}

  [[nodiscard]] bool verifies_whole(std::uint64_t /*frames*/) const override { return false; }
  [[nodiscard]] bool in_frame() const override { return phase_ != phase::header; }

 private:
  enum class phase { header, window, text, end };

  struct deleter {
    void operator()(BrotliDecoderState* state) const { ::BrotliDecoderDestroyInstance(state); }
  };

  step_result step(cursor& at) override;
  void reset_frame() override {
    phase_ = phase::header;
    state_.reset();
  }
  void free_memory() noexcept override { state_.reset(); }

  step_result begin();
  step_result decode(cursor& at);
  step_result fail_as_library();

  std::unique_ptr<BrotliDecoderState, deleter> state_;
  phase phase_ = phase::header;
  std::uint64_t window_ = 0;
};

frame_decoder::step_result brotli_decoder::step(cursor& at) {
  switch (phase_) {
    case phase::header:
      if (at.in.empty()) return fill_status::needs_input;
      if (frames_ended() != 0) return fail("trailing data after the end of the stream,");
      window_ = window_bytes_of(at.in.front());
      if (window_ == 0) return refuse(frame_name() + " has a large window, which RFC 7932 does not define,");
      phase_ = phase::window;
      return std::nullopt;
    case phase::window:
      return begin();
    case phase::text:
      return decode(at);
    case phase::end:
      phase_ = phase::header;
      return end_frame();
  }
  return std::nullopt;
}

frame_decoder::step_result brotli_decoder::begin() {
  if (const step_result asked = request_window(window_)) return asked;
  state_.reset(::BrotliDecoderCreateInstance(nullptr, nullptr, nullptr));
  if (!state_) throw std::bad_alloc();
  phase_ = phase::text;
  return std::nullopt;
}

frame_decoder::step_result brotli_decoder::decode(cursor& at) {
  const auto out = room(at);
  std::size_t in_left = at.in.size();
  std::size_t out_left = out.size();
  const auto* next_in = reinterpret_cast<const std::uint8_t*>(at.in.data());
  auto* next_out = reinterpret_cast<std::uint8_t*>(out.data());
  const BrotliDecoderResult result =
      ::BrotliDecoderDecompressStream(state_.get(), &in_left, &next_in, &out_left, &next_out, nullptr);
  const std::size_t consumed = at.in.size() - in_left;
  const std::size_t written = out.size() - out_left;
  if (result == BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT || result == BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT) {
    return continue_after(at, consumed, written);
  }
  advance(at, consumed, written);
  if (result != BROTLI_DECODER_RESULT_SUCCESS) return fail_as_library();
  state_.reset();
  phase_ = phase::end;
  return std::nullopt;
}

frame_decoder::step_result brotli_decoder::fail_as_library() {
  const BrotliDecoderErrorCode code = ::BrotliDecoderGetErrorCode(state_.get());
  if (code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES && code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES) {
    throw std::bad_alloc();
  }
  return fail_damaged("its data does not decode");
}

}  // namespace

std::unique_ptr<decoder> make_brotli_decoder(const decoder_limits& limits) {
  return std::make_unique<brotli_decoder>(limits);
}

}  // namespace gpuhist::io
