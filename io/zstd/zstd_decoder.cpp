#include "io/zstd/zstd_decoder.hpp"

#include "io/block_splitter.hpp"
#include "io/failure.hpp"
#include "io/frame_decoder.hpp"
#include "io/zstd/zstd_blocks.hpp"
#include "io/zstd/zstd_dictionary.hpp"
#include "io/zstd/zstd_frame.hpp"
#include "io/zstd/zstd_head.hpp"

#include <zstd.h>
#include <zstd_errors.h>
#include <algorithm>
#include <new>
#include <optional>
#include <utility>

namespace gpuhist::io {

// Decodes zstd frames with ZSTD_decompressStream. libzstd gets the bytes part by part (zstd_blocks.hpp), because a
// failed call does not report the bytes that it wrote before the error. A part that fails has written nothing.

namespace {

struct context_deleter {
  void operator()(ZSTD_DCtx* context) const noexcept { ZSTD_freeDCtx(context); }
};

/// ZSTD_d_stableOutBuffer, by the name that zstd.h always declares. If a library does not support it, frames are
/// decoded through a window.
constexpr ZSTD_dParameter stable_output = ZSTD_d_experimentalParam2;

std::uint64_t largest_window() {
  return std::uint64_t{1} << static_cast<unsigned>(ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound);
}

class zstd_decoder final : public frame_decoder {
 public:
  explicit zstd_decoder(const decoder_limits& limits)
      : frame_decoder(limits, {.format = "zstd", .frame = "frame"}), given_(limits.dictionary) {}

  [[nodiscard]] std::shared_ptr<const frame_context> head() const override { return head_; }
  [[nodiscard]] bool verifies_whole(std::uint64_t frames) const override { return frames == 1 && has_checksum_; }
  [[nodiscard]] bool in_frame() const override { return phase_ != phase::header || !collected().empty(); }

 private:
  enum class phase { header, skipping, blocks };

  /// Whether libzstd must write output before it takes input. It shows this only by making no progress.
  enum class held { nothing, maybe, surely };

  step_result step(cursor& at) override;
  void reset_frame() override;
  void begin_at(const decode_start& start) override;
  void free_memory() noexcept override { context_ = nullptr; }
  [[nodiscard]] std::string frame_name() const override;

  step_result read_header(cursor& at);
  void choose_output(const cursor& at, const zstd_frame_header& header);
  step_result leave_header(cursor& at, const zstd_frame_header& header);
  step_result begin_frame(cursor& at, const zstd_frame_header& header);
  void prepare_context(const zstd_dictionary* dictionary);
  [[nodiscard]] const zstd_dictionary* dictionary_for(std::uint32_t id) const;
  void use_dictionary(const zstd_dictionary* chosen);
  step_result skip(cursor& at);
  step_result decode(cursor& at);
  step_result decode_next(cursor& at);
  step_result decode_part(cursor& at, std::size_t part);
  step_result refuse_dictionary(std::uint32_t id);
  step_result refuse_frame(std::size_t code);

  std::unique_ptr<ZSTD_DCtx, context_deleter> context_;  // null: no frame was decoded since its memory was freed
  phase phase_ = phase::header;
  bool has_checksum_ = false;
  zstd_blocks blocks_;
  held held_ = held::nothing;
  std::uint64_t bytes_to_skip_ = 0;

  const std::shared_ptr<const zstd_dictionary> given_;  // null: none
  zstd_head_reader head_reader_;
  std::shared_ptr<const zstd_head> head_;        // null: the first frame states nothing
  const zstd_dictionary* dictionary_ = nullptr;  // that the context uses

