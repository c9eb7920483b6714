#include "report/units/unit_reader.hpp"

#include "gpu/host/kernel.hpp"
#include "report/units/characters_of.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <utility>

#include <sys/stat.h>

namespace gpuhist::report::units {
namespace {

void add_bytes(std::span<const std::byte> text, std::vector<std::uint32_t>& row, gpu::tally& to) {
  static const gpu::host::prepared_partition identity = gpu::host::prepare(gpu::partition::identity());
  static const gpu::host::kernel& kernel = gpu::host::best_kernel(identity);
  kernel.count(text, identity, row.data());
  for (std::size_t value = 0; value < byte_values; ++value) to.counts[value] += row[value];
}

// The last change of the input, or of the archive that it is a member of, if it is a file: for times without a year.
std::optional<std::int64_t> change_of(const unit_meter& meter, const std::string& name) {
  constexpr std::int64_t nanoseconds = 1'000'000'000;
  constexpr std::time_t first_time = 315'532'800;  // 1980: earlier times of files mean that they have none
  if (!meter.plan().lines || !meter.plan().lines->events || !meter.plan().lines->events->times) return std::nullopt;
  std::string path = name;  // "logs/a.tar/var/log/x.log"
  while (!path.empty()) {
    struct stat found{};
    const bool exists = ::stat(path.c_str(), &found) == 0;
    if (exists && S_ISREG(found.st_mode) && found.st_mtim.tv_sec > first_time) {
      return found.st_mtim.tv_sec * nanoseconds + found.st_mtim.tv_nsec;
    }
    if (exists) return std::nullopt;
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
  return std::nullopt;
}

// "line 7 is without field 'text': malformed JSON; 3 lines are without field"
std::string text_of(const lines_without_field& found, const std::string& field) {
  std::string text =
      "line " + std::to_string(found.first_line) + " is without field '" + field + "': " + found.first_cause;
  if (found.lines > 1) text += "; " + std::to_string(found.lines) + " lines are without field";
  return text;
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::int64_t time_of_clock() {
  const auto now = std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
  return now.time_since_epoch().count();
}

}  // namespace

unit_reader::unit_reader(unit_run& run, std::uint64_t number, const std::string& name, position from)
    : run_(run),
      meter_(run.meter()),
      found_(run.enter(number)),
      out_(&found_),
      in_head_(from == position::later),
      input_(number),
      name_(std::make_shared<const std::string>(name)),
      open_(byte_values),
      open_line_(byte_values),
      batch_(meter_, run.long_lines(), change_of(meter_, name)),
      fields_(batch_.fields()),
      row_(byte_values),
      scratch_(byte_values),
      watermark_(run.watermark()),
      rules_(meter_.plan().counted_rows()),
      watched_(meter_.plan().watched.are_checked() ? meter_.plan().watched.formulas.size() : 0) {
  if (meter_.plan().lines && meter_.plan().lines->expressions() > 0) {
    observed_.matches.resize(meter_.plan().lines->expressions() + 1);
  }
  if (in_head_) out_ = &held_.emplace(meter_, found_, run.held(), run.buffers());
  if (meter_.plan().lines) groups_.emplace(meter_, line_grouper::owner{.name = name_, .number = number}, in_head_);
  if (in_head_ && meter_.pieces() != nullptr && meter_.pieces()->classes().strings) {
    head_part_.emplace(batch_.facts()->new_part());
  }
  if (meter_.plan().duplicates) open_hash_.emplace();
  if (meter_.plan().signatures) signatures_.emplace(*meter_.plan().signatures, input_number_in(number));
  if (run.holds_text()) kept_.emplace(*meter_.plan().filter, run.buffers().take());
  if (kept_ && !held_ && run.outlets() != nullptr) outlet_ = run.outlets()->open(name);
  if (watermark_ != nullptr) watermark_->open(input_);
}

unit_reader::~unit_reader() {
  if (kept_) run_.buffers().give_back(kept_->release());
  if (watermark_ != nullptr) watermark_->close(input_);
  run_.leave(input_);
}

// Lines that are written while the run lasts have times of now: the clock is the reference for those without a year.
void unit_reader::begin_lines() {
  if (watermark_ == nullptr) return;
  const std::int64_t clock = time_of_clock();
  if (is_live_) batch_.facts()->set_reference(clock);
  groups_->set_horizon(watermark_->begin(input_, clock));
}

// All lines were added to the groups of the run.
void unit_reader::end_lines() {
  if (watermark_ != nullptr) watermark_->end(input_, groups_->horizon());
}

void unit_reader::note_idle() {
  is_live_ = true;
  if (watermark_ != nullptr) watermark_->note_idle(input_, time_of_clock());
}

void unit_reader::take(std::span<const std::byte> text, bool verified) { take_until(text, verified, {}); }

std::size_t unit_reader::take_some(std::span<const std::byte> text, bool verified) {
  return take_until(text, verified, {.selected = max_selected, .kept_bytes = max_kept});
}

// Returns the bytes that were taken: all, unless a limit was reached.
std::size_t unit_reader::take_until(std::span<const std::byte> text, bool verified, const limits& most) {
  const std::size_t all = text.size();
  verified_ = verified;
  selected_ = 0;
  begin_lines();
  if (in_head_) text = text.subspan(extend_head(text));
  if (has_open()) {
    const std::size_t rest = rest_of_open(text);
    extend_open(text.first(rest));
    text = text.subspan(rest);
    if (place_.bytes > 0 && open_is_complete()) close_open();
  }
  const auto is_enough = [&] {
    return selected_ >= most.selected || (kept_ && kept_->ready_bytes() >= most.kept_bytes);
  };
  while (!text.empty() && !is_full() && (held_ || !is_enough())) {
    if (batch_.fill(text, place_.line) == 0) {
      extend_open(text);
      text = {};
      break;
    }
    if (fields_ != nullptr) totals_.without_field += fields_->without_field();
    rejects(verified_) ? reject_batch() : judge();
    text = text.subspan(batch_.end_of(batch_.size() - 1));
  }
  flush();
  end_lines();
  return all - text.size();
}

std::size_t unit_reader::take_pieces(const gpu::cuda::units::piece_rows& pieces, std::size_t from, bool verified) {
  verified_ = verified;
  selected_ = 0;
  std::size_t at = from;
  if (meter_.pieces()->classes().strings) {
    for (; at < pieces.size(); ++at) take_searched(pieces, at);
  }
  if (in_head_) at += extend_head(pieces, at);
  if (place_.bytes > 0) at += extend_open(pieces, at);
  while (at < pieces.size() && !is_full() && (held_ || selected_ < max_selected)) {
    if (pieces.is_of_omitted(at)) {
      pass({.seen = pieces.omitted_units(at), .bytes = pieces.omitted_bytes(at)}, pieces.omitted_units(at));
      ++at;
      continue;
    }
    const std::size_t taken = batch_.fill(pieces, at);
    if (taken > 0) {
      judge();
    } else {
      extend_open(pieces, at);
    }
    at = taken > 0 ? at + taken : pieces.size();
  }
  flush();
  return at - from;
}

std::size_t unit_reader::take_values(std::span<const pipeline::text_value> values, std::vector<bool>& kept) {
  verified_ = true;
  selected_ = 0;
  std::size_t taken = 0;
  while (taken < values.size() && selected_ < max_selected) {
    const std::span<const std::byte> text = pipeline::bytes_of(values[taken]);
    if (text.size() > unit_batch::max_value_bytes) {
      extend_open_by_pieces(text);
      kept.push_back(close_open());
      ++taken;
      continue;
    }
    const std::size_t number = batch_.fill(values.subspan(taken));
    totals_.without_field += batch_.absent();
    judge();
    const std::span<const double> holds = batch_.of_condition();
    for (std::size_t i = 0; i < number; ++i) kept.push_back(holds.empty() || meter_.plan().counts_in_groups(holds[i]));
    taken += number;
  }
  flush();
  return taken;
}

void unit_reader::note_gap() {
  has_gaps_ = true;
  if (meter_.plan().shape.are_whole_texts()) {
    open_is_verified_ = false;
    return;
  }
  if (std::exchange(in_head_, false)) gap_after_head_ = true;
  begin_lines();
  cut_open();
  if (drops_unverified() && !meter_.plan().shape.bytes) open_is_verified_ = false;
  flush();
  end_lines();
  static_cast<void>(take_found());
}

void unit_reader::end(ending how) {
  begin_lines();
  if (how == ending::early) {
    run_.note_early_end();
    cut_open();
  } else if (place_.bytes > 0 || meter_.plan().shape.are_whole_texts()) {
    close_open();
  }
  flush();
  end_lines();
  if (!watched_.empty()) found_.add_watched(watched_);
  if (signatures_ && how == ending::whole && !has_gaps_) signatures_->write();
  if (outlet_) outlet_->end({.how = how, .has_gaps = has_gaps_, .units = of_input_});
  note_faults();
  run_.note_end(input_);
}

void unit_reader::note_faults() {
  if (fields_ != nullptr && fields_->faults().lines > 0)
    run_.note_missing({.input = name_, .cause = text_of(fields_->faults(), meter_.plan().field->name)});
  if (!groups_) return;
  std::string cause = groups_->fault();
  if (cause.empty()) cause = batch_.facts()->fault();
  if (!cause.empty()) run_.note({.input = name_, .cause = std::move(cause)});
}

// A unit that is open is held, too: what is kept of it becomes complete at once.
bool unit_reader::is_full() const {
  if (!held_) return false;
  if (in_head_) return head_.size() >= max_head;
  return held_->size() >= max_selected || held_->is_full() ||
         (kept_ && kept_->ready_bytes() + place_.bytes >= meter_.plan().filter->in_memory / 2);
}

// Returns the number of bytes that belong to the head, or of those for which there is room.
std::size_t unit_reader::extend_head(std::span<const std::byte> text) {
  const std::size_t rest = rest_of_open(text);
  const std::size_t taken = std::min(rest, max_head - head_.size());
  if (taken > 0) head_is_verified_ = head_is_verified_ && verified_;
  head_.insert(head_.end(), text.begin(), text.begin() + static_cast<std::ptrdiff_t>(taken));
  in_head_ = head_.empty() || head_.back() != meter_.plan().shape.delimiter;
  return taken;
}

// A row of a text in which strings were searched. Nothing of it is reported, so there is no limit for the rows.
void unit_reader::take_searched(const gpu::cuda::units::piece_rows& pieces, std::size_t row) {
  if (pieces.is_text(row)) return take_edge(pieces, row);
  if (pieces.is_of_omitted(row)) {
    const unit_totals lines{.seen = pieces.omitted_units(row), .bytes = pieces.omitted_bytes(row)};
    groups_->add_counted(pieces.strings(row), lines);
    return pass(lines, lines.seen);
  }
  if (in_head_) {
    head_part_->add_found(pieces.strings(row));
    extend_head(pieces.only(row), 0);
  } else {
    batch_.facts()->open_part().add_found(pieces.strings(row));
    extend_open(pieces.only(row), 0);
  }
}

// An edge may be in several calls.
void unit_reader::take_edge(const gpu::cuda::units::piece_rows& pieces, std::size_t row) {
  edge_ += pieces.text(row);
  if (!pieces.is_last_of_edge(row)) return;
  matched_part& part = in_head_ ? *head_part_ : batch_.facts()->open_part();
  pieces.is_of_end(row) ? part.add_end(edge_) : part.add_begin(edge_);
  edge_.clear();
}

// Adds pieces up to the end of a unit. Returns their number.
std::size_t unit_reader::add_pieces(const gpu::cuda::units::piece_rows& pieces, std::size_t from, joined_pieces& to) {
  std::size_t at = from;
  for (; at < pieces.size() && !to.ends_unit; ++at) {
    pieces.add_counts(at, std::span<std::uint64_t>(to.counts));
    to.bytes += pieces.bytes(at);
    to.ends_unit = pieces.ends_unit(at);
  }
  return at - from;
}

std::size_t unit_reader::extend_head(const gpu::cuda::units::piece_rows& pieces, std::size_t from) {
  const std::size_t taken = add_pieces(pieces, from, head_pieces_);
  if (taken > 0) head_is_verified_ = head_is_verified_ && verified_;
  in_head_ = !head_pieces_.ends_unit;
  return taken;
}

void unit_reader::follow(std::unique_ptr<pipeline::input_observer> earlier) {
  earlier_.reset(dynamic_cast<unit_reader*>(earlier.release()));
  if (!head_.empty()) earlier_->take(head_, head_is_verified_);
  if (head_part_) earlier_->batch_.facts()->open_part().append(*head_part_);
  if (head_pieces_.bytes > 0) {
    earlier_->verified_ = head_is_verified_;
    earlier_->extend_open(head_pieces_);
    earlier_->flush();
  }
  if (gap_after_head_) earlier_->note_gap();
  const unit_place begin = earlier_->place_;
  if (in_head_) {
    continue_unit_of(*earlier_);
  } else {
    held_->findings().shift(begin);
    place_.shift(begin);
  }
  if (fields_ != nullptr) fields_->follow(*earlier_->fields_, begin.line);
  if (groups_) {
    groups_->follow(earlier_->groups_->time());
    held_->findings().groups->set_text_before(earlier_->groups_->time());
    held_->findings().lines.set_text_before(earlier_->groups_->time());
    if (groups_->values() != nullptr) held_->findings().group_values->set_text_before(earlier_->groups_->time());
  }
  if (!undecided_.empty()) decide();
  found_.add(std::move(held_->findings()));
  held_.reset();
  out_ = &found_;
  in_head_ = false;
  head_ = {};
  has_gaps_ = has_gaps_ || earlier_->has_gaps_;
  static_cast<void>(earlier_->take_found());
  static_cast<void>(take_found());
  for (std::optional<pipeline::observed_line>& each : observed_.first_lines) {
    if (!each) continue;
    each->line += begin.line - 1;
    each->offset += begin.offset;
  }
  observed_ = std::exchange(earlier_->observed_, {}) += observed_;
  add_watched(watched_, earlier_->watched_);
  of_input_ += earlier_->of_input_;
  outlet_ = std::move(earlier_->outlet_);
  if (outlet_) drain();
  if (!kept_) earlier_.reset();
}

std::optional<pipeline::observed_numbers> unit_reader::found() const {
  if (!meter_.plan().reports_inputs()) return std::nullopt;
  pipeline::observed_numbers made = observed_;
  made += recent_;
  made.values = meter_.plan().watched.numbers(watched_);
  return made;
}

pipeline::observed_numbers unit_reader::take_found() {
  observed_ += recent_;
  return std::exchange(recent_, {});
}

// The values of the units of the batch that are counted.
void unit_reader::observe_watched() {
  for (std::size_t formula = 0; formula < watched_.size(); ++formula) {
    const std::span<const double> values = batch_.of_watched(formula);
    if (!meter_.plan().where) {
      watched_[formula].add(values);
      continue;
    }
    counted_values_.clear();
    for (std::size_t unit = 0; unit < values.size(); ++unit) {
      if (meter_.plan().counts_in_groups(batch_.of_condition()[unit])) counted_values_.push_back(values[unit]);
    }
    watched_[formula].add(counted_values_);
  }
}

void unit_reader::observe_watched(const counted_unit& found) {
  counted_values_.clear();
  for (const gates::formula& each : meter_.plan().watched.formulas) {
    counted_values_.push_back(meter_.value(each, found));
  }
  for (std::size_t formula = 0; formula < watched_.size(); ++formula) {
    watched_[formula].add(std::span(counted_values_).subspan(formula, 1));
  }
}

// The groups that are added to those of the run.
void unit_reader::observe_groups() {
  for (std::size_t place = 0; place < groups_->found().size(); ++place) {
    const group_table::const_counts_of_group more = groups_->found().counts(place);
    recent_.lines += more.lines;
    recent_.matches.resize(observed_.matches.size());
    for (std::size_t i = 0; i < recent_.matches.size(); ++i) {
      recent_.matches[i].lines += more.matches[match_numbers::lines_at(i)];
      recent_.matches[i].bytes += more.matches[match_numbers::bytes_at(i)];
    }
  }
  recent_.add_first_lines(groups_->lines().all());
}

// No unit has ended in the text of this reader.
void unit_reader::continue_unit_of(unit_reader& earlier) {
  std::swap(place_, earlier.place_);
  std::swap(open_is_verified_, earlier.open_is_verified_);
  std::swap(open_, earlier.open_);
  std::swap(open_line_, earlier.open_line_);
  std::swap(open_words_, earlier.open_words_);
  std::swap(last_, earlier.last_);
  std::swap(open_text_, earlier.open_text_);
  std::swap(open_utf8_, earlier.open_utf8_);
  std::swap(open_hash_, earlier.open_hash_);
  std::swap(kept_, earlier.kept_);
  if (fields_ != nullptr) fields_->continue_line_of(*earlier.fields_);
  if (!groups_) return;
  batch_.facts()->continue_line_of(*earlier.batch_.facts());
  groups_->continue_line_of(*earlier.groups_);
}

std::span<const std::byte> unit_reader::next_kept() {
  if (earlier_) {
    const std::span<const std::byte> kept = earlier_->next_kept();
    if (!kept.empty()) return kept;
    earlier_.reset();
  }
  return kept_ ? kept_->next() : std::span<const std::byte>();
}

// The bytes at the beginning of a text that belong to the open unit.
std::size_t unit_reader::rest_of_open(std::span<const std::byte> text) const {
  const unit_shape& shape = meter_.plan().shape;
  if (shape.bytes) return static_cast<std::size_t>(std::min<std::uint64_t>(*shape.bytes - place_.bytes, text.size()));
  const void* const found = std::memchr(text.data(), std::to_integer<int>(shape.delimiter), text.size());
  if (found == nullptr) return text.size();
  return static_cast<std::size_t>(static_cast<const std::byte*>(found) - text.data()) + 1;
}

bool unit_reader::open_is_complete() const {
  const unit_shape& shape = meter_.plan().shape;
  return shape.bytes ? place_.bytes == *shape.bytes : last_ == shape.delimiter;
}

void unit_reader::extend_open(std::span<const std::byte> text) {
  if (text.empty()) return;
  if (kept_) kept_->add_open(text);
  if (groups_) batch_.facts()->extend_open(text);
  if (meter_.plan().shows_text) {
    const std::size_t room = unit_plan::shown_bytes + 1 - open_text_.size();  // and its end
    open_text_.append(reinterpret_cast<const char*>(text.data()), std::min(text.size(), room));
  }
  if (fields_ != nullptr) {
    fields_->extend_open(text);
    if (groups_) add_bytes(text, row_, open_line_);
  } else {
    if (groups_) groups_->extend_open(text);
    count_open(text, place_.bytes > 0 && !unit_meter::separates_words(last_));
    const bool has_end = meter_.plan().shape.are_delimited() && text.back() == meter_.plan().shape.delimiter;
    if (open_hash_) open_hash_->add(has_end ? text.first(text.size() - 1) : text);
  }
  place_.bytes += text.size();
  open_is_verified_ = open_is_verified_ && verified_;
  last_ = text.back();
}

// Counters of a piece have 32 bits.
void unit_reader::extend_open_by_pieces(std::span<const std::byte> text) {
  while (!text.empty()) {
    const auto piece = text.first(std::min(text.size(), unit_batch::max_value_bytes));
    extend_open(piece);
    text = text.subspan(piece.size());
  }
}

// Returns the number of pieces of the open unit.
std::size_t unit_reader::extend_open(const gpu::cuda::units::piece_rows& pieces, std::size_t from) {
  joined_pieces joined;
  const std::size_t taken = add_pieces(pieces, from, joined);
  if (taken > 0) extend_open(joined);
  return taken;
}

void unit_reader::extend_open(const joined_pieces& joined) {
  meter_.pieces()->add(std::span<const std::uint64_t>(joined.counts), open_);
  place_.bytes += joined.bytes;
  open_is_verified_ = open_is_verified_ && verified_;
  last_ = joined.ends_unit ? meter_.plan().shape.delimiter : ~meter_.plan().shape.delimiter;
  if (joined.ends_unit) close_open();
}

// Text of the open unit may be missing.
void unit_reader::cut_open() {
  if (place_.bytes == 0) return;
  if (drops_unverified()) open_is_verified_ = false;
  close_open();
}

// `in_word`: the text follows a byte of a word of the unit.
void unit_reader::count_open(std::span<const std::byte> text, bool in_word) {
  add_bytes(text, row_, open_);
  if (meter_.words_column()) {
    gpu::host::count_within_unit(text, in_word, meter_.prepared(), row_.data());
    open_words_ += row_[*meter_.words_column()];
  }
  if (meter_.needs_malformed()) open_utf8_.feed(text);
}

// The line is complete.
void unit_reader::count_open_value() {
  fields_->read_open(place_.line);
  totals_.without_field += fields_->without_field();
  const std::span<const std::byte> value = fields_->text().first(fields_->text().size() - 1);
  count_open(value, false);
  if (open_hash_) open_hash_->add(value);
  if (signatures_ && fields_->has_value(0)) signatures_->add(characters_of(value));
}

// Returns whether it is kept.
bool unit_reader::close_open() {
  if (fields_ != nullptr) count_open_value();
  if (groups_) batch_.read_open();
  const bool is_kept = judge_open();
  if (groups_) groups_->end_open();
  if (kept_) close_kept(is_kept);
  advance(fields_ != nullptr ? (last_ == std::byte{'\n'} ? 1 : 0) : open_.counts['\n']);
  std::ranges::fill(open_.counts, 0);
  std::ranges::fill(open_line_.counts, 0);
  open_text_.clear();
  open_words_ = 0;
  open_is_verified_ = true;
  return is_kept;
}

// Returns whether it is kept.
bool unit_reader::judge_open() {
  sequence_counts sequences{.words = open_words_};
  if (meter_.needs_malformed()) {
    open_utf8_.end();
    sequences.malformed = open_utf8_.counts().malformed;
    open_utf8_ = gpu::host::utf8_meter(gpu::host::utf8_detail::code_points);
  }
  if (groups_) sequences.facts = batch_.facts()->facts_of(0);
  counted_unit unit = counted(open_, sequences, 0);
  unit.verified = open_is_verified_;
  const std::optional<text_hash> hash = open_hash_ ? std::optional(open_hash_->take()) : std::nullopt;
  const bool is_undecided = held_ && meter_.plan().drops_duplicates();
  if (!is_undecided) unit.hash = hash;
  if (meter_.plan().shows_text) unit.text = open_text_;
  if (rejects(unit.verified)) {
    reject(unit);
    return false;
  }
  const double holds = run_.judge(unit, *out_);
  const bool is_selected = holds == 1.0;
  const bool is_counted = meter_.plan().counts(holds);
  if (is_undecided && is_counted && unit.has_values()) {
    const bool is_rewritten = fields_ != nullptr && fields_->is_rewritten(0);
    undecided_.push_back(
        {.hash = *hash,
         .kept = {.at = kept_->ready_bytes(), .bytes = is_rewritten ? fields_->rewritten().size() : place_.bytes},
         .bytes = place_.bytes});
  }
  if (is_counted) observe_watched(unit);
  if (groups_ && is_counted)
    groups_->add_open(batch_, fields_ != nullptr ? open_line_ : open_, place_, counted_values_, open_text_);
  if (groups_ && !is_counted) groups_->pass_open(batch_, place_);
  of_input_ += {.seen = 1,
                .bytes = place_.bytes,
                .selected = is_selected ? 1U : 0U,
                .selected_bytes = is_selected ? place_.bytes : 0};
  return is_counted;
}

void unit_reader::advance(std::uint64_t newlines) {
  ++place_.number;
  place_.line += newlines;
  place_.offset += place_.bytes;
  place_.bytes = 0;
}

bool unit_reader::drops_unverified() const { return kept_ && meter_.plan().filter->drops_unverified; }

// Whether units with such text are dropped, whatever the condition.
bool unit_reader::rejects(bool verified) const { return drops_unverified() && !verified; }

void unit_reader::reject(const counted_unit& found) {
  run_.reject(found, *out_);
  of_input_ += {.seen = 1, .bytes = place_.bytes, .unverified = 1, .unverified_bytes = place_.bytes};
  if (run_.reports_rejected()) ++selected_;
}

// All text of the batch is damaged.
void unit_reader::reject_batch() {
  if (!run_.reports_rejected()) {
    totals_.unverified += batch_.size();
    totals_.unverified_bytes += batch_.end_of(batch_.size() - 1);
    return pass(0, batch_.size());
  }
  batch_.evaluate();  // for the values of the reported units
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    place_.bytes = batch_.end_of(i) - batch_.begin_of(i);
    holding_.clear();
    reject(counted_in_batch(i));
    advance(batch_.newlines_of(i));
  }
}

// Reports the units of the batch, and adds up the others.
void unit_reader::judge() {
  batch_.evaluate();
  if (meter_.plan().duplicates) compare_texts();
  if (signatures_) sign_texts();
  if (meter_.plan().distribution) out_->add_values(batch_.of_distribution());
  observe_watched();
  if (meter_.plan().top) last_rank_ = out_->last_rank();
  if (groups_) {
    groups_->add(batch_, batch_.of_condition(), place_);
    if (groups_->found().size() >= max_groups || groups_->found().bytes() >= max_bytes_of_groups) flush_groups();
  }
  if (kept_) keep();
  if (is_dull()) return pass(0, batch_.size());
  std::size_t passed = 0;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const judged_unit judged = judged_at(i);
    const bool reports = is_reported(judged, place_.number + i - passed);
    if (judged.holds != 1.0 && !reports) continue;
    pass(passed, i);
    passed = i + 1;
    place_.bytes = batch_.end_of(i) - batch_.begin_of(i);
    note(judged);
    note_rules(judged, i);
    if (reports) {
      report(judged, counted_in_batch(i));
    }
    advance(batch_.newlines_of(i));
  }
  pass(passed, batch_.size());
}

void unit_reader::sign_texts() {
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (batch_.has_value(i)) signatures_->add(characters_of(batch_.value_of(i)));
  }
}

