#include "io/zstd/zstd_decoder.hpp"

#include "io/block_splitter.hpp"
#include "io/size_text.hpp"
#include "io/zstd/zstd_blocks.hpp"
#include "io/zstd/zstd_dictionary.hpp"
#include "io/zstd/zstd_frame.hpp"
#include "io/zstd/zstd_head.hpp"

#include <zstd.h>
#include <zstd_errors.h>
#include <algorithm>
#include <array>
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

class zstd_decoder final : public decoder {
 public:
  explicit zstd_decoder(const decoder_limits& limits);

  fill_result fill(std::span<const std::byte> in, std::span<std::byte> out) override;
  void restart(const decode_start& start) override;
  [[nodiscard]] std::shared_ptr<const frame_context> head() const override { return head_; }
  [[nodiscard]] std::uint64_t window_wanted() const override { return wanted_; }
  void grant_window(std::uint64_t bytes) override;
  [[nodiscard]] std::string fault(std::uint64_t text_before) const override;
  [[nodiscard]] failure_kind fault_kind() const override;
  [[nodiscard]] std::string fault_cause() const override;
  [[nodiscard]] std::string missing_at_end(std::uint64_t text_before) const override;
  [[nodiscard]] std::string missing_cause_at_end() const override;
  [[nodiscard]] bool verifies_whole(std::uint64_t frames) const override { return frames == 1 && frame_.has_checksum; }
  [[nodiscard]] bool in_frame() const override { return phase_ != phase::header || header_size_ != 0; }
  [[nodiscard]] std::uint64_t consumed_total() const override { return consumed_; }
  [[nodiscard]] std::uint64_t produced_total() const override { return produced_; }

 private:
  enum class phase { header, window, skipping, blocks, failed };

  /// Whether libzstd must write output before it takes input. It shows this only by making no progress.
  enum class held { nothing, maybe, surely };

  /// The two spans of one fill() and the progress in them.
  struct cursor {
    std::span<const std::byte> in;
    std::span<std::byte> out;
    std::size_t consumed = 0;
    std::size_t produced = 0;
  };

  using step_result = std::optional<fill_status>;  // nothing: continue

  step_result step(cursor& at);
  step_result collect_header(cursor& at);
  step_result check_frame(const zstd_frame_header& header);
  step_result begin_frame(cursor& at);
  void make_context();
  [[nodiscard]] const zstd_dictionary* dictionary_for(std::uint32_t id) const;
  void use_dictionary(const zstd_dictionary* chosen);
  step_result skip(cursor& at);
  step_result decode(cursor& at);
  step_result decode_part(cursor& at, std::size_t part);
  fill_status fail(std::string clause, failure_kind kind = failure_kind::damaged);
  fill_status refuse_window(std::uint64_t needed);
  fill_status refuse_dictionary(std::uint32_t id);
  fill_status refuse_frame(std::size_t code);

  void take(cursor& at, std::size_t bytes);
  [[nodiscard]] ZSTD_outBuffer output(const cursor& at) const;
  void choose_output(const cursor& at, std::size_t header_start, const zstd_frame_header& header);
  [[nodiscard]] std::string frame_name() const { return "frame " + std::to_string(frames_ended_ + 1); }
  [[nodiscard]] std::string offsets(std::uint64_t compressed, std::uint64_t text_before) const;

  std::unique_ptr<ZSTD_DCtx, context_deleter> context_;
  const decoder_limits limits_;
  std::uint64_t granted_;
  std::uint64_t wanted_ = 0;
  std::uint64_t largest_window_ = 0;  // the maximum of this libzstd

  phase phase_ = phase::header;
  zstd_frame_header frame_;
  std::array<std::byte, zstd_max_header_bytes> header_{};
  std::size_t header_size_ = 0;
  zstd_blocks blocks_;
  held held_ = held::nothing;
  std::uint64_t skip_remaining_ = 0;

  zstd_head_reader head_reader_;
  std::shared_ptr<const zstd_head> head_;        // null: the first frame states nothing
  const zstd_dictionary* dictionary_ = nullptr;  // that the context uses

  bool output_is_stable_ = false;  // the current setting of the context
  std::optional<std::size_t>
      room_in_place_;  // the frame is decoded into `out` directly: the remaining bytes of its content size

  std::uint64_t frames_ended_ = 0;  // skippable ones are not counted
  std::uint64_t consumed_ = 0;      // from the start of the input
  std::uint64_t produced_ = 0;      // from the start of the decoder
  std::string error_;               // with phase::failed: the clause without its offsets
  failure_kind error_kind_ = failure_kind::damaged;
  std::uint64_t error_at_ = 0;  // compressed offset
};

