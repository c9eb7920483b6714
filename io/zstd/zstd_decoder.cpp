#include "io/zstd/zstd_decoder.hpp"

#include "io/failure.hpp"
#include "io/frame_decoder.hpp"
#include "io/frame_magic.hpp"
#include "io/offered_parts.hpp"
#include "io/zstd/libzstd_context.hpp"
#include "io/zstd/zstd_blocks.hpp"
#include "io/zstd/zstd_dictionary.hpp"
#include "io/zstd/zstd_frame.hpp"
#include "io/zstd/zstd_frame_state.hpp"
#include "io/zstd/zstd_head.hpp"
#include "io/zstd/zstd_parts.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>
#include <zstd_errors.h>
#include <algorithm>
#include <new>
#include <optional>
#include <utility>

namespace gpuhist::io {

// Decodes zstd frames with ZSTD_decompressStream. libzstd gets the bytes part by part (zstd_blocks.hpp), because a
// failed call does not report the bytes that it wrote before the error. A part that fails has written nothing.
//
// A frame whose first block was decoded ahead is decoded without libzstd (zstd_frame_state), up to the first block that
// is not valid. libzstd decodes this one and those after it, or reports the error. So both ways have the same result.
// libzstd also decodes the rest of a frame of which no more blocks are decoded ahead, because it is faster.

namespace {

class zstd_decoder final : public frame_decoder {
 public:
  zstd_decoder(const decoder_limits& limits, std::size_t most_alone)
      : frame_decoder(limits, {.format = "zstd", .frame = "frame"}),
        given_(limits.dictionary),
        most_alone_(most_alone) {}

  void offer(const std::shared_ptr<const decoded_part>& part) override { parts_.offer(part, consumed_total()); }
  [[nodiscard]] bool may_take_parts() const override {
    return phase_ != phase::blocks && (phase_ != phase::own_text || !is_resumed_);
  }

  [[nodiscard]] std::shared_ptr<const frame_context> head() const override { return head_; }
  [[nodiscard]] bool verifies_whole(std::uint64_t frames) const override { return frames == 1 && has_checksum_; }
  [[nodiscard]] bool in_frame() const override { return phase_ != phase::header || !collected().empty(); }

 private:
  enum class phase {
    header,
    skipping,
    first_block,
    blocks,
    ready_block,  // it has text
    own_header,
    own_content,
    own_stored,
    own_text,
    checksum
  };

  /// Whether libzstd must write output before it takes input. It shows this only by making no progress.
  enum class held { nothing, maybe, surely };

  step_result step(cursor& at) override;
  void reset_frame() override;
  void begin_at(const decode_start& start) override;
  void free_memory() noexcept override {
    context_.release();
    room_ = {};
    own_ = nullptr;
    parts_.clear();
  }
  [[nodiscard]] std::string frame_name() const override;

  step_result read_header(cursor& at);
  void choose_output(const cursor& at, const zstd_frame_header& header);
  step_result leave_header(cursor& at, const zstd_frame_header& header);
  step_result begin_frame(cursor& at, const zstd_frame_header& header);
  step_result begin_blocks(cursor& at);
  step_result begin_libzstd(cursor& at);
  [[nodiscard]] const zstd_dictionary* dictionary_for(std::uint32_t id) const;
  step_result skip(cursor& at);
  step_result decode(cursor& at);
  step_result decode_next(cursor& at);
  step_result end_libzstd();
  [[nodiscard]] bool uses_room() const { return in_place_ && in_place_->dst == room_.data(); }
  step_result decode_part(cursor& at, std::size_t part);
  step_result begin_block(cursor& at);
  step_result take_ready_block(cursor& at);
  step_result read_block_header(cursor& at);
  step_result read_content(cursor& at);
  step_result decode_content(std::span<const std::byte> content);
  step_result copy_stored(cursor& at);
  step_result write_text(cursor& at);
  step_result end_block();
  step_result end_text();
  [[nodiscard]] bool hands_over() const;
  step_result resume_libzstd();
  step_result decode_rest(cursor& at, std::size_t part);
  step_result read_checksum(cursor& at);
  step_result refuse_dictionary(std::uint32_t id);
  step_result refuse_frame(std::size_t code);