// Those of the units of the batch that are counted.
void unit_reader::compare_texts() {
  const unit_plan& plan = meter_.plan();
  compared_.clear();
  hashes_.clear();
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (!batch_.has_value(i) || (plan.where && !plan.counts(batch_.of_condition()[i]))) continue;
    compared_.push_back(i);
    hashes_.push_back(text_hash::of(batch_.value_of(i)));
  }
  if (held_ && plan.drops_duplicates()) return keep_undecided();
  out_->add_texts(hashes_, plan.drops_duplicates() ? &are_duplicates_ : nullptr);
  for (std::size_t i = 0; plan.drops_duplicates() && i < compared_.size(); ++i) {
    if (are_duplicates_[i]) batch_.drop_duplicate(compared_[i]);
  }
}

// The places of the compared units in the kept text, to which the units of the batch are added next.
void unit_reader::keep_undecided() {
  std::size_t at = kept_->ready_bytes();
  auto next = compared_.begin();
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    if (!meter_.plan().counts(batch_.of_condition()[i])) continue;
    const kept_text::part part{.at = at, .bytes = text_to_keep(i).size()};
    at += part.bytes;
    if (next == compared_.end() || *next != i) continue;
    undecided_.push_back({.hash = hashes_[static_cast<std::size_t>(next - compared_.begin())],
                          .kept = part,
                          .bytes = batch_.end_of(i) - batch_.begin_of(i)});
    ++next;
  }
}