zstd_decoder::zstd_decoder(const decoder_limits& limits) : limits_(limits), granted_(limits.granted_bytes) {
  make_context();
}

void zstd_decoder::make_context() {
  context_.reset();  // freed first: two windows at once may need too much memory
  context_.reset(ZSTD_createDCtx());
  if (context_ == nullptr) throw std::bad_alloc();
  // the limit is enforced here: it may be any number of bytes, the limit of libzstd is a power of two
  const int log = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound;
  ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, log);
  largest_window_ = std::uint64_t{1} << static_cast<unsigned>(log);
  output_is_stable_ = false;
  dictionary_ = nullptr;
}

// A frame that names no dictionary may have been compressed with one nevertheless.
const zstd_dictionary* zstd_decoder::dictionary_for(std::uint32_t id) const {
  for (const zstd_dictionary* const each : {head_ ? head_->dictionary().get() : nullptr, limits_.dictionary.get()}) {
    if (each != nullptr && (id == 0 || each->id() == id)) return each;
  }
  return nullptr;
}

void zstd_decoder::use_dictionary(const zstd_dictionary* chosen) {
  if (chosen == dictionary_) return;
  ZSTD_DCtx_refDDict(context_.get(), chosen != nullptr ? chosen->get() : nullptr);
  dictionary_ = chosen;
}

fill_result zstd_decoder::fill(std::span<const std::byte> in, std::span<std::byte> out) {
  if (phase_ == phase::failed) return {.status = fill_status::failed};
  cursor at{.in = in, .out = out};
  step_result ended;
  while (!ended) ended = step(at);
  return {.status = *ended, .consumed = at.consumed, .produced = at.produced};
}

void zstd_decoder::restart(const decode_start& start) {
  ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only);
  use_dictionary(nullptr);  // that of another input may be freed
  head_ = std::dynamic_pointer_cast<const zstd_head>(start.context);
  head_reader_ = {};
  phase_ = phase::header;
  header_size_ = 0;
  held_ = held::nothing;
  room_in_place_.reset();
  frames_ended_ = start.frames;
  consumed_ = start.compressed_bytes;
  produced_ = 0;
  error_.clear();
}

zstd_decoder::step_result zstd_decoder::step(cursor& at) {
  switch (phase_) {
    case phase::header:
      return collect_header(at);
    case phase::window:
      return begin_frame(at);
    case phase::skipping:
      return skip(at);
    case phase::blocks:
      return decode(at);
    case phase::failed:
      break;
  }
  return fill_status::failed;
}

void zstd_decoder::take(cursor& at, std::size_t bytes) {
  at.consumed += bytes;
  consumed_ += bytes;
}

zstd_decoder::step_result zstd_decoder::collect_header(cursor& at) {
  const std::size_t collected_before = header_size_;
  const std::size_t start = at.consumed;
  while (at.consumed < at.in.size()) {
    header_[header_size_++] = at.in[at.consumed];
    take(at, 1);
    const zstd_header_result parsed = parse_zstd_header(std::span(header_).first(header_size_));
    switch (parsed.status) {
      case header_status::needs_more:
        break;
      case header_status::complete:
        room_in_place_.reset();
        if (collected_before == 0) choose_output(at, start, parsed.header);
        return check_frame(parsed.header);
      case header_status::reserved_bit:
        return fail(frame_name() + " is damaged (its header has the reserved bit set)");
      case header_status::not_zstd: {
        const bool at_the_start = consumed_ == header_size_;
        fail(at_the_start ? "is not zstd data: there is no zstd magic number at its start,"
                          : "trailing data that is not zstd where " + frame_name() + " would begin,");
        error_at_ -= header_size_;
        return fill_status::failed;
      }
    }
  }
  return fill_status::needs_input;
}

/// A frame that is complete in `in` and fits into `out` is decoded into `out` directly instead of through a window.
void zstd_decoder::choose_output(const cursor& at, std::size_t header_start, const zstd_frame_header& header) {
  if (!header.content_bytes || *header.content_bytes > at.out.size() - at.produced) return;
  const std::span<const std::byte> rest = at.in.subspan(header_start);
  const std::size_t length = ZSTD_findFrameCompressedSize(rest.data(), rest.size());
  if (ZSTD_isError(length) == 0 && length <= rest.size())
    room_in_place_ = static_cast<std::size_t>(*header.content_bytes);
}

