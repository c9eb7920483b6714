// An object on a server that is read at any offset: in blocks, of which the next ones are requested before they are
// read.
#pragma once

#include "io/http/transfers.hpp"
#include "io/source.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

namespace gpuhist::io::http {

/// A fifth of a second at 20 MB/s: long enough to hide the time until a server answers.
inline constexpr std::uint64_t block_bytes = std::uint64_t{4} << 20U;

/// The more blocks are read in sequence, the more are requested ahead: 1, 2, 4, ... 16.
class remote_object final : public remote_bytes {
 public:
  /// `first`: its first block, received. `held`: bytes of blocks of all objects, of which reading ahead uses up to
  /// `ahead_bytes`.
  remote_object(std::shared_ptr<transfers> by, std::string url, std::shared_ptr<transfer> first,
                std::shared_ptr<std::atomic<std::uint64_t>> held, std::uint64_t ahead_bytes);
  ~remote_object() override;
  remote_object(const remote_object&) = delete;
  remote_object& operator=(const remote_object&) = delete;

  std::size_t read_at(std::span<std::byte> out, std::uint64_t offset) const override;

 private:
  struct block {
    std::shared_ptr<transfer> content;
    unsigned ahead = 0;          // blocks to request after it; 0: it was not read yet
    std::uint64_t last_use = 0;  // in calls of take()
    std::uint64_t read = 0;      // bytes that were read of it
  };

  std::shared_ptr<transfer> take(std::uint64_t number) const;
  void request_ahead(std::uint64_t number, unsigned blocks) const;
  block& add(std::uint64_t number) const;
  void note_read(std::uint64_t number, std::uint64_t bytes) const;
  void drop(std::map<std::uint64_t, block>::iterator which) const;

  const std::shared_ptr<transfers> by_;
  const std::string url_;
  const std::shared_ptr<const object_version> version_;
  const std::shared_ptr<std::atomic<std::uint64_t>> held_;
  const std::uint64_t ahead_bytes_;
  mutable std::mutex mutex_;
  mutable std::map<std::uint64_t, block> blocks_;
  mutable std::uint64_t uses_ = 0;
};

}  // namespace gpuhist::io::http
