#include "batch/job_ledger.hpp"

#include "batch/job_journal.hpp"
#include "pipeline/counts/packed_numbers.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuhist::batch {
namespace {

// Of a prefix, after the head.
struct prefix_head {
  std::uint64_t frames = 0;
  std::uint64_t text_before = 0;
  std::array<std::uint8_t, 8> edges{};  // first byte, last byte, bits, zeros
};

constexpr std::uint8_t has_first = 1;
constexpr std::uint8_t has_last = 2;
constexpr std::uint8_t is_empty = 4;

std::string packed_prefix(const job_record& record) {
  const pipeline::text_edges& edges = record.edges;
  prefix_head head{.frames = record.frames,
                   .text_before = record.text_before,
                   .edges = {edges.first.value_or(0), edges.last.value_or(0), 0}};
  if (edges.first) head.edges[2] |= has_first;
  if (edges.last) head.edges[2] |= has_last;
  if (edges.is_empty) head.edges[2] |= is_empty;
  return fixed_bytes(head);
}

// Returns the number of bytes that it took. `pairs`: columns of tallies.
std::size_t unpack_prefix(std::string_view bytes, std::size_t pairs, job_record& to) {
  const auto head = fixed_in<prefix_head>(bytes);
  if (!head) throw pipeline::unpack_error("it ends early");
  const auto is_class = [&](std::uint8_t edge) { return (edge + std::size_t{1}) * (edge + std::size_t{1}) <= pairs; };
  for (const auto& [bit, edge] : {std::pair{has_first, head->edges[0]}, {has_last, head->edges[1]}}) {
    if ((head->edges[2] & bit) != 0 && !is_class(edge)) throw pipeline::unpack_error("it has another number of pairs");
  }
  to.frames = head->frames;
  to.text_before = head->text_before;
  to.edges.is_empty = (head->edges[2] & is_empty) != 0;
  if ((head->edges[2] & has_first) != 0) to.edges.first = head->edges[0];
  if ((head->edges[2] & has_last) != 0) to.edges.last = head->edges[1];
  return sizeof *head;
}

constexpr std::size_t spilled_after = std::size_t{1} << 20U;  // bytes

}  // namespace

std::string packed_record(const job_record& record) {
  std::string bytes = fixed_bytes(
      record_head{.entry = record.entry, .member = record.member, .type = static_cast<std::uint32_t>(record.type)});
  if (record.type == job_record::kind::prefix) bytes += packed_prefix(record);
  if (record.type != job_record::kind::members) bytes += pipeline::packed_report(record.report);
  return bytes;
}

job_record unpacked_record(std::string_view bytes, const gpu::tally& no_text) {
  const auto head = fixed_in<record_head>(bytes);
  if (!head) throw pipeline::unpack_error("it ends early");
  if (head->type > static_cast<std::uint32_t>(job_record::kind::prefix))
    throw pipeline::unpack_error("its kind is unknown");
  job_record made{
      .type = static_cast<job_record::kind>(head->type), .entry = head->entry, .member = head->member, .report = {}};
  bytes.remove_prefix(sizeof *head);
  if (made.type == job_record::kind::prefix) bytes.remove_prefix(unpack_prefix(bytes, no_text.pairs.size(), made));
  if (made.type != job_record::kind::members) {
    made.report = pipeline::unpacked_report(pipeline::unpacker(bytes, no_text.pairs.size()), no_text.counts.size());
  }
  return made;
}

job_ledger::job_ledger(std::size_t entries, const gpu::partition& counted, const gpu::tally& no_text,
                       const pipeline::spill_folder& spilled_to)
    : entries_(entries),
      reports_of_inputs_(std::make_shared<pipeline::finished_inputs>(counted.classes, spilled_after, spilled_to)) {
  sum_.complete = true;
  sum_.partition = counted;
  sum_.verified = sum_.unverified = no_text_ = no_text;
}

std::optional<job_record> job_ledger::open_record(std::string_view bytes) const {
  job_record known = unpacked_record(bytes, no_text_);
  if (known.entry >= entries_.size()) throw pipeline::unpack_error("its input is not in the manifest");
  if (!takes_records(known.entry)) return std::nullopt;
  return known;
}

void job_ledger::add(const job_record& record) {
  if (is_refused(record.entry)) reopen(record.entry);
  if (record.type == job_record::kind::prefix) {
    prefixes_[record.entry] = {.at = reports_of_inputs_->spill(record.report),
                               .frames = record.frames,
                               .edges = record.edges,
                               .text_before = record.text_before};
    return;
  }
  if (record.type == job_record::kind::refused) return refuse(record);
  if (record.type != job_record::kind::member) return finish(record);
  members_[record.entry].emplace_back(record.member, reports_of_inputs_->spill(record.report));
}

void job_ledger::finish(const job_record& record) {
  using enum job_record::kind;
  entry_state& entry = entries_[record.entry];
  bool is_complete = true;
  if (record.type != members) {
    entry.at = reports_of_inputs_->spill(record.report);
    entry.has_report = true;
    count(record.report, entry.at, is_complete);
  }
  if (const auto found = members_.find(record.entry); found != members_.end()) {
    keep_last(found->second);
    for (const auto& [member, at] : found->second) count(reports_of_inputs_->at(at), at, is_complete);
  }
  prefixes_.erase(record.entry);
  entry.state = is_complete ? progress::complete : progress::failed;
  ++finished_;
  if (!is_complete) ++failed_;
}

void job_ledger::refuse(const job_record& record) {
  members_.erase(record.entry);
  prefixes_.erase(record.entry);
  entries_[record.entry] = {
      .at = reports_of_inputs_->spill(record.report), .state = progress::refused, .has_report = true};
  ++refused_;
  ++finished_;
  ++failed_;
}

void job_ledger::reopen(std::size_t entry) {
  entries_[entry] = {};
  --refused_;
  --finished_;
  --failed_;
}

void job_ledger::count(const pipeline::input_report& report, pipeline::finished_inputs::location at,
                       bool& is_complete) {
  sum_.add(report);
  reports_of_inputs_->append(at);
  ++reports_;
  is_complete = is_complete && report.complete;
}

std::shared_ptr<const pipeline::input_prefix> job_ledger::prefix_of(std::size_t entry) const {
  const auto found = prefixes_.find(entry);
  if (found == prefixes_.end()) return nullptr;
  const prefix_state& state = found->second;
  return std::make_shared<const pipeline::input_prefix>(
      pipeline::input_prefix{.counted = reports_of_inputs_->at(state.at),
                             .frames = state.frames,
                             .edges = state.edges,
                             .text_before = state.text_before});
}

void job_ledger::for_each_report(std::size_t entry,
                                 const std::function<void(const pipeline::input_report&)>& use) const {
  if (!is_finished(entry)) return;
  if (entries_[entry].has_report) use(reports_of_inputs_->at(entries_[entry].at));
  const auto found = members_.find(entry);
  if (found == members_.end()) return;
  for (const auto& [member, at] : found->second) use(reports_of_inputs_->at(at));
}

pipeline::run_counts job_ledger::counts() const {
  pipeline::run_counts made = sum_;
  made.complete = made.complete && refused_ == 0;
  made.inputs = pipeline::input_reports(reports_of_inputs_, reports_);
  return made;
}

}  // namespace gpuhist::batch
