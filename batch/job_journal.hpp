// The state of a batch job on disk: a header that names the plan, and a record for each finished input. Each record has
// a checksum. What follows the first invalid record is removed: a process or the machine stopped while it was written.
#pragma once

#include "batch/job_identity.hpp"
#include "io/descriptor.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace gpuhist::batch {

/// The first bytes of each record of the journal of a job, in the order of the processor.
struct record_head {
  std::uint64_t entry = 0;   ///< its number in the manifest
  std::uint32_t member = 0;  ///< as job_record::member, or input_key::member
  std::uint32_t type = 0;    ///< job_ledger and input_units have different ones
};

/// The bytes of a structure without pointers, and back. Nothing: there are fewer bytes.
template <typename Fixed>
std::string fixed_bytes(const Fixed& value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <typename Fixed>
std::optional<Fixed> fixed_in(std::string_view bytes) {
  if (bytes.size() < sizeof(Fixed)) return std::nullopt;
  Fixed value;
  std::copy_n(bytes.begin(), sizeof value, reinterpret_cast<char*>(&value));
  return value;
}

/// A journal that is only read.
struct journal_content {
  std::string header;
  std::uint64_t end = 0;      ///< of the valid records, in bytes
  std::uint64_t records = 0;  ///< their number
};

/// Reads the header, passes it to `begin`, then each valid record to `use`. Throws std::system_error if the file cannot
/// be read, and std::runtime_error if `use` throws unpack_error: a record with a valid checksum is none of the job.
/// `path`: for messages. A file without a header has an empty one.
journal_content read_journal(int file, const std::filesystem::path& path,
                             const std::function<void(const std::string&)>& begin,
                             const std::function<void(std::string_view)>& use);

/// The header alone.
std::string header_in(int file);

/// What is written to the files of a job is synchronized after this time.
constexpr std::chrono::seconds synchronized_every(2);

/// One thread. Records that were written survive the death of the process at once, and a power failure after
/// `synchronized_every`.
class job_journal {
 public:
  /// Opens the journal, or creates it: written under a temporary name, synced, renamed, the folder synced. Calls `use`
  /// with each valid record. Throws std::runtime_error if it is of another job, destination_error, std::system_error.
  job_journal(std::filesystem::path path, const job_identity& job, const std::function<void(std::string_view)>& use);

  /// The header: that of the run that created it.
  [[nodiscard]] const std::string& header() const { return header_; }

  /// The size of a record in the file.
  [[nodiscard]] static std::uint64_t bytes_of_record(std::string_view record);

  /// Adds a record, which is held until write().
  void append(std::string_view record);

  /// Writes the records that are held. If they cannot be written as a whole, they are removed. Throws
  /// destination_error.
  void write();

  /// Writes all records to disk. Throws destination_error.
  void synchronize();

 private:
  void create(const std::string& header) const;
  void read(const job_identity& job, const std::function<void(std::string_view)>& use);
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  io::descriptor file_;
  std::string header_;
  std::string held_;
  std::uint64_t end_ = 0;      // of the valid records
  std::uint64_t records_ = 0;  // the seed of the next checksum, so that records cannot be exchanged
  std::uint64_t seed_ = 0;
  std::chrono::steady_clock::time_point synchronized_;
};

}  // namespace gpuhist::batch
