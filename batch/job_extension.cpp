#include "batch/job_extension.hpp"

#include "batch/input_units.hpp"
#include "batch/job_identity.hpp"
#include "batch/job_journal.hpp"
#include "batch/job_ledger.hpp"
#include "batch/job_planning.hpp"
#include "io/descriptor.hpp"
#include "io/failure.hpp"
#include "report/formats/report.hpp"
#include "report/output/destination.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace gpuhist::batch {
namespace {

namespace fs = std::filesystem;

// The file that will replace another one.
fs::path successor_of(const fs::path& file) {
  fs::path made = file;
  made += ".next";
  return made;
}

[[noreturn]] void cannot_replace(const fs::path& file, int error) {
  throw io::destination_error(error, std::system_category(), "cannot replace " + report::printable(file.string()));
}

// Durable: the folder is synced.
void replace(const fs::path& file) {
  if (::rename(successor_of(file).c_str(), file.c_str()) != 0) cannot_replace(file, errno);
  const io::descriptor folder(::open(file.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder && ::fsync(folder.get()) != 0 && errno != EINVAL) cannot_replace(file, errno);
}

void remove_successor(const fs::path& file) {
  if (::unlink(successor_of(file).c_str()) != 0 && errno != ENOENT) cannot_replace(file, errno);
}

// The manifest of the state; empty if there is no state of this version.
std::string manifest_of_state(const job_folder& folder) {
  const io::descriptor file(::open(folder.journal_file().c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) return {};
  const std::optional<job_identity> identity = identity_in(header_in(file.get()));
  return identity ? identity->manifest : std::string();
}

// Copies the results of entries that stay to a journal with the numbers of the new manifest.
class journal_copy {
 public:
  journal_copy(const job_folder& folder, const std::vector<extended_entry>& entries, const manifest& old,
               const library::counting_plan& planned)
      : from_(::open(folder.journal_file().c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY)),
        path_(folder.journal_file()),
        entries_(entries),
        old_(old),
        new_number_(old.entries.size()),
        is_finished_(old.entries.size()),
        planned_(planned) {
    if (!from_) cannot_replace(path_, errno);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].kept_from) new_number_[*entries[i].kept_from] = i;
    }
  }

  void write(const job_identity& job) {
    constexpr std::uint64_t written_together = 64;
    remove_successor(path_);
    job_journal to(successor_of(path_), job, [](std::string_view) {});
    std::uint64_t records = 0;
    read_journal(
        from_.get(), path_, [](const std::string&) {},
        [&](std::string_view record) {
          const std::optional<job_record> copied = copy_of(record);
          if (!copied) return;
          to.append(packed_record(*copied));
          if (++records % written_together == 0) to.write();
        });
    to.synchronize();
  }

 private:
  std::optional<job_record> copy_of(std::string_view record) {
    std::optional<job_record> known = unpacked_record(record, no_text_of(planned_));
    if (known->entry >= new_number_.size() || is_finished_[known->entry]) return std::nullopt;
    const std::optional<std::size_t> number = new_number_[known->entry];
    if (!number) return std::nullopt;
    const bool is_member = known->type == job_record::kind::member;
    if (is_member) format_ = known->report.format;
    if (!is_member && ends_entry(known->type)) {
      is_finished_[known->entry] = known->type != job_record::kind::refused;
      mark(*known, entries_[*number]);
    }
    rename(known->report.name, old_.entries[known->entry].name, entries_[*number].entry.name);
    known->entry = *number;
    return known;
  }

  // The name of an input, or of a member, which begins with that of its archive.
  static void rename(std::string& name, const std::string& before, const std::string& now) {
    if (before != now && name.starts_with(before)) name.replace(0, before.size(), now);
  }

  static bool ends_entry(job_record::kind type) {
    using enum job_record::kind;
    return type == input || type == members || type == failed || type == refused;
  }