zstd_decoder::step_result zstd_decoder::check_frame(const zstd_frame_header& header) {
  if (header.skippable) {
    skip_remaining_ = header.skip_bytes;
    if (consumed_ == header_size_) head_reader_.begin(std::span(header_).first(header_size_));
    phase_ = phase::skipping;
    return std::nullopt;
  }
  // the buffer of libzstd is at most as large as the content
  wanted_ = std::min(header.window_bytes, header.content_bytes.value_or(header.window_bytes));
  if (header.window_bytes > largest_window_) return refuse_window(header.window_bytes);
  if (wanted_ > limits_.window_bytes) return refuse_window(wanted_);
  if (header.dictionary_id != 0 && dictionary_for(header.dictionary_id) == nullptr) {
    return refuse_dictionary(header.dictionary_id);
  }
  frame_ = header;
  phase_ = phase::window;
  return std::nullopt;
}

zstd_decoder::step_result zstd_decoder::begin_frame(cursor& at) {
  if (wanted_ > granted_) {
    room_in_place_.reset();  // the next call gets another output span
    return fill_status::needs_window;
  }
  use_dictionary(dictionary_for(frame_.dictionary_id));
  if (room_in_place_.has_value() != output_is_stable_) {
    const std::size_t code = ZSTD_DCtx_setParameter(context_.get(), stable_output, room_in_place_ ? 1 : 0);
    if (ZSTD_isError(code) == 0) output_is_stable_ = room_in_place_.has_value();
  }
  if (!output_is_stable_) room_in_place_.reset();
  blocks_ = zstd_blocks(frame_.has_checksum);
  held_ = held::nothing;

  ZSTD_outBuffer out = output(at);
  ZSTD_inBuffer in{.src = header_.data(), .size = header_size_, .pos = 0};
  const std::size_t code = ZSTD_decompressStream(context_.get(), &out, &in);
  if (ZSTD_isError(code) != 0) return refuse_frame(code);
  phase_ = phase::blocks;
  return std::nullopt;
}

// A smaller window frees the memory of the larger one.
void zstd_decoder::grant_window(std::uint64_t bytes) {
  if (bytes != granted_) make_context();
  granted_ = bytes;
}

zstd_decoder::step_result zstd_decoder::skip(cursor& at) {
  const std::size_t here = at.in.size() - at.consumed;
  const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(skip_remaining_, here));
  head_reader_.add(at.in.subspan(at.consumed, bytes));
  take(at, bytes);
  skip_remaining_ -= bytes;
  if (skip_remaining_ != 0) return fill_status::needs_input;
  if (auto found = head_reader_.end()) head_ = std::move(found);
  phase_ = phase::header;
  header_size_ = 0;
  return std::nullopt;
}

/// The output buffer of a frame that is decoded in place is limited to its content size, so that it is the same in
/// every call.
ZSTD_outBuffer zstd_decoder::output(const cursor& at) const {
  const std::size_t size = room_in_place_ ? at.produced + *room_in_place_ : at.out.size();
  return {.dst = at.out.data(), .size = size, .pos = at.produced};
}

zstd_decoder::step_result zstd_decoder::decode(cursor& at) {
  const bool room = at.produced < at.out.size();
  const std::size_t part = std::min(blocks_.remaining(), at.in.size() - at.consumed);
  if (held_ == held::nothing) {
    if (part == 0) return fill_status::needs_input;
    return decode_part(at, part);
  }
  // Held output is written before the next part is decoded: an error in that part would hide how much was written.
  if (room) return decode_part(at, 0);
  // libzstd treats repeated calls without progress as an endless loop, so a call that cannot make progress is not made.
  if (held_ == held::surely || part == 0) return fill_status::output_full;
  return decode_part(at, part);
}

zstd_decoder::step_result zstd_decoder::decode_part(cursor& at, std::size_t part) {
  const std::span<const std::byte> bytes = at.in.subspan(at.consumed, part);
  ZSTD_inBuffer in{.src = bytes.data(), .size = bytes.size(), .pos = 0};
  ZSTD_outBuffer out = output(at);
  const std::size_t before = at.produced;
  const std::size_t code = ZSTD_decompressStream(context_.get(), &out, &in);
  if (ZSTD_isError(code) != 0) return refuse_frame(code);

  const std::size_t written = out.pos - before;
  at.produced = out.pos;
  produced_ += written;
  if (room_in_place_) *room_in_place_ -= written;
  take(at, in.pos);
  blocks_.advance(bytes.first(in.pos));
  if (out.pos < out.size || room_in_place_) {
    held_ = held::nothing;
  } else {
    held_ = in.pos == 0 && written == 0 ? held::surely : held::maybe;
  }
  if (code != 0) return std::nullopt;
  phase_ = phase::header;
  header_size_ = 0;
  ++frames_ended_;
  return fill_status::frame_verified;
}