// All text before was compared.
void unit_reader::decide() {
  hashes_.clear();
  for (const undecided_unit& each : undecided_) hashes_.push_back(each.hash);
  found_.add_texts(hashes_, &are_duplicates_);
  unit_totals dropped;
  std::vector<kept_text::part> removed;
  for (std::size_t i = 0; i < undecided_.size(); ++i) {
    if (!are_duplicates_[i]) continue;
    removed.push_back(undecided_[i].kept);
    dropped += {.selected = 1, .selected_bytes = undecided_[i].bytes};
  }
  kept_->remove(removed);
  unit_findings& held = held_->findings();
  held.totals += dropped;
  of_input_ += dropped;
  undecided_ = {};
  if (!meter_.plan().divides_rules() || removed.empty()) return;
  held.rules.resize(meter_.plan().counted_rows());
  held.rules[meter_.plan().rules.size() - 1] += {.units = dropped.selected,
                                                 .bytes = dropped.selected_bytes,
                                                 .first_units = dropped.selected,
                                                 .first_bytes = dropped.selected_bytes};
}

unit_reader::judged_unit unit_reader::judged_at(std::size_t unit) const {
  return {.holds = batch_.of_condition().empty() ? 0 : batch_.of_condition()[unit],
          .ranked = batch_.of_ranking().empty() ? gates::unknown : batch_.of_ranking()[unit]};
}