  // The results of an earlier content are not complete.
  void mark(job_record& record, const extended_entry& to) const {
    if (to.change.empty()) return;
    const bool has_members = record.type == job_record::kind::members || record.type == job_record::kind::failed;
    if (record.type == job_record::kind::members) {
      record.type = job_record::kind::failed;
      record.report.name = to.entry.name;
      record.report.format = format_;
      record.report.verified = record.report.unverified = no_text_of(planned_);
    }
    record.report.complete = false;
    record.report.error = "changed without growing after it was counted: " + to.change +
                          (has_members ? "; its members have the counts of its earlier content"
                                       : "; these are the counts of its earlier content");
    record.report.error_kind = io::failure_kind::refused;
  }

  io::descriptor from_;
  fs::path path_;
  const std::vector<extended_entry>& entries_;
  const manifest& old_;
  std::vector<std::optional<std::size_t>> new_number_;  // by the old one
  std::vector<bool> is_finished_;                       // by the old number
  const library::counting_plan& planned_;
  std::string format_;  // of the last member
};

// Records of units do not count here: a job with units is not extended.
std::function<void(std::string_view)> adding_to(job_ledger& ledger) {
  return [&](std::string_view record) {
    if (is_sync_record(record) || is_input_units(record)) return;
    if (const auto known = ledger.open_record(record)) ledger.add(*known);
  };
}

entry_progress progress_in(const job_ledger& ledger, std::size_t entry) {
  if (!ledger.is_finished(entry)) return entry_progress::open;
  return ledger.has_failed(entry) ? entry_progress::failed : entry_progress::complete;
}

void write_next_manifest(const job_folder& folder, const std::string& text) {
  report::destination to(successor_of(folder.manifest_file()).string(), report::writing::whole);
  to.write(text);
  to.commit();
}

}  // namespace

fs::path manifest_file_of(const job_folder& folder) {
  const fs::path next = successor_of(folder.manifest_file());
  std::error_code ignored;
  const bool is_next = fs::exists(next, ignored) && read_manifest(next.string()).identity == manifest_of_state(folder);
  return is_next ? next : folder.manifest_file();
}

std::vector<entry_progress> read_progress(const job_folder& folder, const library::counting_plan& planned,
                                          const config::options& typed, const manifest& inputs,
                                          config::shard_choice shard) {
  std::vector<entry_progress> made(inputs.entries.size());
  const io::descriptor file(::open(folder.journal_file().c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) return made;
  job_ledger ledger(inputs.entries.size(), planned.partition, no_text_of(planned), planned.spilled_to);
  const auto check = [&](const std::string& header) {
    refuse_other_job(folder.journal_file().string(), header, identity_of(planned, typed, inputs.identity, shard));
  };
  read_journal(file.get(), folder.journal_file(), check, adding_to(ledger));
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = progress_in(ledger, i);
  return made;
}

void settle_extension(const job_folder& folder) {
  if (manifest_file_of(folder) != folder.manifest_file()) replace(folder.manifest_file());
  remove_successor(folder.manifest_file());
  remove_successor(folder.journal_file());
}

extended_job extend_job(const job_folder& folder, const library::counting_plan& planned, const config::options& typed,
                        const manifest& old, planned_entries found) {
  job_ledger ledger(old.entries.size(), planned.partition, no_text_of(planned), planned.spilled_to);
  const job_identity identity = identity_of(planned, typed, old.identity, {});
  // refuses the state of another job, and removes what follows the valid records
  const job_journal checked(folder.journal_file(), identity, adding_to(ledger));
  const auto progress_of = [&](std::size_t entry) { return progress_in(ledger, entry); };
  extended_job made;
  made.changes = extend(old, progress_of, std::move(found),
                        {.trusts_names = typed.trust_names, .drops_missing = typed.drop_missing});
  made.inputs = manifest_after(made.changes, old.fingerprint);
  if (made.inputs.identity != old.identity) {
    write_next_manifest(folder, text_of_manifest(made.inputs.entries, old.fingerprint));
    journal_copy(folder, made.changes.entries, old, planned)
        .write(identity_of(planned, typed, made.inputs.identity, {}));
    replace(folder.journal_file());  // from here on, the new manifest is that of the job
    replace(folder.manifest_file());
  }
  return made;
}

}  // namespace gpuhist::batch
