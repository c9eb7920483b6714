#include "pipeline/counts/input_report.hpp"

#include "pipeline/counts/packed_numbers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>
#include <stdexcept>
#include <utility>

namespace gpuhist::pipeline {

std::string failure_text(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const io::input_error& e) {
    std::string text = e.what();
    if (e.offset() > 0) text += " at offset " + std::to_string(e.offset());
    return text;
  } catch (const std::bad_alloc&) {
    return "not enough memory";
  } catch (const std::exception& e) {
    return e.what();
  }
}

input_failure failure_from(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const io::input_error& e) {
    return {.kind = e.kind(), .text = failure_text(error), .origin = e.origin(), .missing = e.missing()};
  } catch (const std::bad_alloc&) {
    return {.kind = failure_kind::out_of_memory, .text = "not enough memory to decode it"};
  } catch (...) {
    return {.kind = failure_kind::unreadable, .text = failure_text(error)};
  }
}

bool is_of_input(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const io::input_error&) {
    return true;
  } catch (const std::bad_alloc&) {
    return true;
  } catch (...) {
    return false;
  }
}

input_failure left_at(std::uint64_t offset) {
  return {.kind = failure_kind::stopped, .text = "stopped at offset " + std::to_string(offset)};
}

input_failure not_verified_in_archive() {
  return {.kind = failure_kind::damaged,
          .text = "not verified: the surrounding archive or frame is damaged",
          .origin = failure_origin::archive_after_end};
}

input_failure not_read() { return {.kind = failure_kind::not_read, .text = "not read"}; }

io::input_error as_error(const input_failure& failure) {
  return {failure.text, 0, failure.kind, failure.origin, failure.missing};
}

// The compact form of reports. What --utf8 found, the notices and what observers found are at the end.

namespace {

constexpr unsigned complete_bit = 1;
constexpr unsigned counted_unverified_bit = 2;
constexpr unsigned compressed_bit = 4;
constexpr unsigned utf8_bit = 8;
constexpr unsigned malformed_bit = 16;
constexpr unsigned notices_bit = 32;
constexpr unsigned observed_bit = 64;
constexpr unsigned lines_bit = 128;
constexpr unsigned all_bits = 255;
constexpr std::size_t shortest_range = 6;   // bytes of a packed lost_range
constexpr std::size_t shortest_notice = 2;  // of a packed notice

void pack_utf8(packer& out, const utf8_report& found) {
  for (const utf8_number& each : utf8_numbers) out.number(found.counts.*each.value);
  for (const std::uint64_t each : found.counts.scripts) out.number(each);
  if (found.first_malformed) out.number(*found.first_malformed).number(found.first_malformed_line.value_or(1));
}

utf8_report unpack_utf8(unpacker& in, bool has_malformed) {
  utf8_report made;
  for (const utf8_number& each : utf8_numbers) made.counts.*each.value = in.number();
  for (std::uint64_t& each : made.counts.scripts) each = in.number();
  if (!has_malformed) return made;
  made.first_malformed = in.number();
  made.first_malformed_line = in.number();
  return made;
}

bool has_lines(const input_report& input) { return input.observed && !input.observed->first_lines.empty(); }

// All are of the input.
void pack_lines(packer& out, const observed_numbers& found) {
  out.number(found.first_lines.size());
  for (const std::optional<observed_line>& each : found.first_lines) {
    out.number(each ? 1 : 0);
    if (each) out.number(each->line).number(each->offset).text(each->text);
  }
}

void unpack_lines(unpacker& in, observed_numbers& into) {
  into.first_lines.resize(in.elements(1));
  for (std::optional<observed_line>& each : into.first_lines) {
    if (in.at_most(1) == 0) continue;
    each.emplace();
    each->line = in.number();
    each->offset = in.number();
    each->text = in.text();
  }
}

unsigned bits_of(const input_report& input) {
  return (input.complete ? complete_bit : 0) | (input.counted_unverified ? counted_unverified_bit : 0) |
         (input.compressed_bytes ? compressed_bit : 0) | (input.utf8 ? utf8_bit : 0) |
         (input.utf8 && input.utf8->first_malformed ? malformed_bit : 0) | (input.notices.empty() ? 0 : notices_bit) |
         (input.observed ? observed_bit : 0) | (has_lines(input) ? lines_bit : 0);
}

void pack_observed(packer& out, const observed_numbers& found) {
  out.number(found.lines).number(found.matches.size());
  for (const observed_numbers::matched& each : found.matches) out.number(each.lines).number(each.bytes);
  out.number(found.values.size());
  for (const std::optional<double>& each : found.values) {
    out.number(each ? 1 : 0).number(std::bit_cast<std::uint64_t>(each.value_or(0)));
  }
}

observed_numbers unpack_observed(unpacker& in) {
  observed_numbers made{.lines = in.number()};
  made.matches.resize(in.elements(2));
  for (observed_numbers::matched& each : made.matches) {
    each.lines = in.number();
    each.bytes = in.number();
  }
  made.values.resize(in.elements(2));
  for (std::optional<double>& each : made.values) {
    const bool is_known = in.at_most(1) == 1;
    const auto value = std::bit_cast<double>(in.number());
    if (std::isnan(value)) throw unpack_error("a value is not a number");
    if (is_known) each = value;
  }
  return made;
}

}  // namespace