  libzstd_context context_;
  phase phase_ = phase::header;
  zstd_frame_header frame_;
  bool has_checksum_ = false;
  zstd_blocks blocks_;
  held held_ = held::nothing;
  std::uint64_t bytes_to_skip_ = 0;

  const std::shared_ptr<const zstd_dictionary> given_;  // null: none
  zstd_head_reader head_reader_;
  std::shared_ptr<const zstd_head> head_;  // null: the first frame states nothing

  std::optional<ZSTD_outBuffer> in_place_;  // the room for the content of the frame: in `out`, or `room_`
  std::vector<std::byte> room_;             // as small as the buffer that libzstd would allocate

  struct own_frame {
    zstd_frame_state state;
    XXH64_state_t checksum{};
    std::vector<std::byte> begin{};  // of the frame, up to here; while it is short
    bool has_begin = true;
    std::vector<std::byte> rest{};    // text of a block that libzstd decoded, in a frame that it did not begin
    std::vector<std::byte> packed{};  // a block that no part has
    std::unique_ptr<zstd_block_decoder> decoder{};
    std::unique_ptr<std::byte[]> plan{};
  };
  static constexpr std::size_t block_at = zstd_block_decoder::front_bytes;  // in `packed`: the header of the block

  void take_block_bytes(cursor& at, std::size_t bytes);
  zstd_block_decoder::verdict decode_block(std::span<const std::byte> content);
  bool add_text(const zstd_block_plan& plan, const zstd_kept_descriptions& tables, bool is_last);
  void add_to_checksum(std::span<const std::byte> text);

