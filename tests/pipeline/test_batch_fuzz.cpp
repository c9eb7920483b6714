// What is copied between machines is input: whatever the bytes of a state, a manifest or a result (of a shard or of a
// job) are, they are refused, or they have counts of the right shape. Records have valid checksums here, as crafted
// ones do. FUZZ_RUNS and FUZZ_SEED: see tests/support/campaign.hpp.
#include "batch/job_identity.hpp"
#include "batch/job_journal.hpp"
#include "batch/job_ledger.hpp"
#include "batch/job_pieces.hpp"
#include "batch/job_planning.hpp"
#include "batch/manifest.hpp"
#include "batch/unit_ledger.hpp"
#include "command/plan.hpp"
#include "config/usage_error.hpp"
#include "io/checksum.hpp"
#include "io/descriptor.hpp"
#include "pipeline/counts/packed_numbers.hpp"
#include "report/formats/result_file.hpp"

#include "tests/support/campaign.hpp"

#include <doctest/doctest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <set>

using namespace gpuhist;
using namespace gpuhist::batch;
using namespace gpuhist::command;
using namespace gpuhist::pipeline;
using namespace gpuhist::report;

namespace {

constexpr std::size_t entries = 4;
constexpr std::size_t classes = 9;
constexpr std::size_t pairs = 9;
constexpr std::uint32_t farthest_member = ~std::uint32_t{0};

// A few edits: bits, bytes, pieces that are missing, doubled or exchanged, and numbers that are too large.
std::string edited(std::string bytes, std::mt19937& random) {
  const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  for (std::size_t edits = 1 + below(4); edits > 0 && !bytes.empty(); --edits) {
    const std::size_t at = below(bytes.size());
    switch (below(7)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(random());
        break;
      case 2:
        bytes.erase(at, 1 + below(8));
        break;
      case 3:
        bytes.insert(at, bytes.substr(below(bytes.size()), below(16)));
        break;
      case 4:
        bytes.insert(at, std::string(1 + below(11), '\xff'));
        break;
      case 5:
        bytes.replace(at, 1, random() % 2 == 0 ? std::string("18446744073709551615") : std::string("-1"));
        break;
      default:
        if (below(8) == 0) bytes.resize(at);
    }
  }
  return bytes;
}

plan sample_plan() {
  plan made;
  made.partition.classes = classes;
  for (std::size_t byte = 0; byte < 256; ++byte)
    made.partition.class_of[byte] = static_cast<std::uint8_t>(byte % classes);
  made.pairs.emplace();
  made.pairs->classes = 3;
  made.spilled_to.path.clear();
  made.windows = window_shape{.per_input = true};
  made.units = std::make_shared<const units::unit_plan>(units::unit_plan{.shape = {}, .each = "line"});
  return made;
}

gpu::tally some_counts() {
  gpu::tally made(classes, pairs);
  made.counts = {5, 0, 0, 1'000'000, 7, 0, 0, 0, 1};
  made.pairs[4] = 3;
  return made;
}

input_report some_report(std::string name) {
  input_report made;
  made.name = std::move(name);
  made.format = "zstd";
  made.compressed_bytes = 12'345;
  made.verified = made.unverified = some_counts();
  made.error = "checksum mismatch";
  made.error_kind = io::failure_kind::damaged;
  made.number_of_lost_ranges = 1;
  made.lost_ranges.push_back({.compressed_begin = 1, .compressed_end = 2, .cause = "damaged"});
  made.utf8.emplace();
  made.utf8->first_malformed = 3;
  return made;
}

std::vector<std::string> sample_records() {
  using enum job_record::kind;
  input_units found{.of = {.entry = 1, .member = 2}};
  found.unit_lines.all = {{.offset = 10, .bytes = 300}, {.offset = 1'000, .bytes = 1}};
  found.totals = {.seen = 9, .bytes = 400, .selected = 2};
  units::unit_record best{.input = std::make_shared<const std::string>("b"), .place = {}, .counts = some_counts()};
  best.values.push_back({.name = "digit", .value = 0.5});
  found.best.push_back({.at = {.value = 3}, .unit = std::move(best)});
  return {packed_record({.type = input, .entry = 0, .report = some_report("a")}),
          packed_record({.type = member, .entry = 1, .member = 1, .report = some_report("b/m")}),
          packed_record({.type = member, .entry = 1, .member = farthest_member, .report = some_report("b/n")}),
          packed_record({.type = members, .entry = 1}),
          packed_record({.type = prefix,
                         .entry = 2,
                         .report = some_report("c"),
                         .frames = 2,
                         .edges = {.is_empty = false, .first = 1, .last = 2}}),
          packed_record({.type = refused, .entry = 3, .report = some_report("d")}),
          packed_input_units(found),
          packed_sync_record()};
}

// What a job does with a record.
void add(std::string_view record, job_ledger& ledger, unit_ledger& units) {
  if (units.add(record)) return;
  if (const auto known = ledger.open_record(record)) add_record(*known, ledger, units);
}

bool has_right_shape(const input_report& report) {
  return report.verified.counts.size() == classes && report.unverified.counts.size() == classes &&
         (report.verified.pairs.empty() || report.verified.pairs.size() == pairs) &&
         report.error_kind <= io::failure_kind::unknown && report.error_origin <= io::failure_origin::archive_after_end;
}

// Every report can be used.
bool have_right_shape(const job_ledger& ledger, const unit_ledger& units) {
  bool is_right = ledger.finished() <= entries && ledger.counts().verified.counts.size() == classes;
  for (std::size_t entry = 0; entry < entries; ++entry) {
    ledger.for_each_report(entry, [&](const input_report& each) { is_right = is_right && has_right_shape(each); });
    if (const auto prefix = ledger.prefix_of(entry)) {
      is_right = is_right && has_right_shape(prefix->counted) && prefix->edges.first.value_or(0) < 3;
    }
    units.for_each(entry,
                   [&](const input_units& each, std::uint32_t) { is_right = is_right && each.of.entry == entry; });
  }
  return is_right;
}

// `run` returns whether the bytes were accepted.
template <typename Run>
void repeat(std::size_t usual, std::uint32_t test, Run run) {
  std::mt19937 random(gpuhist::test::fuzz_seed(test));
  std::size_t refused = 0;
  const std::size_t runs = gpuhist::test::fuzz_runs(usual);
  for (std::size_t each = 0; each < runs; ++each) refused += run(random) ? 0 : 1;
  MESSAGE("refused: ", refused, " of ", runs);
  CHECK(refused > runs / 10);
  CHECK(refused < runs);
}

job_identity sample_identity(const plan& planned) {
  config::options typed;
  typed.given = {{"buckets", {"letters"}}, {"fail-if", {"entropy > 7"}}, {"baseline", {"\xff"}}};
  return identity_of(planned, typed, "0123456789abcdef0123456789abcdef", {.number = 1, .count = 2});
}

void append_record(std::string& to, std::string_view record, std::uint64_t seed) {
  const auto size = static_cast<std::uint32_t>(record.size());
  const std::uint64_t checksum = io::checksum_of(record, seed);
  to.append(reinterpret_cast<const char*>(&size), sizeof size);
  to.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
  to += record;
}

const char* const plain_manifest =
    R"({"kind":"manifest","schema":"gpuhist.manifest/1","fingerprint":"ends","inputs":3}
{"kind":"input","name":"a","size":3000,"modified":1,"log":{"plain":true,"head":"AAAAAAAAAAAAAAAAAAAAAA=="},"format":"raw","splits":[[1000,0,1000],[2000,0,2000]]}
{"kind":"input","name":"b","size":5000,"modified":2,"log":{"plain":false,"head":"AAAAAAAAAAAAAAAAAAAAAA==","tail":"AAAAAAAAAAAAAAAAAAAAAA==","inode":7,"born":9},"format":"zstd","splits":[[1000,1,9000],[2000,3,18000]]}
{"kind":"input","name":"c","name_base64":"/w==","error":"gone","error_kind":"unreadable"}
)";

}  // namespace

TEST_CASE("a record of a state that no job has written is refused, or has counts of the shape of the job") {
  const plan planned = sample_plan();
  const std::vector<std::string> samples = sample_records();
  repeat(20'000, 1, [&](std::mt19937& random) {
    job_ledger ledger(entries, planned.partition, no_text_of(planned), planned.spilled_to);
    unit_ledger units(entries, planned);
    bool is_accepted = true;
    const std::size_t changed = random() % samples.size();
    for (std::size_t each = 0; each < samples.size(); ++each) {
      try {
        add(each == changed ? edited(samples[each], random) : samples[each], ledger, units);
      } catch (const unpack_error&) {
        is_accepted = false;
      }
    }
    if (!have_right_shape(ledger, units)) FAIL("a report has another shape");
    return is_accepted;
  });
}

