// Decodes xz streams (xz-file-format.txt, 1.2) with liblzma, part by part: header, blocks, index, footer. liblzma's
// decoder for whole streams is not used: it neither reports the memory for the next block before it allocates it, nor
// frees the memory of the previous block, nor begins at a block in the middle of a stream.
#include "io/xz/xz_decoder.hpp"

#include "io/frame_decoder.hpp"
#include "io/offered_parts.hpp"
#include "io/xz/lzma_coder.hpp"
#include "io/xz/xz_context.hpp"
#include "io/xz/xz_parts.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::io {
namespace {

constexpr std::string_view xz_magic("\xFD\x37zXZ\0", 6);

class xz_decoder final : public frame_decoder {
 public:
  explicit xz_decoder(const decoder_limits& limits) : frame_decoder(limits, {.format = "xz", .frame = "stream"}) {}

  void offer(const std::shared_ptr<const decoded_part>& part) override { parts_.offer(part, consumed_total()); }
  [[nodiscard]] bool in_frame() const override;
  [[nodiscard]] bool lacks_end() const override { return in_frame() || is_after_block(); }
  [[nodiscard]] std::string missing_cause_at_frame_end() const override;
  [[nodiscard]] std::uint64_t frameless_to() const override { return stream_end_; }
  [[nodiscard]] bool verifies_whole(std::uint64_t /*frames*/) const override {
    return counts_streams_ && streams_ended_ == 1;
  }

 private:
  enum class phase {
    header,
    block_or_index,
    block_header,
    window,
    block,
    block_end,
    ready_block,
    ready_text,
    index,
    footer
  };

  step_result step(cursor& at) override;
  void reset_frame() override;
  void begin_at(const decode_start& start) override;
  void free_memory() noexcept override { coder_.free_memory(); }
  [[nodiscard]] std::string error_between_frames() const override;
  [[nodiscard]] std::string frame_name() const override { return stream_name(streams_ended_ + 1); }

  step_result read_header(cursor& at);
  step_result skip_padding(cursor& at);
  step_result begin_stream();
  step_result choose_part(const cursor& at);
  step_result read_block_header(cursor& at);
  step_result begin_block();
  step_result decode(cursor& at);
  step_result end_block();
  bool take_over();
  step_result skip_ready_block(cursor& at);
  step_result write_ready_text(cursor& at);
  step_result read_index(cursor& at);
  step_result read_footer(cursor& at);
  [[nodiscard]] bool is_after_block() const { return phase_ == phase::block_or_index && blocks_.blocks() > 0; }
  [[nodiscard]] std::string block_name() const { return "block " + std::to_string(blocks_.blocks() + 1); }
  [[nodiscard]] std::string stream_name(std::uint64_t number) const {
    return counts_streams_ ? "stream " + std::to_string(number) : "a later stream";
  }

  lzma_coder coder_;
  xz_filters filters_;
  lzma_block block_{};      // written by the coder
  xz_block_record blocks_;  // of the stream
  xz_index_reader index_;
  lzma_stream_flags flags_{};
  phase phase_ = phase::header;
  std::uint64_t padding_ = 0;     // zero bytes since the last stream
  std::uint64_t stream_end_ = 0;  // compressed offset of the last one
  std::uint64_t streams_ended_ = 0;
  bool counts_streams_ = true;  // false: unknown, because streams before the start were not read