  bool output_is_stable_ = false;           // the current setting of the context
  std::optional<ZSTD_outBuffer> in_place_;  // the frame is decoded into `out` directly: the room for its content
};

frame_decoder::step_result zstd_decoder::step(cursor& at) {
  switch (phase_) {
    case phase::header:
      return read_header(at);
    case phase::skipping:
      return skip(at);
    case phase::blocks:
      return decode(at);
  }
  return std::nullopt;
}

void zstd_decoder::reset_frame() {
  phase_ = phase::header;
  head_reader_ = {};
  if (!context_) return;
  ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only);
  use_dictionary(nullptr);  // that of another input may be freed
}

void zstd_decoder::begin_at(const decode_start& start) {
  head_ = std::dynamic_pointer_cast<const zstd_head>(start.context);
}

std::string zstd_decoder::frame_name() const {
  return (phase_ == phase::skipping ? "the skippable frame before " : "") + frame_decoder::frame_name();
}

frame_decoder::step_result zstd_decoder::read_header(cursor& at) {
  if (collected().empty()) {
    in_place_.reset();
    const zstd_header_result whole = parse_zstd_header(at.in);
    if (whole.status == header_status::complete) {
      choose_output(at, whole.header);
      collect(at, whole.header.header_bytes);
      return leave_header(at, whole.header);
    }
  }
  zstd_header_result parsed = parse_zstd_header(collected());
  while (parsed.status == header_status::needs_more) {
    if (!collect(at, collected().size() + 1)) return fill_status::needs_input;
    parsed = parse_zstd_header(collected());
  }
  if (parsed.status == header_status::complete) return leave_header(at, parsed.header);
  if (parsed.status == header_status::not_zstd) return refuse_magic();
  return fail_damaged("its header has the reserved bit set");
}

/// A frame that is complete in `in` and fits into `out` is decoded into `out` directly instead of through a window.
void zstd_decoder::choose_output(const cursor& at, const zstd_frame_header& header) {
  if (!header.content_bytes || *header.content_bytes > at.out.size()) return;
  const std::size_t length = ZSTD_findFrameCompressedSize(at.in.data(), at.in.size());
  if (ZSTD_isError(length) != 0 || length > at.in.size()) return;
  in_place_ = {.dst = at.out.data(), .size = static_cast<std::size_t>(*header.content_bytes), .pos = 0};
}

frame_decoder::step_result zstd_decoder::leave_header(cursor& at, const zstd_frame_header& header) {
  if (!header.skippable) return begin_frame(at, header);
  if (consumed_total() == collected().size()) head_reader_.begin(collected());
  drop_collected();
  bytes_to_skip_ = header.skip_bytes;
  phase_ = phase::skipping;
  return std::nullopt;
}

/// The header stays collected until the window is granted.
frame_decoder::step_result zstd_decoder::begin_frame(cursor& at, const zstd_frame_header& header) {
  if (header.window_bytes > largest_window()) {
    return refuse(frame_name() + " needs a window of " + size_text(header.window_bytes) + ", more than the " +
                  size_text(largest_window()) + " that zstd can decode,");
  }
  // the buffer of libzstd is at most as large as the content
  const step_result asked =
      request_window(std::min(header.window_bytes, header.content_bytes.value_or(header.window_bytes)));
  if (asked == fill_status::failed) return asked;
  const zstd_dictionary* const dictionary = dictionary_for(header.dictionary_id);
  if (header.dictionary_id != 0 && dictionary == nullptr) return refuse_dictionary(header.dictionary_id);
  if (asked) {
    in_place_.reset();  // the next call gets another output span
    return asked;
  }
  prepare_context(dictionary);
  has_checksum_ = header.has_checksum;
  blocks_ = zstd_blocks(has_checksum_);
  held_ = held::nothing;

  ZSTD_outBuffer out = in_place_.value_or(ZSTD_outBuffer{.dst = at.out.data(), .size = at.out.size(), .pos = 0});
  ZSTD_inBuffer in{.src = collected().data(), .size = collected().size(), .pos = 0};
  const std::size_t code = ZSTD_decompressStream(context_.get(), &out, &in);
  if (ZSTD_isError(code) != 0) return refuse_frame(code);
  phase_ = phase::blocks;
  return decode(at);
}

void zstd_decoder::prepare_context(const zstd_dictionary* dictionary) {
  if (!context_) {
    context_.reset(ZSTD_createDCtx());
    if (!context_) throw std::bad_alloc();
    // the limit is enforced above: it may be any number of bytes, the limit of libzstd is a power of two
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound);
    output_is_stable_ = false;
    dictionary_ = nullptr;
  }
  use_dictionary(dictionary);
  if (in_place_.has_value() != output_is_stable_) {
    const std::size_t code = ZSTD_DCtx_setParameter(context_.get(), stable_output, in_place_ ? 1 : 0);
    if (ZSTD_isError(code) == 0) output_is_stable_ = in_place_.has_value();
  }
  if (!output_is_stable_) in_place_.reset();
}

// A frame that names no dictionary may have been compressed with one nevertheless.
const zstd_dictionary* zstd_decoder::dictionary_for(std::uint32_t id) const {
  for (const zstd_dictionary* const each : {head_ ? head_->dictionary().get() : nullptr, given_.get()}) {
    if (each != nullptr && (id == 0 || each->id() == id)) return each;
  }
  return nullptr;
}

