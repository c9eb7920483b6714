// Decodes members of a zip or 7z file ahead of the thread that walks over the archive, on the threads of the pool. The
// walk takes over the texts that fit at its position, and decodes the other members by itself.
//
//     directory    member 0, 1, 2, 3 ...           in the order of the archive
//     pool         read ─► decode ─► verify        several members at once
//     take()       member 0, then 1 ...            the walk
//
// The caller of take() decodes the member that it needs if no thread has begun with it (shared_work).
#pragma once

#include "async/executor.hpp"
#include "async/semaphore.hpp"
#include "io/archive/archive_reader.hpp"
#include "io/archive/member_list.hpp"
#include "io/archive/zip_member_decoder.hpp"
#include "io/byte_reader.hpp"
#include "io/source.hpp"
#include "pipeline/flow/statistics/feed_notes.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace gpuhist::pipeline {

/// Used by one thread; the pool works for it.
class member_queue final : public io::decoded_members {
 public:
  struct settings {
    unsigned threads = 1;         ///< of the pool; while as many inputs are decoded, no member is decoded ahead
    std::uint64_t max_bytes = 0;  ///< most memory for one member, and for the list of all members
    io::member_lister list = io::list_zip_members;
  };

  /// Begins to decode the members that the directory of `file` lists. `directory`: reads the same file, during this
  /// call. `memory`: bytes for the members of all archives; a member for which there are none is not decoded ahead.
  /// Borrows everything else. Throws std::bad_alloc.
  member_queue(const settings& options, const io::file_source& file, io::byte_reader& directory, async::executor& pool,
               async::semaphore& memory, feed_notes& notes);

  /// Waits for threads that decode a member.
  ~member_queue() override;

  std::optional<text> take(std::uint64_t data_at) override;

 private:
  class state;
  const std::shared_ptr<state> state_;
};

}  // namespace gpuhist::pipeline