// Whether no unit of the batch is selected or ranked: the usual case.
bool unit_reader::is_dull() const {
  const auto is_reported = [&](double value) { return run_.reports(value); };
  if (std::ranges::count(batch_.of_condition(), 1.0) > 0) return false;  // vectorized, unlike a search
  if (meter_.plan().filter && std::ranges::any_of(batch_.of_condition(), is_reported)) return false;
  if (!meter_.plan().top) return true;
  // units of this input that are ranked lower than the last one by their value alone
  return last_rank_ && std::ranges::none_of(batch_.of_ranking().first(batch_.size()),
                                            [&](double value) { return value >= last_rank_->value; });
}

// Neighbouring units are kept together.
void unit_reader::keep() {
  const filtering& filter = *meter_.plan().filter;
  const std::span<const double> holds = batch_.of_condition();
  for (std::size_t first = 0, last = 0; first < batch_.size(); first = last + 1) {
    const bool is_kept = filter.keeps(holds[first]);
    for (last = first; last + 1 < batch_.size() && filter.keeps(holds[last + 1]) == is_kept;) ++last;
    if (is_kept) keep(first, last);
  }
  if (held_) held_->note_kept(kept_->held_bytes() + undecided_.size() * sizeof(undecided_unit));
}

void unit_reader::keep(std::size_t first, std::size_t last) {
  if (meter_.plan().rewriting.empty()) return kept_->add(batch_.text_of(first, last));
  for (std::size_t unit = first; unit <= last; ++unit) kept_->add(text_to_keep(unit));
}