observed_numbers& observed_numbers::operator+=(const observed_numbers& more) {
  lines += more.lines;
  if (matches.size() < more.matches.size()) matches.resize(more.matches.size());
  for (std::size_t i = 0; i < more.matches.size(); ++i) {
    matches[i].lines += more.matches[i].lines;
    matches[i].bytes += more.matches[i].bytes;
  }
  add_first_lines(more.first_lines);
  return *this;
}

void observed_numbers::add_first_lines(const std::vector<std::optional<observed_line>>& later) {
  if (first_lines.size() < later.size()) first_lines.resize(later.size());
  for (std::size_t i = 0; i < later.size(); ++i) {
    if (!first_lines[i]) first_lines[i] = later[i];
  }
}

observed_numbers& observed_numbers::operator-=(const observed_numbers& some) {
  lines -= some.lines;
  for (std::size_t i = 0; i < some.matches.size(); ++i) {
    matches[i].lines -= some.matches[i].lines;
    matches[i].bytes -= some.matches[i].bytes;
  }
  return *this;
}

void count_unverified(input_report& input) {
  input.verified += input.unverified;
  input.counted_unverified = input.unverified.bytes() > 0;
}

void set_unverified(input_report& input) {
  std::swap(input.verified, input.unverified);
  input.complete = false;
}

void add_notice(std::vector<io::notice>& to, const io::notice& added) {
  if (std::ranges::find(to, added.kind, &io::notice::kind) == to.end()) to.push_back(added);
}

std::string packed_report(const input_report& input) {
  packer out;
  out.text(input.name).text(input.format).text(input.error);
  out.number(bits_of(input));
  out.number(static_cast<std::uint64_t>(input.error_kind)).number(static_cast<std::uint64_t>(input.error_origin));
  if (input.compressed_bytes) out.number(*input.compressed_bytes);
  out.tally(input.verified)
      .tally(input.unverified)
      .number(input.number_of_lost_ranges)
      .number(input.lost_ranges.size());
  for (const lost_range& each : input.lost_ranges) {
    out.number(each.compressed_begin).number(each.compressed_end).number(each.text_offset);
    out.number(each.unverified_bytes).text(each.cause).number(static_cast<std::uint64_t>(each.kind));
  }
  if (input.utf8) pack_utf8(out, *input.utf8);
  if (!input.notices.empty()) out.number(input.notices.size());
  for (const io::notice& each : input.notices) out.number(static_cast<std::uint64_t>(each.kind)).text(each.text);
  if (input.observed) pack_observed(out, *input.observed);
  if (has_lines(input)) pack_lines(out, *input.observed);
  return out.take();
}

input_report unpacked_report(std::string_view text, std::size_t classes) {
  return unpacked_report(unpacker(text), classes);
}

input_report unpacked_report(unpacker in, std::size_t classes) {
  input_report made;
  made.name = in.text();
  made.format = in.text();
  made.error = in.text();
  const std::uint64_t bits = in.at_most(all_bits);
  made.complete = (bits & complete_bit) != 0;
  made.counted_unverified = (bits & counted_unverified_bit) != 0;
  made.error_kind = in.choice(failure_kind::unknown);
  made.error_origin = in.choice(failure_origin::archive_after_end);
  if ((bits & compressed_bit) != 0) made.compressed_bytes = in.number();
  made.verified = in.tally(classes);
  made.unverified = in.tally(classes);
  made.number_of_lost_ranges = in.number();
  made.lost_ranges.resize(in.elements(shortest_range));
  for (lost_range& each : made.lost_ranges) {
    each.compressed_begin = in.number();
    each.compressed_end = in.number();
    each.text_offset = in.number();
    each.unverified_bytes = in.number();
    each.cause = in.text();
    each.kind = in.choice(failure_kind::unknown);
  }
  if ((bits & utf8_bit) != 0) made.utf8 = unpack_utf8(in, (bits & malformed_bit) != 0);
  if ((bits & notices_bit) != 0) made.notices.resize(in.elements(shortest_notice));
  for (io::notice& each : made.notices) {
    each.kind = in.choice(io::notice_kind::unknown);
    each.text = in.text();
  }
  if ((bits & observed_bit) != 0) made.observed = unpack_observed(in);
  if ((bits & lines_bit) != 0) unpack_lines(in, made.observed ? *made.observed : made.observed.emplace());
  in.finish();
  return made;
}

}  // namespace gpuhist::pipeline