void zstd_decoder::use_dictionary(const zstd_dictionary* chosen) {
  if (chosen == dictionary_) return;
  ZSTD_DCtx_refDDict(context_.get(), chosen != nullptr ? chosen->get() : nullptr);
  dictionary_ = chosen;
}

frame_decoder::step_result zstd_decoder::skip(cursor& at) {
  const std::span<const std::byte> in = at.in;
  const bool is_whole = take_remaining(at, bytes_to_skip_);
  head_reader_.add(in.first(in.size() - at.in.size()));
  if (!is_whole) return fill_status::needs_input;
  if (auto found = head_reader_.end()) head_ = std::move(found);
  phase_ = phase::header;
  return std::nullopt;
}

/// Blocks may have a few bytes, so they are not steps of their own.
frame_decoder::step_result zstd_decoder::decode(cursor& at) {
  step_result ended;
  while (!ended) ended = decode_next(at);
  return ended;
}

frame_decoder::step_result zstd_decoder::decode_next(cursor& at) {
  const std::size_t part = std::min(blocks_.remaining(), at.in.size());
  if (held_ == held::nothing) {
    if (part == 0) return fill_status::needs_input;
    return decode_part(at, part);
  }
  // Held output is written before the next part is decoded: an error in that part would hide how much was written.
  if (!at.out.empty()) return decode_part(at, 0);
  // libzstd treats repeated calls without progress as an endless loop, so a call that cannot make progress is not made.
  if (held_ == held::surely || part == 0) return fill_status::output_full;
  return decode_part(at, part);
}

frame_decoder::step_result zstd_decoder::decode_part(cursor& at, std::size_t part) {
  const std::span<const std::byte> bytes = at.in.first(part);
  ZSTD_inBuffer in{.src = bytes.data(), .size = bytes.size(), .pos = 0};
  ZSTD_outBuffer all{.dst = at.out.data(), .size = at.out.size(), .pos = 0};
  ZSTD_outBuffer& out = in_place_ ? *in_place_ : all;
  const std::size_t before = out.pos;
  const std::size_t code = ZSTD_decompressStream(context_.get(), &out, &in);
  if (ZSTD_isError(code) != 0) return refuse_frame(code);

  const std::size_t written = out.pos - before;
  take(at, in.pos);
  write(at, written);
  blocks_.advance(bytes.first(in.pos));
  if (out.pos < out.size || in_place_) {
    held_ = held::nothing;
  } else {
    held_ = in.pos == 0 && written == 0 ? held::surely : held::maybe;
  }
  if (code != 0) return std::nullopt;
  phase_ = phase::header;
  return end_frame();
}

frame_decoder::step_result zstd_decoder::refuse_dictionary(std::uint32_t id) {
  std::string clause = frame_name() + " needs dictionary " + std::to_string(id);
  if (head_ && !head_->fault().empty()) {
    clause += ", and that of the first frame " + std::string(head_->fault());
  } else if (head_) {
    clause += ", and the first frame holds dictionary " + std::to_string(head_->dictionary()->id());
  }
  if (!given_) return refuse(clause + "; give the file that holds it with --zstd-dictionary,");
  const std::uint32_t given_id = given_->id();
  clause += ", but " + given_->name();
  return refuse(clause +
                (given_id == 0 ? " has no dictionary ID," : " holds dictionary " + std::to_string(given_id) + ","));
}

frame_decoder::step_result zstd_decoder::refuse_frame(std::size_t code) {
  if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  return fail_damaged(ZSTD_getErrorName(code));
}

}  // namespace

std::unique_ptr<decoder> make_zstd_decoder(const decoder_limits& limits) {
  return std::make_unique<zstd_decoder>(limits);
}

namespace {

struct zstd_frames {
  using blocks = zstd_blocks;
  using head = zstd_head_reader;
  static constexpr std::size_t max_header_bytes = zstd_max_header_bytes;
  static constexpr std::string_view nothing_after = "no frame can be found after data that is not a zstd frame";
  static constexpr auto parse = parse_zstd_header;

  static bool is_skippable(const zstd_frame_header& header) { return header.skippable; }
  static blocks begin(const zstd_frame_header& header) { return blocks(header.has_checksum); }
};

}  // namespace

std::unique_ptr<splitter> make_zstd_splitter() { return std::make_unique<block_splitter<zstd_frames>>(); }

}  // namespace gpuhist::io