// The text of a unit of the batch, in which its field has the rewritten value; until the next call.
std::span<const std::byte> unit_reader::text_to_keep(std::size_t unit) {
  const std::span<const std::byte> text = batch_.text_of(unit, unit);
  if (fields_ == nullptr || !fields_->is_rewritten(unit)) return text;
  fields_->rewrite(characters_of(text), characters_of(batch_.measured(unit)));
  return bytes_of(fields_->rewritten());
}

// The open unit.
void unit_reader::close_kept(bool is_kept) {
  const bool is_rewritten = fields_ != nullptr && fields_->is_rewritten(0);
  kept_->close(is_kept && !is_rewritten, held_ ? kept_text::use::later : kept_text::use::next);
  if (is_kept && is_rewritten) kept_->add(bytes_of(fields_->rewritten()));
}

// Units of the batch.
void unit_reader::pass(std::size_t first, std::size_t end) {
  if (first == end) return;
  pass({.seen = end - first, .bytes = batch_.end_of(end - 1) - batch_.begin_of(first)}, batch_.newlines(first, end));
}

// Units that are neither selected nor ranked.
void unit_reader::pass(const unit_totals& units, std::uint64_t newlines) {
  totals_ += units;
  place_.number += units.seen;
  place_.offset += units.bytes;
  place_.line += newlines;
}