TEST_CASE("a part is of another job, is damaged, or has counts of the shape of the job") {
  const plan planned = sample_plan();
  const job_identity job = sample_identity(planned);
  const std::vector<std::string> samples = sample_records();
  const io::descriptor file(::memfd_create("part", MFD_CLOEXEC));
  repeat(5'000, 2, [&](std::mt19937& random) {
    const std::size_t changed = random() % (samples.size() + 1);
    std::string part = changed == samples.size() ? edited(header_of(job), random) : header_of(job);
    const std::uint64_t seed = io::checksum_of(part);
    part += '\n';
    for (std::size_t each = 0; each < samples.size(); ++each) {
      append_record(part, each == changed ? edited(samples[each], random) : samples[each], seed + each);
    }
    if (random() % 4 == 0) part = edited(part, random);
    REQUIRE(::ftruncate(file.get(), 0) == 0);
    REQUIRE(::pwrite(file.get(), part.data(), part.size(), 0) == static_cast<ssize_t>(part.size()));
    REQUIRE(::lseek(file.get(), 0, SEEK_SET) == 0);
    job_ledger ledger(entries, planned.partition, no_text_of(planned), planned.spilled_to);
    unit_ledger units(entries, planned);
    try {
      read_journal(
          file.get(), "part",
          [&](const std::string& header) {
            refuse_other_job("part", header, job);
            static_cast<void>(options_of(identity_in(header).value()));
          },
          [&](std::string_view record) { add(record, ledger, units); });
    } catch (const config::usage_error&) {
      return false;
    } catch (const std::runtime_error&) {
      return false;
    }
    if (!have_right_shape(ledger, units)) FAIL("a report has another shape");
    return true;
  });
}

