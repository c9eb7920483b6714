// Walks one archive from its first byte to its last: every member that is a file becomes an input of its own, whose
// text goes to the counters; members that are compressed or archives are walked in turn, a few levels deep.
#pragma once

#include "async/executor.hpp"
#include "io/archive/archive_format.hpp"
#include "io/stream_sink.hpp"
#include "pipeline/counts/rolling_counts.hpp"
#include "pipeline/counts/run_counts.hpp"
#include "pipeline/flow/decoding/archive_bytes.hpp"
#include "pipeline/flow/decoding/decode_contexts.hpp"
#include "pipeline/flow/statistics/feed_notes.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace gpuhist::pipeline {

/// What all walks of a run have in common.
struct archive_limits {
  static constexpr std::size_t bytes_of_name = 512;  ///< of a member; a longer name counts as several members

  std::uint64_t max_text = ~std::uint64_t{0};  ///< bytes of text of all members of an archive together
  std::int64_t max_members = 1;                ///< of all archives of the run together: each is in the result
  io::decoder_limits inner_decoder{};          ///< of decoders within archives
  io::stream_sink* text_to = nullptr;          ///< where the text is handed on; null: nowhere
};

/// One archive. Blocks its thread wherever bytes or slots are waited for.
class archive_walk {
 public:
  /// `members_left`: of archive_limits::max_members, shared by all walks.
  archive_walk(const archive_limits& limits, std::atomic<std::int64_t>& members_left, decode_context& context,
               async::executor& pool, rolling_counts& counts, feed_notes& notes, std::stop_token stop);

  /// Counts what is in `bytes`, known as `name`. `forced`: the archive that is asked for; nothing: by content. Throws
  /// only what no input is to blame for.
  void run(input_id input, const std::string& name, io::byte_reader& bytes, std::optional<io::archive_kind> forced);

  /// What is in the archive and is no file, by kind.
  [[nodiscard]] const std::vector<skipped_names>& skipped() const { return skipped_; }

 private:
  // What stands for a content in the result, once there is something to be said of it.
  struct entry {
    std::optional<input_id> input;
    bool has_text = false;
  };

  struct content {
    const std::string& name;  // in the result
    std::string path;         // whose suffix may promise something
    std::string format;       // with those around it: "gzip.tar.zstd"
    peeking_bytes& bytes;
    verdict_gate& below;
    unsigned depth;  // archives around it
    entry& shown;
  };

  void count(const content& what);
  void count_compressed(const content& what, const io::format& compression);
  void count_decoded(content what);
  void count_members(const content& what, io::archive_kind kind);
  void count_member(const content& of, io::archive_reader& reader, const std::string& path);
  void note_skipped(const content& of, const io::archive_reader& reader);
  void count_text(const content& what);
  void put(std::span<const std::byte> text, input_id input);
  reservation room(std::uint64_t wanted);
  input_id shown(const content& what);
  void attempt(const content& what, const std::function<void()>& task);
  void drain(const content& what);
  [[nodiscard]] bool is_finished() const { return given_up_ || stop_.stop_requested(); }
  [[nodiscard]] std::uint64_t max_decoded() const;

  const archive_limits& limits_;
  std::atomic<std::int64_t>& members_left_;
  decode_context& context_;
  async::executor& pool_;
  rolling_counts& counts_;
  feed_notes& notes_;
  const std::stop_token stop_;
  input_id archive_ = 0;
  std::optional<io::archive_kind> forced_;
  bool is_represented_by_members_ = false;
  bool given_up_ = false;
  std::uint64_t text_bytes_ = 0;
  std::vector<std::byte> buffer_;
  std::vector<skipped_names> skipped_;
};

}  // namespace gpuhist::pipeline