void unit_reader::note(const judged_unit& found) {
  ++totals_.seen;
  totals_.bytes += place_.bytes;
  if (found.holds != 1.0) return;
  ++totals_.selected;
  totals_.selected_bytes += place_.bytes;
}

// `unit`: in the batch.
void unit_reader::note_rules(const judged_unit& found, std::size_t unit) {
  holding_.clear();
  if (found.holds != 1.0 || !meter_.plan().reports_rules()) return;
  const std::size_t counted = meter_.plan().counted_rules();
  if (counted == 0) return holding_.push_back(0);
  for (std::size_t rule = 0; rule < counted; ++rule) {
    if (batch_.rule_holds(rule, unit)) holding_.push_back(rule);
  }
  add_unit(rules_, holding_, place_.bytes);
}

// `number`: of the unit.
bool unit_reader::is_reported(const judged_unit& found, std::uint64_t number) const {
  if (run_.reports(found.holds)) return true;
  if (gates::is_unknown(found.ranked)) return false;
  return !last_rank_ || rank{.value = found.ranked, .input = input_, .unit = number}.precedes(*last_rank_);
}

void unit_reader::report(const judged_unit& found, const counted_unit& unit) {
  if (run_.reports(found.holds)) {
    out_->select(meter_.record_of(unit, *meter_.plan().where));
    ++selected_;
  }
  if (gates::is_unknown(found.ranked)) return;
  out_->add_ranked(rank_of(found.ranked, unit, meter_));
  last_rank_ = out_->last_rank();
}