TEST_CASE("a manifest is refused, or its names, logs and pieces are those of files of its sizes") {
  const std::string sample = plain_manifest;
  CHECK(manifest_from(sample, "m").entries.size() == 3);
  repeat(10'000, 3, [&](std::mt19937& random) {
    manifest found;
    try {
      found = manifest_from(edited(sample, random), "m");
    } catch (const std::runtime_error&) {
      return false;
    }
    std::set<std::string> names;
    for (const manifest_entry& each : found.entries) names.insert(each.name);
    if (names.size() != found.entries.size()) FAIL("a name is there twice");
    for (const manifest_entry& each : found.entries) {
      if (!each.log) continue;
      const bool has_end = each.size > io::log_edge_bytes;  // which is read at an offset from the end
      if (each.log->bytes != each.size || has_end == each.log->tail.empty()) FAIL("a log is not one of that size");
    }
    std::vector<std::uint64_t> ends(found.entries.size());
    const job_division division = divide(found, 1 + random() % 4, true);
    for (std::size_t piece = 0; piece < division.pieces.entries.size(); ++piece) {
      const manifest_entry& each = division.pieces.entries[piece];
      std::uint64_t& end = ends[division.entry_of[piece]];
      if (each.piece && each.piece->begin.stored_bytes != end) FAIL("a piece does not follow the one before");
      end = each.piece ? each.piece->end.value_or(each.size) : each.size;
    }
    for (std::size_t entry = 0; entry < ends.size(); ++entry) {
      if (ends[entry] != found.entries[entry].size) FAIL("a piece is missing");
    }
    return true;
  });
}

TEST_CASE("a result file is damaged, or has counts of 256 byte values") {
  std::string counts = "[1";
  for (int value = 1; value < 256; ++value) counts += value == 10 ? ",2" : ",0";
  counts += "]";
  const std::string begin = R"("schema":"gpuhist.result/1","run":"0123456789abcdef",)";
  const std::string end = R"("bytes":3,"complete":true,"lines":2,"byte_counts":)" + counts + "}\n";
  const std::string sample = R"({"kind":"input",)" + begin + R"("name":"a","format":"raw",)" + end +
                             R"({"kind":"result",)" + begin + R"("input_count":1,)" + end;
  result_sum whole(wanted_counts(letter_case::exact), {.path = ""});
  whole.add_text("r", sample);
  CHECK(whole.errors().empty());
  repeat(10'000, 4, [&](std::mt19937& random) {
    result_sum sum(wanted_counts(letter_case::exact), {.path = ""});
    sum.add_text("r", edited(sample, random));
    const bool is_accepted = sum.errors().empty();
    const run_report total = sum.take();
    if (total.verified.counts.size() != 256) FAIL("a total has another shape");
    for (const input_report& each : total.inputs) {
      if (each.verified.counts.size() != 256) FAIL("an input has another shape");
    }
    return is_accepted;
  });
}
