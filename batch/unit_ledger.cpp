#include "batch/unit_ledger.hpp"

#include "batch/job_planning.hpp"
#include "pipeline/counts/packed_numbers.hpp"

#include <algorithm>
#include <utility>

namespace gpuhist::batch {
namespace {

constexpr std::size_t records_in_memory = std::size_t{1} << 20U;  // bytes

// That are counted one by one.
std::size_t number_of_rules(const library::counting_plan& planned) {
  return planned.units ? planned.units->counted_rows() : 0;
}

}  // namespace

void add_record(const job_record& record, job_ledger& inputs, unit_ledger& units) {
  inputs.add(record);
  if (record.type == job_record::kind::refused) {
    units.refuse(record.entry);
  } else if (record.type != job_record::kind::member) {
    units.finish(record.entry);
  }
}

bool reads_units(const library::counting_plan& planned) {
  return planned.units && planned.units->shape.divides != report::units::unit_shape::form::inputs;
}

unit_ledger::unit_ledger(std::size_t entries, const library::counting_plan& planned)
    : planned_(planned),
      no_text_(no_text_of(planned)),
      is_used_(reads_units(planned) || planned.windows),
      records_(records_in_memory, planned.spilled_to),
      inputs_(is_used_ ? entries : 0),
      is_finished_(is_used_ ? entries : 0) {
  if (reads_units(planned)) sum_.emplace(*planned.units, planned.partition.classes);
}

bool unit_ledger::add(std::string_view record, std::uint32_t source) {
  if (is_sync_record(record)) return true;
  if (!is_input_units(record)) return false;
  keep(record, unpacked_input_units(record, no_text_), source);
  return true;
}

void unit_ledger::add(const input_units& record, std::uint32_t source) {
  keep(packed_input_units(record), record, source);
}

void unit_ledger::keep(std::string_view record, const input_units& content, std::uint32_t source) {
  if (source == 0) {
    end_of_units_ = std::max(end_of_units_, content.unit_lines.end());
    end_of_windows_ = std::max(end_of_windows_, content.window_lines.end());
  }
  const auto [entry, member] = content.of;
  if (entry >= is_finished_.size()) throw pipeline::unpack_error("its input is not in the manifest, or has no units");
  if (!content.rules.empty() && content.rules.size() != number_of_rules(planned_)) {
    throw pipeline::unpack_error("it has another number of conditions than the job");
  }
  if (is_finished_[entry]) return;
  const location kept{
      .offset = records_.append(record), .bytes = static_cast<std::uint32_t>(record.size()), .source = source};
  if (content.is_continued) {
    continued_[content.of].push_back(kept);
    return;
  }
  continued_.erase(content.of);
  if (member == 0) {
    inputs_[entry] = kept;
    return;
  }
  members_[entry].emplace_back(member, kept);
}

void unit_ledger::finish(std::uint64_t entry) {
  if (!is_used_ || is_finished_[entry]) return;
  is_finished_[entry] = true;
  sum_up({.entry = entry}, inputs_[entry]);
  const auto members = members_.find(entry);
  if (members == members_.end()) return;
  keep_last(members->second);
  for (const auto& [member, at] : members->second) sum_up({.entry = entry, .member = member}, at);
}

void unit_ledger::refuse(std::uint64_t entry) {
  if (!is_used_ || is_finished_[entry]) return;
  inputs_[entry] = {};
  members_.erase(entry);
  continued_.erase(continued_.lower_bound({.entry = entry}), continued_.lower_bound({.entry = entry + 1}));
}

void unit_ledger::sum_up(const input_key& of, const location& found) {
  sum_up(found);
  const auto more = continued_.find(of);
  if (more == continued_.end()) return;
  for (const location& each : more->second) sum_up(each);
  continued_.erase(more);
}

void unit_ledger::sum_up(const location& found) {
  if (found.bytes == 0 || !sum_) return;
  input_units record = at(found);
  sum_->totals += record.totals;
  add_rules(sum_->rules, record.rules);
  sum_->values += record.values;
  add_watched(sum_->watched, record.watched);
  for (const report::units::group_table& part : record.groups) sum_->groups->add(part);
  for (const report::units::group_table& part : record.group_values) sum_->group_values->add(part);
  if (sum_->texts) sum_->texts->add_counted(record.texts, record.different);
  for (report::units::ranked_record& ranked : record.best) sum_->best.add(std::move(ranked));
}

input_units unit_ledger::at(const location& from) const {
  return unpacked_input_units(records_.read(from.offset, from.bytes), no_text_);
}

void unit_ledger::for_each(std::uint64_t entry,
                           const std::function<void(const input_units&, std::uint32_t source)>& use) const {
  if (!is_used_ || !is_finished_[entry]) return;
  if (inputs_[entry].bytes > 0) use(at(inputs_[entry]), inputs_[entry].source);
  const auto members = members_.find(entry);
  if (members == members_.end()) return;
  for (const auto& [member, kept] : members->second) use(at(kept), kept.source);
}

}  // namespace gpuhist::batch
