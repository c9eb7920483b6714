#include "report/units/signature_files.hpp"

#include "io/descriptor.hpp"
#include "io/failure.hpp"
#include "report/units/sorted_runs.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

namespace gpuhist::report::units {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t waiting_documents = 16'384;  // 16 MiB
constexpr std::size_t file_buffer = std::size_t{1} << 20U;

[[noreturn]] void fail(int error, const fs::path& path) {
  throw io::destination_error(error, std::system_category(), "--minhash: cannot write " + path.string());
}

// A file that gets its name when it is complete.
class named_at_end {
 public:
  explicit named_at_end(fs::path path) : path_(std::move(path)), temporary_(path_.string() + ".tmp") {
    constexpr ::mode_t mode = 0666;
    std::error_code error;
    fs::create_directories(path_.parent_path(), error);
    if (error) fail(error.value(), path_.parent_path());
    file_ = io::descriptor(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, mode));
    if (!file_) fail(errno, temporary_);
  }

  void write(std::string_view text) {
    while (!text.empty()) {
      const ::ssize_t written = ::write(file_.get(), text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(errno, temporary_);
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  void commit() {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno, path_);
  }

 private:
  fs::path path_;
  fs::path temporary_;
  io::descriptor file_;
};

std::string padded(std::uint64_t number, int digits) {
  constexpr std::size_t most = 24;
  std::array<char, most> made{};
  const int bytes = std::snprintf(made.data(), made.size(), "%0*llu", digits, static_cast<unsigned long long>(number));
  return {made.data(), static_cast<std::size_t>(bytes)};
}

}  // namespace

signature_files::signature_files(const signature_plan& planned, std::uint64_t input)
    : planned_(planned), input_(input), file_(file_buffer, planned.spilled_to) {}

void signature_files::add(std::string_view text) {
  if (text.empty()) return;
  const std::uint64_t document = documents_++;
  const texts::minhash_reader::signature* const found = reader_.of(text);
  if (found == nullptr) return;
  for (std::size_t band = 0; band < bands; ++band) {
    record& made = waiting_[band].emplace_back();
    made.document = document;
    std::copy_n(found->begin() + static_cast<std::ptrdiff_t>(band * made.hashes.size()), made.hashes.size(),
                made.hashes.begin());
  }
  if (waiting_.front().size() >= waiting_documents) spill();
}

void signature_files::spill() {
  for (std::size_t band = 0; band < bands; ++band) {
    std::vector<record>& records = waiting_[band];
    std::ranges::sort(records);
    runs_[band].push_back({.offset = append_records<record>(file_, records), .records = records.size()});
    records.clear();
  }
}

void signature_files::write() {
  for (std::size_t band = 0; band < bands; ++band) {
    std::ranges::sort(waiting_[band]);
    write_band(band);
  }
}

// Without padding: 8 hashes of 64 bits, and 32 bits of the number of the document.
void signature_files::write_band(std::size_t band) const {
  constexpr int digits_of_band = 3;
  constexpr int digits_of_input = 5;
  named_at_end to(fs::path(planned_.folder) / ("bucket_" + padded(band, digits_of_band)) /
                  (padded(input_, digits_of_input) + ".minhash.sig"));
  merged_runs<record> all;
  for (const run& each : runs_[band]) all.add(file_, each.offset, each.records);
  all.add(waiting_[band]);
  std::string text;
  all.for_each_block([&](std::span<const record> records) {
    text.clear();
    for (const record& each : records) {
      const auto document = static_cast<std::uint32_t>(each.document);
      text.append(reinterpret_cast<const char*>(each.hashes.data()), sizeof each.hashes);
      text.append(reinterpret_cast<const char*>(&document), sizeof document);
    }
    to.write(text);
  });
  to.commit();
}

}  // namespace gpuhist::report::units