// `unit`: in the batch; 0: the open unit.
counted_unit unit_reader::counted(const gpu::tally& counts, const sequence_counts& sequences, std::size_t unit) const {
  counted_unit made{.input = name_,
                    .input_number = input_,
                    .place = place_,
                    .verified = verified_,
                    .counts = counts,
                    .sequences = sequences};
  if (fields_ != nullptr) made.field = fields_->found_in(unit, counts.bytes());
  return made;
}

counted_unit unit_reader::counted_in_batch(std::size_t unit) {
  batch_.count(unit, scratch_);
  counted_unit made = counted(scratch_, batch_.sequences_of(unit), unit);
  made.rules = holding_;
  if (batch_.is_absent(unit)) made.field = measured_field{.cause = "no value"};
  if (!meter_.plan().shows_text) return made;
  made.text.emplace(characters_of(batch_.text_of(unit, unit)));
  return made;
}

// What the steps of the rewriting removed.
void unit_reader::note_steps() {
  const std::vector<texts::step_count> found = fields_->take_step_counts();
  const std::size_t first = meter_.plan().counted_rules();
  for (std::size_t step = 0; step < found.size(); ++step) {
    rules_[first + step] += {.units = found[step].lines, .bytes = found[step].bytes};
  }
}

void unit_reader::flush() {
  if (!meter_.plan().rewriting.empty()) note_steps();
  out_->add(totals_);
  of_input_ += totals_;
  totals_ = {};
  if (std::ranges::any_of(rules_, [](const rule_totals& each) { return each.units > 0; })) {
    out_->add_rules(rules_);
    std::ranges::fill(rules_, rule_totals());
  }
  if (groups_ && groups_->found().size() > 0) flush_groups();
  if (outlet_) drain();
}

void unit_reader::flush_groups() {
  if (meter_.plan().reports_inputs()) observe_groups();
  out_->add_groups(groups_->found(), groups_->values(), groups_->lines());
  groups_->clear();
}

void unit_reader::drain() {
  for (auto text = next_kept(); !text.empty(); text = next_kept()) outlet_->write(text);
}

}  // namespace gpuhist::report::units
