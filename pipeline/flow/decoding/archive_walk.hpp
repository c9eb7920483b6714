// Reads one archive from the first byte to the last. Every member that is a regular file becomes an input, and its text
// is counted. Compressed members are decompressed, and nested archives are read the same way, up to a fixed depth.
#pragma once

#include "async/executor.hpp"
#include "io/archive/archive_format.hpp"
#include "io/source.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/counts/run_counts.hpp"
#include "pipeline/flow/decoding/archive_bytes.hpp"
#include "pipeline/flow/decoding/archive_windows.hpp"
#include "pipeline/flow/decoding/decode_contexts.hpp"
#include "pipeline/flow/decoding/member_queue.hpp"
#include "pipeline/flow/statistics/feed_notes.hpp"
#include "pipeline/flow/text_taps.hpp"
#include "pipeline/flow/text_track.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::pipeline {

/// Limits that all walks of a run share.
struct archive_limits {
  std::uint64_t max_text = ~std::uint64_t{0};  ///< --max-output: bytes of text of all members of one archive
  std::uint64_t max_waiting = 1;               ///< members of all archives of the run that await a verdict
  io::content_rules rules{};                   ///< for the archive and its members
  io::decoder_limits inner_decoder{};          ///< for compressed members; at most windows->largest()
  member_windows* windows = nullptr;           ///< for compressed members
  unsigned threads = 1;                        ///< of the pool
  text_taps* text_to = nullptr;                ///< receives the text of each member, in order; null: none does
};

/// One archive. Blocks its thread while it waits for bytes or slots.
class archive_walk {
 public:
  archive_walk(const archive_limits& limits, decode_context& context, async::executor& pool, rolling_counts& counts,
               feed_notes& notes, std::stop_token stop);

  /// Counts the content of `bytes`. `name`: of the archive, in the result. `forced`: the kind of archive; nothing:
  /// detected by content. `file`: the file that `bytes` reads; null: a stream. Errors of an input are noted in the
  /// counts; only other exceptions are thrown.
  void run(input_id input, const std::string& name, io::byte_reader& bytes, std::optional<io::archive_kind> forced,
           const io::file_source* file = nullptr);

  /// The entries that are not regular files, by kind.
  [[nodiscard]] const std::vector<skipped_names>& skipped() const { return skipped_; }

 private:
  // The input of a content in the result, once it has one.
  struct entry {
    std::optional<input_id> input;
    bool has_text = false;
  };

  struct content {
    const std::string& name;  // in the result
    std::string path;         // its suffix may promise a format
    std::string format;       // including the surrounding formats: "gzip.tar.zstd"
    peeking_bytes& bytes;
    verdict_gate& below;
    unsigned depth;  // number of surrounding archives
    entry& shown;
    std::optional<io::archive_kind> forced{};  // nothing: detected by content
    std::uint64_t begin = 0;                   // offset of `bytes` in what is around them
  };

  void count(const content& item);
  void count_compressed(const content& item, const io::format& compression);
  [[nodiscard]] std::unique_ptr<ahead_blocks> blocks_ahead(const content& item, const io::format& compression);
  /// `compression`: the format of the layer that was removed; null: none.
  void count_decoded(content item, const io::format* compression = nullptr);
  void count_members(const content& item, io::archive_kind kind);
  std::unique_ptr<member_queue> decode_ahead(const content& item, io::archive_kind kind);
  void count_member(const content& archive, io::archive_reader& reader, const std::string& path);
  void count_following(const content& archive, io::archive_reader& reader);
  void note_skipped(const content& archive, const io::archive_reader& reader);
  void count_text(const content& item);
  std::size_t put_next(io::byte_reader& content, text_track& to);
  void put(std::span<const std::byte> text, text_track& to);
  void end_text(const member_text& ended, const input_failure& failure);
  held_reservation room(std::uint64_t wanted);
  input_id shown(const content& item);
  void note(const content& item, const std::optional<io::notice>& added);
  void attempt(const content& item, const std::function<void()>& task);
  void drain(const content& item);
  [[nodiscard]] bool is_finished() const { return given_up_ || stop_.stop_requested(); }
  [[nodiscard]] std::uint64_t max_decoded() const;

  const archive_limits& limits_;
  decode_context& context_;
  async::executor& pool_;
  rolling_counts& counts_;
  feed_notes& notes_;
  const std::stop_token stop_;
  archive_windows windows_;
  input_id archive_ = 0;
  std::optional<held_members> held_;  // with an observer that awaits verdicts
  const io::file_source* file_ = nullptr;
  bool is_represented_by_members_ = false;
  bool given_up_ = false;
  bool is_decoding_ = false;  // the archive is compressed as a whole
  std::uint64_t text_bytes_ = 0;
  std::vector<std::byte> buffer_;
  std::vector<skipped_names> skipped_;
};

}  // namespace gpuhist::pipeline
