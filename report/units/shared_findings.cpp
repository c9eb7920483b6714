#include "report/units/shared_findings.hpp"

#include <string>
#include <utility>

namespace gpuhist::pipeline::units {

void shared_findings::add(const unit_totals& more) {
  const std::scoped_lock lock(mutex_);
  findings_.totals += more;
}

void shared_findings::add_values(std::span<const double> values) {
  const std::scoped_lock lock(mutex_);
  findings_.values.add(values);
}

// Rendered before the lock is taken.
void shared_findings::select(unit_record found) {
  constexpr std::size_t usual_bytes = 512;
  std::string end;
  if (wanted_.lines != nullptr) {
    end.reserve(usual_bytes);
    wanted_.lines->add_end(found, end);
  }
  const std::scoped_lock lock(mutex_);
  if (wanted_.lines != nullptr) {
    rendered_units& to = findings_.lines_of(found.input);
    if (to.lines.empty()) to.ends = buffers_.take();
    to.add(found.place, end);
  }
  if (wanted_.records) findings_.selected.push_back(std::move(found));
}

std::optional<rank> shared_findings::last_rank() const {
  const std::scoped_lock lock(mutex_);
  return findings_.best.last();
}

void shared_findings::add_ranked(ranked_record found) {
  const std::scoped_lock lock(mutex_);
  findings_.best.add(std::move(found));
}

void shared_findings::add(unit_findings more) {
  const std::scoped_lock lock(mutex_);
  findings_ += std::move(more);
}

shared_findings::waiting_units shared_findings::take() {
  const std::scoped_lock lock(mutex_);
  waiting_units taken;
  taken.selected.swap(findings_.selected);
  taken.rendered.swap(findings_.rendered);
  return taken;
}

shared_findings::amount shared_findings::waiting() const {
  constexpr std::size_t bytes_of_record = 1024;
  const std::scoped_lock lock(mutex_);
  amount all{.batches = findings_.rendered.size(), .bytes = findings_.selected.size() * bytes_of_record};
  for (const rendered_units& each : findings_.rendered) all.bytes += each.ends.size();
  return all;
}

unit_findings shared_findings::found() const {
  const std::scoped_lock lock(mutex_);
  unit_findings made(plan_);
  made.totals = findings_.totals;
  made.values = findings_.values;
  for (const ranked_record& each : findings_.best.records()) made.best.add(each);
  return made;
}

}  // namespace gpuhist::pipeline::units
