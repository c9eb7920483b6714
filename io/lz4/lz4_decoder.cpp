// Decodes lz4 frames with LZ4F_decompress, and blocks of legacy frames with LZ4_decompress_safe. LZ4F gets the bytes
// part by part (lz4_frame.hpp), because a failed call does not report the bytes that it wrote before the error. A part
// that fails has written nothing.
#include "io/lz4/lz4_decoder.hpp"

#include "io/frame_decoder.hpp"
#include "io/lz4/lz4_frame.hpp"
#include "io/lz4/lz4_legacy_block.hpp"

#include <lz4frame.h>

#include <algorithm>
#include <array>
#include <new>
#include <string_view>

namespace gpuhist::io {
namespace {

struct context_deleter {
  void operator()(LZ4F_dctx* context) const noexcept { LZ4F_freeDecompressionContext(context); }
};

/// LZ4F's errors are distinguished by their names: the numbers are not part of its stable interface.
struct cause {
  std::string_view name;
  std::string_view words;
};

constexpr std::array causes{
    cause{.name = "ERROR_headerChecksum_invalid", .words = "its header does not match its checksum"},
    cause{.name = "ERROR_maxBlockSize_invalid", .words = "a block is larger than its header allows"},
    cause{.name = "ERROR_blockChecksum_invalid", .words = "a block does not match its checksum"},
    cause{.name = "ERROR_contentChecksum_invalid", .words = "its text does not match its checksum"},
    cause{.name = "ERROR_frameSize_wrong", .words = "its text does not have the length that its header states"},
    cause{.name = "ERROR_decompressionFailed", .words = "a block does not decode"},
};

std::uint64_t memory_for(const lz4_frame_header& header) {
  constexpr std::uint64_t history = 128U << 10U;
  return 2 * std::uint64_t{header.block_bytes} + (header.linked_blocks ? history : 0);
}

class lz4_decoder final : public frame_decoder {
 public:
  explicit lz4_decoder(const decoder_limits& limits) : frame_decoder(limits, {.format = "lz4", .frame = "frame"}) {}

  [[nodiscard]] bool in_frame() const override {
    return (phase_ != phase::header && phase_ != phase::legacy_size) || !collected().empty();
  }

 private:
  enum class phase { header, skipping, window, blocks, legacy_size, legacy_window, legacy_block, legacy_text };

  /// Whether LZ4F must write output before it takes input. It shows this only by making no progress.
  enum class held { nothing, maybe, surely };

  step_result step(cursor& at) override;
  void reset_frame() override;
  void free_memory() noexcept override;

  step_result read_header(cursor& at);
  step_result leave_header(const lz4_header_result& parsed);
  step_result check_frame();
  step_result begin_frame();
  step_result skip(cursor& at);
  step_result decode(cursor& at);
  step_result decode_part(cursor& at, std::size_t part);
  step_result read_legacy_size(cursor& at);
  step_result begin_legacy_block();
  step_result gather_legacy_block(cursor& at);
  step_result deliver_legacy_text(cursor& at);
  step_result refuse(std::size_t code);

  std::unique_ptr<LZ4F_dctx, context_deleter> context_;
  phase phase_ = phase::header;
  lz4_frame_header frame_;
  lz4_blocks blocks_;
  held held_ = held::nothing;
  std::uint32_t skip_remaining_ = 0;
  std::uint32_t legacy_packed_ = 0;  // compressed bytes of the legacy block
  lz4_legacy_block legacy_;
};

frame_decoder::step_result lz4_decoder::step(cursor& at) {
  switch (phase_) {
    case phase::header:
      return read_header(at);
    case phase::skipping:
      return skip(at);
    case phase::window:
      return begin_frame();
    case phase::blocks:
      return decode(at);
    case phase::legacy_size:
      return read_legacy_size(at);
    case phase::legacy_window:
      return begin_legacy_block();
    case phase::legacy_block:
      return gather_legacy_block(at);
    case phase::legacy_text:
      return deliver_legacy_text(at);
  }
  return std::nullopt;
}

// LZ4F_resetDecompressionContext of 1.9.4 keeps the remaining size of a frame that was not finished.
void lz4_decoder::reset_frame() {
  if (phase_ == phase::blocks) context_.reset();
  phase_ = phase::header;
}

void lz4_decoder::free_memory() noexcept {
  context_.reset();
  legacy_.free_memory();
}

frame_decoder::step_result lz4_decoder::read_header(cursor& at) {
  lz4_header_result parsed = parse_lz4_header(collected());
  while (parsed.status == lz4_header_status::needs_more) {
    if (!collect(at, collected().size() + 1)) return fill_status::needs_input;
    parsed = parse_lz4_header(collected());
  }
  return leave_header(parsed);
}

frame_decoder::step_result lz4_decoder::leave_header(const lz4_header_result& parsed) {
  switch (parsed.status) {
    case lz4_header_status::needs_more:
    case lz4_header_status::not_lz4:
      return refuse_magic();
    case lz4_header_status::reserved_bits:
      return fail_damaged("its header has reserved bits set");
    case lz4_header_status::unknown_version:
      return fail_damaged("its header states another version than 1");
    case lz4_header_status::wrong_block_size:
      return fail_damaged("its header has an invalid block size");
    case lz4_header_status::complete:
      break;
  }
  frame_ = parsed.header;
  switch (frame_.kind) {
    case lz4_kind::frame:
      return check_frame();
    case lz4_kind::skippable:
      drop_collected();
      skip_remaining_ = frame_.skip_bytes;
      phase_ = phase::skipping;
      break;
    case lz4_kind::legacy:
      drop_collected();
      phase_ = phase::legacy_size;
      break;
  }
  return std::nullopt;
}

frame_decoder::step_result lz4_decoder::check_frame() {
  if (frame_.dictionary_id != 0) {
    return fail(frame_name() + " needs dictionary " + std::to_string(frame_.dictionary_id) +
                ", and gpuhist takes no dictionaries for lz4,");
  }
  phase_ = phase::window;
  return std::nullopt;
}

frame_decoder::step_result lz4_decoder::begin_frame() {
  if (const step_result asked = request_window(memory_for(frame_)); asked) return asked;
  if (context_) {
    LZ4F_resetDecompressionContext(context_.get());
  } else {
    LZ4F_dctx* context = nullptr;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)) != 0) throw std::bad_alloc();
    context_.reset(context);
  }
  std::size_t consumed = collected().size();
  std::size_t written = 0;
  const std::size_t code = LZ4F_decompress(context_.get(), nullptr, &written, collected().data(), &consumed, nullptr);
  if (LZ4F_isError(code) != 0) return refuse(code);
  drop_collected();
  blocks_ = lz4_blocks(frame_);
  held_ = held::nothing;
  phase_ = phase::blocks;
  return std::nullopt;
}