fill_status zstd_decoder::fail(std::string clause, failure_kind kind) {
  phase_ = phase::failed;
  error_ = std::move(clause);
  error_kind_ = kind;
  error_at_ = consumed_;
  return fill_status::failed;
}

fill_status zstd_decoder::refuse_window(std::uint64_t needed) {
  if (needed > largest_window_) {
    return fail(frame_name() + " needs a window of " + size_text(needed) + ", more than the " +
                    size_text(largest_window_) + " that zstd can decode,",
                failure_kind::refused);
  }
  return fail(frame_name() + " " + window_refusal(needed, limits_), failure_kind::refused);
}

fill_status zstd_decoder::refuse_dictionary(std::uint32_t id) {
  std::string clause = frame_name() + " needs dictionary " + std::to_string(id);
  if (head_ && !head_->fault().empty()) {
    clause += ", and that of the first frame " + std::string(head_->fault());
  } else if (head_) {
    clause += ", and the first frame holds dictionary " + std::to_string(head_->dictionary()->id());
  }
  if (!limits_.dictionary) {
    return fail(clause + "; give the file that holds it with --zstd-dictionary,", failure_kind::refused);
  }
  const std::uint32_t loaded_id = limits_.dictionary->id();
  clause += ", but " + limits_.dictionary->name();
  return fail(
      clause + (loaded_id == 0 ? " has no dictionary ID," : " holds dictionary " + std::to_string(loaded_id) + ","),
      failure_kind::refused);
}

fill_status zstd_decoder::refuse_frame(std::size_t code) {
  if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  return fail(frame_name() + " is damaged (" + ZSTD_getErrorName(code) + ")");
}

std::string zstd_decoder::offsets(std::uint64_t compressed, std::uint64_t text_before) const {
  return " at compressed offset " + std::to_string(compressed) + ", decompressed offset " +
         std::to_string(text_before + produced_);
}

std::string zstd_decoder::fault(std::uint64_t text_before) const { return error_ + offsets(error_at_, text_before); }

failure_kind zstd_decoder::fault_kind() const { return error_.empty() ? failure_kind::damaged : error_kind_; }

// Some clauses end in a comma, because the offsets follow.
std::string zstd_decoder::fault_cause() const { return error_.substr(0, error_.find_last_not_of(',') + 1); }

std::string zstd_decoder::missing_at_end(std::uint64_t text_before) const {
  if (phase_ == phase::failed) return fault(text_before);
  const std::string cause = missing_cause_at_end();
  return cause.empty() ? cause : cause + offsets(consumed_, text_before);
}

std::string zstd_decoder::missing_cause_at_end() const {
  if (phase_ == phase::failed) return fault_cause();
  if (consumed_ == 0) return "is empty: there is no zstd frame";
  if (!in_frame()) return {};
  return (phase_ == phase::skipping ? "the skippable frame before " + frame_name() : frame_name()) +
         " ends early: the input stops";
}

}  // namespace

std::unique_ptr<decoder> make_zstd_decoder(const decoder_limits& limits) {
  return std::make_unique<zstd_decoder>(limits);
}

namespace {

struct zstd_frames {
  using blocks = zstd_blocks;
  using head = zstd_head_reader;
  using opening = frame_opening<blocks>;
  static constexpr std::size_t max_header_bytes = zstd_max_header_bytes;
  static constexpr std::string_view nothing_after = "no frame can be found after data that is not a zstd frame";

  static opening open(std::span<const std::byte> bytes) {
    const zstd_header_result parsed = parse_zstd_header(bytes);
    if (parsed.status == header_status::needs_more) return {};
    if (parsed.status != header_status::complete) return {.type = opening::kind::none, .reason = nothing_after};
    if (parsed.header.skippable) return {.type = opening::kind::skippable, .skip_bytes = parsed.header.skip_bytes};
    return {.type = opening::kind::blocks, .blocks = zstd_blocks(parsed.header.has_checksum)};
  }
};

}  // namespace

std::unique_ptr<splitter> make_zstd_splitter() { return std::make_unique<block_splitter<zstd_frames>>(); }

}  // namespace gpuhist::io
