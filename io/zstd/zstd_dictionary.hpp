// A zstd dictionary. Frames that were compressed with it cannot be decoded without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

// Declared by libzstd.
struct ZSTD_DDict_s;

namespace gpuhist::io {

/// Prepared once, shared by all decoders. Thread-safe.
class zstd_dictionary {
 public:
  /// `content`: a dictionary as `zstd --train` writes it, or any bytes ("raw content", ID 0). `name`: its name in
  /// messages. Throws std::invalid_argument if it begins as a dictionary and is not valid; std::bad_alloc.
  zstd_dictionary(std::string name, std::span<const std::byte> content);

  [[nodiscard]] const std::string& name() const { return name_; }

  /// The ID by which frames refer to it; 0 for raw content, to which they cannot refer.
  [[nodiscard]] std::uint32_t id() const { return id_; }

  /// XXH3 of the content.
  [[nodiscard]] std::uint64_t content_hash() const { return content_hash_; }

  [[nodiscard]] const ZSTD_DDict_s* get() const { return prepared_.get(); }

 private:
  struct deleter {
    void operator()(ZSTD_DDict_s* prepared) const noexcept;
  };

  std::string name_;
  std::unique_ptr<ZSTD_DDict_s, deleter> prepared_;
  std::uint32_t id_ = 0;
  std::uint64_t content_hash_ = 0;
};

/// Loads a dictionary from a file of at most 512 MiB. Throws std::system_error, std::invalid_argument, std::bad_alloc.
std::shared_ptr<const zstd_dictionary> load_zstd_dictionary(const std::string& path);

}  // namespace gpuhist::io