  offered_parts<xz_part> parts_;
  const xz_ready_block* ready_ = nullptr;
  std::uint64_t bytes_to_skip_ = 0;
  std::span<const std::byte> ready_text_;  // to be written
};

frame_decoder::step_result xz_decoder::step(cursor& at) {
  switch (phase_) {
    case phase::header:
      return read_header(at);
    case phase::block_or_index:
      return choose_part(at);
    case phase::block_header:
      return read_block_header(at);
    case phase::window:
      return begin_block();
    case phase::block:
      return decode(at);
    case phase::block_end:
      return end_block();
    case phase::ready_block:
      return skip_ready_block(at);
    case phase::ready_text:
      return write_ready_text(at);
    case phase::index:
      return read_index(at);
    case phase::footer:
      return read_footer(at);
  }
  return std::nullopt;
}

void xz_decoder::reset_frame() {
  phase_ = phase::header;
  padding_ = 0;
  filters_.clear();
  blocks_ = {};
  stream_end_ = 0;
  streams_ended_ = 0;
  parts_.clear();
}

void xz_decoder::begin_at(const decode_start& start) {
  counts_streams_ = start.compressed_bytes == 0 || start.context;
  if (!start.context) return;
  const auto& here = dynamic_cast<const xz_context&>(*start.context);
  streams_ended_ = here.streams;
  blocks_ = here.blocks;
  if (!here.check) return;
  flags_ = {};
  flags_.check = *here.check;
  flags_.backward_size = LZMA_VLI_UNKNOWN;
  phase_ = phase::block_or_index;
}

// A stream header belongs to the first block.
bool xz_decoder::in_frame() const { return !is_after_block() && (phase_ != phase::header || !collected().empty()); }

std::string xz_decoder::missing_cause_at_frame_end() const {
  return is_after_block() ? std::string() : frame_decoder::missing_cause_at_frame_end();
}

std::string xz_decoder::error_between_frames() const {
  if (is_after_block()) return frame_name() + " ends early: the input stops";
  if (padding_ % 4 == 0) return {};
  return "the padding after " + stream_name(streams_ended_) + " is not a multiple of four bytes,";
}

frame_decoder::step_result xz_decoder::read_header(cursor& at) {
  if (consumed_total() != 0 && collected().empty()) {
    if (const step_result ended = skip_padding(at)) return ended;
  }
  if (const step_result ended = collect_header(at, xz_magic, LZMA_STREAM_HEADER_SIZE)) return ended;
  return begin_stream();
}

frame_decoder::step_result xz_decoder::skip_padding(cursor& at) {
  const auto end = std::ranges::find_if(at.in, [](std::byte byte) { return byte != std::byte{0}; });
  const auto zeros = static_cast<std::size_t>(end - at.in.begin());
  padding_ += zeros;
  take(at, zeros);
  if (at.in.empty()) return fill_status::needs_input;
  return padding_ % 4 == 0 ? std::nullopt : fail(error_between_frames());
}

frame_decoder::step_result xz_decoder::begin_stream() {
  switch (lzma_stream_header_decode(&flags_, reinterpret_cast<const std::uint8_t*>(collected().data()))) {
    case LZMA_OK:
      break;
    case LZMA_OPTIONS_ERROR:
      return refuse(frame_name() + " has header flags that liblzma does not know");
    default:
      return fail_damaged("its header does not match its checksum");
  }
  if (lzma_check_is_supported(flags_.check) == 0) {
    return refuse(frame_name() + " has checksums of a kind that liblzma does not know (" +
                  std::to_string(static_cast<unsigned>(flags_.check)) + ")");
  }
  drop_collected();
  padding_ = 0;
  blocks_ = {};
  phase_ = phase::block_or_index;
  return std::nullopt;
}

/// The header of a block begins with its size, an index with a zero.
frame_decoder::step_result xz_decoder::choose_part(const cursor& at) {
  if (at.in.empty()) return fill_status::needs_input;
  const auto first = std::to_integer<std::uint8_t>(at.in.front());
  if (first != 0 && take_over()) return std::nullopt;
  block_ = {};
  block_.header_size = lzma_block_header_size_decode(first);
  phase_ = first == 0 ? phase::index : phase::block_header;
  index_ = xz_index_reader(blocks_);
  return std::nullopt;
}

frame_decoder::step_result xz_decoder::read_block_header(cursor& at) {
  if (!collect(at, block_.header_size)) return fill_status::needs_input;
  block_.version = 1;
  block_.check = flags_.check;
  block_.filters = filters_.list();
  const auto* const header = reinterpret_cast<const std::uint8_t*>(collected().data());
  switch (checked(lzma_block_header_decode(&block_, nullptr, header))) {
    case LZMA_OK:
      break;
    case LZMA_OPTIONS_ERROR:
      return refuse(frame_name() + " needs filters or options that liblzma does not know (in the header of " +
                    block_name() + ")");
    default:
      return fail_damaged("the header of " + block_name() + " is wrong, or does not match its checksum");
  }
  drop_collected();
  phase_ = phase::window;
  return std::nullopt;
}

frame_decoder::step_result xz_decoder::begin_block() {
  if (const step_result asked = request_window(filters_.dictionary_bytes())) return asked;
  const lzma_ret code = checked(lzma_block_decoder(&coder_.stream(), &block_));
  filters_.clear();
  block_.filters = nullptr;
  if (code != LZMA_OK) return refuse(frame_name() + " needs filters that liblzma cannot apply (" + block_name() + ")");
  phase_ = phase::block;
  return std::nullopt;
}

frame_decoder::step_result xz_decoder::decode(cursor& at) {
  const lzma_progress got = coder_.run(at.in, room(at));
  if (got.code == LZMA_OK) return continue_after(at, got.consumed, got.written);
  advance(at, got.consumed, got.written);
  if (got.code == LZMA_STREAM_END) {
    phase_ = phase::block_end;
    return std::nullopt;
  }
  return fail_damaged(flags_.check == LZMA_CHECK_NONE
                          ? block_name() + " does not decode"
                          : block_name() + " does not decode, or does not match its checksum");
}

frame_decoder::step_result xz_decoder::end_block() {
  const lzma_vli size = lzma_block_unpadded_size(&block_);
  if (size == 0) return fail_damaged(block_name() + " exceeds the maximum block size");
  blocks_.add(size, block_.uncompressed_size);
  phase_ = phase::block_or_index;
  return end_frame();
}

/// Begins to take over a block that was decoded ahead, if one begins here. It must have been compared with the kind of
/// check that the stream has, and need no larger dictionary than this decoder may have.
bool xz_decoder::take_over() {
  const auto fits = [&](const xz_part& part) {
    ready_ = part.find(consumed_total());
    return ready_ != nullptr && ready_->check == flags_.check && may_have_window(ready_->dictionary);
  };
  if (!parts_.take(consumed_total(), fits)) return false;
  bytes_to_skip_ = ready_->bytes;
  phase_ = phase::ready_block;
  return true;
}

frame_decoder::step_result xz_decoder::skip_ready_block(cursor& at) {
  if (!take_remaining(at, bytes_to_skip_)) return fill_status::needs_input;
  ready_text_ = ready_->content();
  phase_ = phase::ready_text;
  return std::nullopt;
}

frame_decoder::step_result xz_decoder::write_ready_text(cursor& at) {
  if (!write_front(at, ready_text_)) return fill_status::output_full;
  blocks_.add(ready_->unpadded, ready_->length);
  parts_.leave();
  phase_ = phase::block_or_index;
  return end_frame();
}

frame_decoder::step_result xz_decoder::read_index(cursor& at) {
  const xz_index_reader::progress got = index_.advance(at.in);
  take(at, got.taken);
  if (got.found == xz_index_reader::verdict::needs_input) return fill_status::needs_input;
  if (got.found == xz_index_reader::verdict::wrong) {
    return fail_damaged("its index does not match its blocks, or its checksum");
  }
  phase_ = phase::footer;
  return std::nullopt;
}

frame_decoder::step_result xz_decoder::read_footer(cursor& at) {
  if (!collect(at, LZMA_STREAM_HEADER_SIZE)) return fill_status::needs_input;
  lzma_stream_flags footer{};
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(collected().data());
  if (lzma_stream_footer_decode(&footer, bytes) != LZMA_OK) {
    return fail_damaged("its footer is invalid, or does not match its checksum");
  }
  if (lzma_stream_flags_compare(&flags_, &footer) != LZMA_OK) {
    return fail_damaged("its footer has other flags than its header");
  }
  if (footer.backward_size != index_.size()) {
    return fail_damaged("its index does not have the size that its footer states");
  }
  drop_collected();
  ++streams_ended_;
  stream_end_ = consumed_total();
  phase_ = phase::header;
  return std::nullopt;
}

}  // namespace

std::unique_ptr<decoder> make_xz_decoder(const decoder_limits& limits) { return std::make_unique<xz_decoder>(limits); }

}  // namespace gpuhist::io