frame_decoder::step_result lz4_decoder::skip(cursor& at) {
  const auto bytes = static_cast<std::uint32_t>(std::min<std::size_t>(skip_remaining_, at.in.size()));
  take(at, bytes);
  skip_remaining_ -= bytes;
  if (skip_remaining_ != 0) return fill_status::needs_input;
  phase_ = phase::header;
  return std::nullopt;
}

frame_decoder::step_result lz4_decoder::decode(cursor& at) {
  const std::size_t part = std::min(blocks_.remaining(), at.in.size());
  if (held_ == held::nothing) {
    if (part == 0) return fill_status::needs_input;
    return decode_part(at, part);
  }
  // held output is written before the next part is decoded: an error in that part would hide how much was written
  if (!at.out.empty()) return decode_part(at, 0);
  if (held_ == held::surely || part == 0) return fill_status::output_full;
  return decode_part(at, part);
}

frame_decoder::step_result lz4_decoder::decode_part(cursor& at, std::size_t part) {
  std::size_t consumed = part;
  std::size_t written = at.out.size();
  const std::size_t code = LZ4F_decompress(context_.get(), at.out.data(), &written, at.in.data(), &consumed, nullptr);
  if (LZ4F_isError(code) != 0) {
    take(at, part);
    return refuse(code);
  }
  blocks_.advance(at.in.first(consumed));
  const bool filled = written == at.out.size();
  take(at, consumed);
  write(at, written);
  if (!filled) {
    held_ = held::nothing;
  } else {
    held_ = consumed == 0 && written == 0 ? held::surely : held::maybe;
  }
  if (code != 0) return std::nullopt;
  phase_ = phase::header;
  return end_frame();
}

/// The size field of a block may also be the magic number of another frame: a legacy frame has no other end.
frame_decoder::step_result lz4_decoder::read_legacy_size(cursor& at) {
  if (!collect(at, 4)) return fill_status::needs_input;
  std::uint32_t size = 0;
  for (std::size_t i = 4; i-- > 0;) size = (size << 8U) | std::to_integer<std::uint32_t>(collected()[i]);
  if (size == 0) return fail_damaged("an empty legacy block");
  if (size > lz4_legacy_block::max_packed_bytes()) {
    phase_ = phase::header;
    return std::nullopt;
  }
  drop_collected();
  legacy_packed_ = size;
  phase_ = phase::legacy_window;
  return std::nullopt;
}

frame_decoder::step_result lz4_decoder::begin_legacy_block() {
  if (const step_result asked = request_window(lz4_legacy_block::memory_for(legacy_packed_)); asked) return asked;
  legacy_.begin(legacy_packed_);
  phase_ = phase::legacy_block;
  return std::nullopt;
}

frame_decoder::step_result lz4_decoder::gather_legacy_block(cursor& at) {
  take(at, legacy_.gather(at.in));
  if (!legacy_.is_whole()) return fill_status::needs_input;
  if (!legacy_.decode()) return fail_damaged("its legacy block does not decode");
  phase_ = phase::legacy_text;
  return std::nullopt;
}

frame_decoder::step_result lz4_decoder::deliver_legacy_text(cursor& at) {
  write(at, legacy_.deliver(at.out));
  if (!legacy_.is_delivered()) return fill_status::output_full;
  phase_ = phase::legacy_size;
  return end_frame();
}

frame_decoder::step_result lz4_decoder::refuse(std::size_t code) {
  const std::string_view name = LZ4F_getErrorName(code);
  if (name == "ERROR_allocation_failed") throw std::bad_alloc();
  const auto* const known = std::ranges::find(causes, name, &cause::name);
  return fail_damaged(known == causes.end() ? name : known->words);
}

}  // namespace

std::unique_ptr<decoder> make_lz4_decoder(const decoder_limits& limits) {
  return std::make_unique<lz4_decoder>(limits);
}

}  // namespace gpuhist::io