  offered_parts<zstd_part> parts_;
  const std::size_t most_alone_;
  std::size_t alone_ = 0;           // bytes of compressed blocks, after the last one that was decoded ahead
  std::unique_ptr<own_frame> own_;  // null: no frame was decoded without libzstd since its memory was freed
  std::size_t gathered_ = 0;        // bytes of the block that were taken
  std::uint64_t block_begin_ = 0;   // compressed offset
  zstd_block_header block_{0};
  const zstd_ready_block* ready_ = nullptr;   // of the part that was taken; null: the block was not decoded ahead
  std::span<const std::byte> text_to_write_;  // of own_
  bool is_resumed_ = false;                   // the context decodes the rest of a frame
  std::uint64_t text_bytes_ = 0;              // of the frame, with is_resumed_
};

frame_decoder::step_result zstd_decoder::step(cursor& at) {
  switch (phase_) {
    case phase::header:
      return read_header(at);
    case phase::skipping:
      return skip(at);
    case phase::first_block:
      return begin_blocks(at);
    case phase::blocks:
      return decode(at);
    case phase::ready_block:
      return take_ready_block(at);
    case phase::own_header:
      return read_block_header(at);
    case phase::own_content:
      return read_content(at);
    case phase::own_stored:
      return copy_stored(at);
    case phase::own_text:
      return write_text(at);
    case phase::checksum:
      return read_checksum(at);
  }
  return std::nullopt;
}

void zstd_decoder::reset_frame() {
  phase_ = phase::header;
  head_reader_ = {};
  parts_.clear();
  context_.forget();  // a dictionary of another input may be freed
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
  if (header.window_bytes > largest_window_of_libzstd()) {
    return refuse(frame_name() + " needs a window of " + size_text(header.window_bytes) + ", more than the " +
                  size_text(largest_window_of_libzstd()) + " that zstd can decode,");
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
  frame_ = header;
  has_checksum_ = header.has_checksum;
  phase_ = phase::first_block;
  return dictionary == nullptr && may_have_zstd_parts(header) ? std::nullopt : begin_libzstd(at);
}

/// The part that begins with the first block is offered when the header was taken.
frame_decoder::step_result zstd_decoder::begin_blocks(cursor& at) {
  if (at.in.empty()) return fill_status::needs_input;
  const auto fits = [this](const zstd_part& part) { return part.begins(consumed_total(), frame_); };
  if (!parts_.take(consumed_total(), fits)) return begin_libzstd(at);
  in_place_.reset();
  if (!own_) own_ = std::make_unique<own_frame>();
  own_->state = zstd_frame_state(frame_);
  XXH64_reset(&own_->checksum, 0);
  own_->begin.assign(collected().begin(), collected().end());
  own_->has_begin = true;
  if (own_->decoder) own_->decoder->forget_all();
  alone_ = 0;
  drop_collected();
  context_.release();  // frames with parts are long
  is_resumed_ = false;
  return begin_block(at);
}

frame_decoder::step_result zstd_decoder::begin_libzstd(cursor& at) {
  parts_.clear();
  text_to_write_ = {};
  if (!in_place_ && frame_.content_bytes && *frame_.content_bytes <= buffer_of_libzstd(frame_.window_bytes)) {
    room_.resize(std::max<std::size_t>(1, static_cast<std::size_t>(*frame_.content_bytes)));
    in_place_ = {.dst = room_.data(), .size = static_cast<std::size_t>(*frame_.content_bytes), .pos = 0};
  }
  if (std::exchange(is_resumed_, false)) context_.release();
  if (!context_.prepare(frame_.window_bytes, dictionary_for(frame_.dictionary_id), in_place_.has_value())) {
    in_place_.reset();
  }
  blocks_ = zstd_blocks(frame_);
  held_ = held::nothing;

  ZSTD_outBuffer out = in_place_.value_or(ZSTD_outBuffer{.dst = at.out.data(), .size = at.out.size(), .pos = 0});
  ZSTD_inBuffer in{.src = collected().data(), .size = collected().size(), .pos = 0};
  const std::size_t code = context_.decode(out, in);
  if (ZSTD_isError(code) != 0) return refuse_frame(code);
  phase_ = phase::blocks;
  return decode(at);
}

// A frame that names no dictionary may have been compressed with one nevertheless.
const zstd_dictionary* zstd_decoder::dictionary_for(std::uint32_t id) const {
  for (const zstd_dictionary* const each : {head_ ? head_->dictionary().get() : nullptr, given_.get()}) {
    if (each != nullptr && (id == 0 || each->id() == id)) return each;
  }
  return nullptr;
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
  while (!ended && phase_ == phase::blocks) ended = decode_next(at);
  return ended;
}

frame_decoder::step_result zstd_decoder::decode_next(cursor& at) {
  if (uses_room()) {
    if (!write_front(at, text_to_write_)) return fill_status::output_full;
    if (blocks_.remaining() == 0) return end_libzstd();
  }
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
  if (is_resumed_) return decode_rest(at, part);
  const std::span<const std::byte> bytes = at.in.first(part);
  ZSTD_inBuffer in{.src = bytes.data(), .size = bytes.size(), .pos = 0};
  ZSTD_outBuffer all{.dst = at.out.data(), .size = at.out.size(), .pos = 0};
  ZSTD_outBuffer& out = in_place_ ? *in_place_ : all;
  const std::size_t before = out.pos;
  const std::size_t code = context_.decode(out, in);
  if (ZSTD_isError(code) != 0) return refuse_frame(code);

  const std::size_t written = out.pos - before;
  take(at, in.pos);
  blocks_.advance(bytes.first(in.pos));
  if (uses_room()) {
    text_to_write_ = std::span(room_).subspan(before, written);
    return std::nullopt;
  }
  write(at, written);
  if (out.pos < out.size || in_place_) {
    held_ = held::nothing;
  } else {
    held_ = in.pos == 0 && written == 0 ? held::surely : held::maybe;
  }
  return code != 0 ? std::nullopt : end_libzstd();
}

frame_decoder::step_result zstd_decoder::end_libzstd() {
  phase_ = phase::header;
  return end_frame();
}

// As libzstd, the following steps do not take the bytes with which an error is found.

/// Keeps the begin of the frame, which libzstd can decode again, until a dictionary gives the same results.
void zstd_decoder::take_block_bytes(cursor& at, std::size_t bytes) {
  constexpr std::size_t longest_begin = std::size_t{2} << 20U;
  if (own_->has_begin && (own_->state.has_turned() || own_->begin.size() + bytes > longest_begin)) {
    own_->begin = {};
    own_->has_begin = false;
  }
  const auto taken = at.in.first(bytes);
  if (own_->has_begin) own_->begin.insert(own_->begin.end(), taken.begin(), taken.end());
  gathered_ += bytes;
  take(at, bytes);
}

frame_decoder::step_result zstd_decoder::begin_block(cursor& at) {
  gathered_ = 0;
  block_begin_ = consumed_total();
  phase_ = phase::own_header;
  if (at.in.empty()) return fill_status::needs_input;
  ready_ = nullptr;
  parts_.take(block_begin_, [this](const zstd_part& part) {
    ready_ = part.find(block_begin_, frame_);
    return ready_ != nullptr;
  });
  if (ready_ == nullptr) return std::nullopt;
  block_ = ready_->header;
  if (ready_->text) phase_ = phase::ready_block;
  if (own_->decoder) own_->decoder->forget_all();
  alone_ = 0;
  return std::nullopt;
}

frame_decoder::step_result zstd_decoder::take_ready_block(cursor& at) {
  const std::size_t end = zstd_block_header::bytes + block_.content_bytes();
  const std::size_t next = std::min(end - gathered_, at.in.size());
  if (next == 0) return fill_status::needs_input;
  take_block_bytes(at, next);
  if (gathered_ < end) return std::nullopt;
  if (parts_.taken()->ends_with(*ready_)) {
    own_->state = parts_.taken()->state();
    own_->state.fork();
  }
  text_to_write_ = *ready_->text;
  add_to_checksum(text_to_write_);
  phase_ = phase::own_text;
  return std::nullopt;
}

frame_decoder::step_result zstd_decoder::read_block_header(cursor& at) {
  if (gathered_ == 0) {
    if (const step_result ended = begin_block(at); ended || phase_ == phase::ready_block) return ended;
    own_->packed.resize(block_at + zstd_block_header::bytes + zstd_block_header::max_size);
  }
  const std::size_t next = std::min(zstd_block_header::bytes - gathered_, at.in.size());
  const std::span<std::byte> header = std::span(own_->packed).subspan(block_at, zstd_block_header::bytes);
  std::ranges::copy(at.in.first(next), header.subspan(gathered_).begin());
  if (gathered_ + next < header.size()) {
    take_block_bytes(at, next);
    return fill_status::needs_input;
  }
  block_ = zstd_block_header(static_cast<std::uint32_t>(little_endian(header)));
  const bool is_stored = block_.type != zstd_block_type::compressed;
  if (block_.is_damaged() || (is_stored ? !own_->state.fits(block_.size, block_.is_last) : block_.size == 0)) {
    return resume_libzstd();
  }
  take_block_bytes(at, next);
  phase_ = block_.type == zstd_block_type::raw ? phase::own_stored : phase::own_content;
  return std::nullopt;
}

frame_decoder::step_result zstd_decoder::read_content(cursor& at) {
  const std::size_t end = zstd_block_header::bytes + block_.content_bytes();
  const std::size_t next = std::min(end - gathered_, at.in.size());
  if (next == 0) return fill_status::needs_input;
  const auto block = std::span(own_->packed).subspan(block_at, end);
  std::copy_n(at.in.data(), next, block.subspan(gathered_).data());
  if (gathered_ + next == end) {
    if (const step_result ended = decode_content(block.subspan(zstd_block_header::bytes)); phase_ != phase::own_text) {
      return ended;
    }
  }
  take_block_bytes(at, next);
  return std::nullopt;
}

frame_decoder::step_result zstd_decoder::decode_content(std::span<const std::byte> content) {
  using verdict = zstd_block_decoder::verdict;
  if (ready_ == nullptr && block_.type == zstd_block_type::compressed && hands_over()) return resume_libzstd();
  switch (decode_block(content)) {
    case verdict::decoded:
      break;
    case verdict::lacks_literal_table:
      return fail_damaged(ZSTD_getErrorString(ZSTD_error_dictionary_corrupted));
    case verdict::lacks_sequence_table:
      return fail_damaged(ZSTD_getErrorString(ZSTD_error_corruption_detected));
    case verdict::damaged:
      return resume_libzstd();
  }
  phase_ = phase::own_text;
  return std::nullopt;
}

/// A block that was decoded ahead, but has no text, or was not decoded ahead.
zstd_block_decoder::verdict zstd_decoder::decode_block(std::span<const std::byte> content) {
  using verdict = zstd_block_decoder::verdict;
  if (ready_ != nullptr) {
    return add_text(ready_->plan, ready_->tables, block_.is_last) ? verdict::decoded : verdict::damaged;
  }
  if (!own_->decoder) {
    own_->plan = std::make_unique_for_overwrite<std::byte[]>(zstd_block_decoder::room_bytes);
    own_->decoder = std::make_unique<zstd_block_decoder>();
  }
  if (block_.type == zstd_block_type::run_length) {
    const zstd_block_plan plan = plan_of_stored(block_, content, own_->plan.get());
    return add_text(plan, {}, block_.is_last) ? verdict::decoded : verdict::damaged;
  }
  alone_ += content.size();
  zstd_block_plan plan;
  const verdict is = own_->decoder->decode(content, own_->state.tables(), own_->plan.get(), plan);
  if (is != verdict::decoded) return is;
  return add_text(plan, zstd_kept_descriptions(plan.tables), block_.is_last) ? verdict::decoded : verdict::damaged;
}

bool zstd_decoder::add_text(const zstd_block_plan& plan, const zstd_kept_descriptions& tables, bool is_last) {
  const auto text = own_->state.add(plan, tables, is_last);
  if (!text) return false;
  text_to_write_ = *text;
  add_to_checksum(*text);
  return true;
}

void zstd_decoder::add_to_checksum(std::span<const std::byte> text) {
  if (has_checksum_) XXH64_update(&own_->checksum, text.data(), text.size());
}

frame_decoder::step_result zstd_decoder::copy_stored(cursor& at) {
  const std::size_t left = zstd_block_header::bytes + block_.size - gathered_;
  if (left == 0) return end_block();
  if (at.in.empty()) return fill_status::needs_input;
  const auto stored = at.in.first(std::min(left, at.in.size()));
  add_text(
      {.literals = stored, .text_bytes = static_cast<std::uint32_t>(stored.size()), .offsets = zstd_unknown_offsets},
      {}, block_.is_last && stored.size() == left);
  take_block_bytes(at, stored.size());
  phase_ = phase::own_text;
  return std::nullopt;
}

frame_decoder::step_result zstd_decoder::write_text(cursor& at) {
  if (!write_front(at, text_to_write_)) return fill_status::output_full;
  if (is_resumed_ && blocks_.remaining() != 0) {
    phase_ = phase::blocks;
    return std::nullopt;
  }
  if (is_resumed_) return end_text();
  phase_ = phase::own_stored;
  return gathered_ == zstd_block_header::bytes + block_.content_bytes() ? end_block() : std::nullopt;
}

frame_decoder::step_result zstd_decoder::end_block() {
  gathered_ = 0;
  phase_ = phase::own_header;
  return block_.is_last ? end_text() : std::nullopt;
}

frame_decoder::step_result zstd_decoder::end_text() {
  parts_.clear();
  ready_ = nullptr;
  own_->state = {};
  phase_ = has_checksum_ ? phase::checksum : phase::header;
  return has_checksum_ ? std::nullopt : end_frame();
}

/// Of two missing parts, none is a reason: they may have lacked memory. Not with a large window: for a while, there are
/// several copies of it.
bool zstd_decoder::hands_over() const {
  constexpr std::uint64_t most_copied = std::uint64_t{8} << 20U;
  return frame_.window_bytes <= most_copied && alone_ >= most_alone_ && own_->state.may_resume();
}

/// libzstd decodes the current block and the rest of the frame, as if it had decoded the frame so far.
frame_decoder::step_result zstd_decoder::resume_libzstd() {
  context_.release();
  context_.prepare(frame_.window_bytes, nullptr, false);
  blocks_ = zstd_blocks(frame_);
  const auto gathered = std::span<const std::byte>(own_->packed).subspan(block_at, gathered_);
  bool is_fed = false;
  if (own_->has_begin) {
    is_fed = context_.feed(own_->begin, own_->state.text_bytes());
  } else if (const auto resumed = own_->state.resume()) {
    is_resumed_ = true;
    text_bytes_ = own_->state.text_bytes();
    zstd_frame_header without_checksum = frame_;
    without_checksum.has_checksum = false;
    blocks_ = zstd_blocks(without_checksum);
    own_->state = {};
    parts_.clear();
    is_fed = context_.load(resumed->dictionary) && context_.feed(resumed->begin, resumed->text_bytes) &&
             context_.feed(gathered, 0);
  }
  if (!is_fed) return fail_damaged(ZSTD_getErrorString(ZSTD_error_corruption_detected));
  blocks_.advance(gathered.first(std::min(gathered.size(), zstd_block_header::bytes)));
  if (gathered.size() > zstd_block_header::bytes) blocks_.advance(gathered.subspan(zstd_block_header::bytes));
  held_ = held::nothing;
  phase_ = phase::blocks;
  return std::nullopt;
}

/// libzstd knows neither the checksum nor the size of the whole text.
frame_decoder::step_result zstd_decoder::decode_rest(cursor& at, std::size_t part) {
  const std::span<const std::byte> bytes = at.in.first(part);
  constexpr std::size_t room = zstd_block_header::max_size;  // a block is written as a whole
  const bool is_direct = at.out.size() >= room;
  if (!is_direct) own_->rest.resize(room);
  const std::span<std::byte> to = is_direct ? at.out.first(room) : own_->rest;
  ZSTD_inBuffer in{.src = bytes.data(), .size = bytes.size(), .pos = 0};
  ZSTD_outBuffer out{.dst = to.data(), .size = to.size(), .pos = 0};
  const std::size_t code = context_.decode(out, in);
  if (ZSTD_isError(code) != 0) return refuse_frame(code);
  blocks_.advance(bytes.first(in.pos));
  // as libzstd, which does not compare the sizes after an empty block
  const bool has_content = blocks_.remaining() == 0 && blocks_.block().content_bytes() != 0;
  if (has_content && frame_.content_bytes && text_bytes_ + out.pos != *frame_.content_bytes) {
    return fail_damaged(ZSTD_getErrorString(ZSTD_error_corruption_detected));
  }
  take(at, in.pos);
  text_bytes_ += out.pos;
  add_to_checksum(to.first(out.pos));
  if (is_direct) {
    write(at, out.pos);
    return blocks_.remaining() == 0 ? end_text() : std::nullopt;
  }
  text_to_write_ = to.first(out.pos);
  phase_ = phase::own_text;
  return std::nullopt;
}

frame_decoder::step_result zstd_decoder::read_checksum(cursor& at) {
  constexpr std::size_t checksum_bytes = 4;
  const std::size_t before = collected().size();
  if (!collect(at, checksum_bytes)) return fill_status::needs_input;
  if (static_cast<std::uint32_t>(XXH64_digest(&own_->checksum)) != little_endian(collected())) {
    return fail_damaged(ZSTD_getErrorString(ZSTD_error_checksum_wrong), checksum_bytes - before);
  }
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
  return make_zstd_decoder_that_hands_over(limits, zstd_most_alone);
}

std::unique_ptr<decoder> make_zstd_decoder_that_hands_over(const decoder_limits& limits, std::size_t most_alone) {
  return std::make_unique<zstd_decoder>(limits, most_alone);
}

}  // namespace gpuhist::io
