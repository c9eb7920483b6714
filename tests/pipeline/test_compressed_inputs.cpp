// Whole runs over archives whose frames are decoded side by side: the report equals that of one decoder that decodes in
// order, and snapshots and interrupted runs count exactly a prefix. --max-output: an archive with more text than the
// maximum is counted up to it, to the byte, whatever is decoded at the same time.
#include "pipeline/flow/decoding/compressed_inputs.hpp"

#include "tests/io/gzip_samples.hpp"
#include "tests/io/lz4_samples.hpp"
#include "tests/io/packed_samples.hpp"
#include "tests/pipeline/parallel_runs.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::command;
using namespace gpuhist::pipeline;

namespace {

const io::format& zstd() { return *io::format_named("zstd"); }

const io::format& gzip() { return *io::format_named("gzip"); }

test::byte_counts sum(const test::byte_counts& left, const test::byte_counts& right) {
  test::byte_counts both = left;
  for (std::size_t i = 0; i < both.size(); ++i) both[i] += right[i];
  return both;
}

std::span<const std::byte> prefix_of(const test::byte_vector& text, std::uint64_t bytes) {
  return std::span(text).first(bytes);
}

// The counts of an input are those of a prefix of its text: frames that have ended, and then part of the next frame.
void check_prefix(const input_report& input, const test::decoder_sample& archive) {
  const std::uint64_t verified = input.verified.bytes();
  const std::uint64_t bytes = verified + input.unverified.bytes();
  REQUIRE(bytes <= archive.plain.size());
  CHECK(sum(input.verified.counts, input.unverified.counts) == test::counts_of(prefix_of(archive.plain, bytes)));
  CHECK(input.verified.counts == test::counts_of(prefix_of(archive.plain, verified)));
  const bool at_a_frame = std::ranges::any_of(archive.ends, [&](const auto& end) { return end.plain == verified; });
  CHECK((verified == 0 || at_a_frame));
}

void check_totals(const run_counts& counts) {
  test::byte_counts verified(256);
  test::byte_counts unverified(256);
  for (const input_report& each : counts.inputs) {
    verified = sum(verified, each.verified.counts);
    unverified = sum(unverified, each.unverified.counts);
  }
  CHECK(counts.verified.counts == verified);
  CHECK(counts.unverified.counts == unverified);
}

// Several archives of random frames, in files.
struct archives {
  test::temporary_folder folder;
  std::vector<test::decoder_sample> samples;
  std::vector<std::string> names;

  archives(test::dice& random, std::uint32_t number, std::uint32_t chunk_bytes, std::uint32_t max_frames) {
    for (std::uint32_t i = 0; i < number; ++i) {
      samples.push_back(test::random_archive(random, chunk_bytes, max_frames));
      names.push_back(folder.file(std::to_string(i), test::characters(samples.back().packed)));
    }
  }

  void check_prefixes(const run_counts& counts) const {
    for (std::size_t i = 0; i < counts.inputs.size(); ++i)
      check_prefix(counts.inputs[i], samples[i]);  // the inputs opened so far
    check_totals(counts);
  }
};

// The length of the text before an error in a damaged frame, and the place and the kind of the error, may depend on how
// the bytes were cut (decoder_contract); nothing else may. A wrong block size in a gzip header is an error for a
// decoder that uses the size, and no error for one that ignores it.
struct expectation {
  std::vector<test::in_order> readings;
  std::size_t packed_bytes = 0;

  expectation(const plan& planned, const test::byte_vector& packed, std::size_t plain_bound)
      : packed_bytes(packed.size()) {
    for (const std::size_t cut : {test::everything, std::size_t{planned.buffers.block_bytes}, std::size_t{1}}) {
      readings.push_back(
          test::decode_in_order(*planned.forced_format, test::limits_of(planned), packed, cut, plain_bound));
    }
  }

  void check(const input_report& input) const {
    const bool wrong_size = input.error.find("sizes in headers") != std::string::npos;
    const test::in_order& reference = readings.front();
    if (!wrong_size) {
      CHECK(input.verified.counts == test::counts_of(prefix_of(reference.text, reference.verified)));
      CHECK(input.complete == reference.error.empty());
    }
    const bool is_equal = std::ranges::any_of(readings, [&](const test::in_order& each) {
      return input.error == each.error && input.compressed_bytes == each.consumed &&
             input.unverified.counts == test::counts_of(std::span(each.text).subspan(each.verified));
    });
    const bool is_damage = wrong_size || reference.error.find(" is damaged (") != std::string::npos;
    if (!is_damage) {
      CHECK_MESSAGE(is_equal, input.error, " instead of ", reference.error);
    } else if (!is_equal) {
      check_damage(input, wrong_size);
    }
  }

  // The counts are those of a prefix of the longest text that a decoder alone produces, and the error says where it
  // ends.
  void check_damage(const input_report& input, bool wrong_size) const {
    const auto longest = std::ranges::max_element(readings, {}, [](const auto& each) { return each.text.size(); });
    const std::uint64_t verified = input.verified.bytes();
    const std::uint64_t bytes = verified + input.unverified.bytes();
    CAPTURE(input.error);
    CAPTURE(longest->error);
    CHECK_FALSE(input.complete);
    REQUIRE(bytes <= longest->text.size());
    CHECK(sum(input.verified.counts, input.unverified.counts) == test::counts_of(prefix_of(longest->text, bytes)));
    CHECK(verified <= longest->verified);
    CHECK((wrong_size || verified == longest->verified));
    CHECK(input.error.ends_with(", decompressed offset " + std::to_string(bytes)));
    CHECK(compressed_offset_of(input.error) <= *input.compressed_bytes);
    CHECK((compressed_offset_of(input.error) >= longest->verified_packed || wrong_size));
    CHECK(*input.compressed_bytes <= packed_bytes);
    if (!wrong_size) CHECK(frame_of(input.error) == frame_of(longest->error));
  }

  static std::uint64_t compressed_offset_of(const std::string& error) {
    constexpr std::string_view before = " at compressed offset ";
    return std::stoull(error.substr(error.find(before) + before.size()));
  }

  // "frame 3" of "frame 3 is damaged (...".
  static std::string frame_of(const std::string& error) { return error.substr(0, error.find(" is ")); }
};

// Runs the archive with random buffers, from a file or from a pipe.
void check_like_in_order(const io::format& format, const test::byte_vector& packed, std::uint32_t seed,
                         std::size_t plain_bound) {
  CAPTURE(seed);
  test::dice random(seed);
  const test::temporary_folder folder;
  std::optional<test::piped_archive> piped;
  if (random(0, 7) == 0) piped.emplace(packed);
  const std::string name = piped ? piped->name() : folder.file("a", test::characters(packed));
  plan planned = test::random_plan(random, {name}, random.one_of({1U, 40U, 1000U}));
  planned.forced_format = &format;
  const outcome finished = run(planned, test::shuffled(seed));
  expectation(planned, packed, plain_bound).check(finished.result.inputs[0]);
  check_totals(finished.result);
}

// Frames with and without checksum and content size, empty frames and skippable frames, with little text.
test::decoder_sample small_archive() {
  return test::zstd_sample_builder("small")
      .frame(test::sample_text(70))
      .frame({})
      .frame(test::noise(9), {.checksum = false, .content_size = false})
      .skippable(3)
      .frame(test::byte_vector(300, std::byte{'='}))
      .frame(test::sample_text(120, 2), {.content_size = false})
      .skippable(0)
      .build();
}

// Blocks whose size is in the header, and members without it, with little text.
test::decoder_sample small_gzip_archive() {
  return test::gzip_sample_builder("small")
      .block(test::sample_text(70))
      .block({})
      .block(test::noise(9))
      .block(test::byte_vector(300, std::byte{'='}))
      .member(test::sample_text(120, 2), {.name = "name", .header_checksum = true})
      .padding(3)
      .member({})
      .build();
}

// Streams of blocks with and without their sizes, without blocks, and with padding.
test::decoder_sample small_xz_archive() {
  return test::packed_sample_builder("small")
      .xz(test::sample_text(100), {.block_bytes = 40, .dictionary = 4096, .states_sizes = true})
      .padding_in_fours(4)
      .xz({})
      .xz(test::noise(9), {.check = LZMA_CHECK_CRC64, .dictionary = 4096, .states_sizes = true})
      .xz(test::sample_text(120, 2), {.block_bytes = 70, .dictionary = 4096})
      .build();
}

test::decoder_sample small_lzip_archive() {
  return test::packed_sample_builder("small")
      .lzip(test::sample_text(70))
      .lzip({})
      .lzip(test::noise(9))
      .lzip(test::byte_vector(300, std::byte{'='}))
      .build();
}

// Calls `check` with each format and an archive of that format.
void for_all_formats(const std::function<void(const io::format&, const test::decoder_sample&)>& check) {
  check(zstd(), small_archive());
  check(gzip(), small_gzip_archive());
  check(*io::format_named("xz"), small_xz_archive());
  check(*io::format_named("lzip"), small_lzip_archive());
}

// A device that decodes nothing.
run_hooks rejecting_device(unsigned seed) {
  return {.make_engine = [seed](std::string_view, const gpu::engine_request& request) {
    return gpu::engine_choice{
        .taken = std::make_unique<test::shuffling_device>(
            request.counted, test::shuffling_decoder::settings{.seed = seed, .rejects_one_of = 1}, seed),
        .reason = {}};
  }};
}

}  // namespace

TEST_CASE("for archives of any frames the report equals that of one decoder that decodes in order") {
  test::watchdog watchdog;
  for (std::uint32_t seed = 1; seed <= 600 / test::fewer; ++seed) {
    watchdog.moved(seed);
    test::dice random(seed);
    const test::decoder_sample archive = test::random_archive(random, random.one_of({1U, 40U, 1000U}), 20);
    check_like_in_order(zstd(), archive.packed, seed, archive.plain.size());
  }
}

TEST_CASE("for an archive that is truncated at any byte the report equals that of one decoder") {
  test::watchdog watchdog;
  for_all_formats([&](const io::format& format, const test::decoder_sample& archive) {
    for (std::size_t length = 0; length < archive.packed.size(); length += test::fewer) {
      for (std::uint32_t again = 0; again < 3; ++again) {
        watchdog.moved(again);
        CAPTURE(length);
        test::byte_vector cut = archive.packed;
        cut.resize(length);
        check_like_in_order(format, cut, again * 1000 + static_cast<std::uint32_t>(length), archive.plain.size());
      }
    }
  });
}

TEST_CASE("for an archive that is damaged at any byte the report equals that of one decoder") {
  constexpr std::size_t bound = std::size_t{1} << 18U;  // one damaged block of zstd may decode to 128 KiB
  test::watchdog watchdog;
  for_all_formats([&](const io::format& format, const test::decoder_sample& archive) {
    for (std::size_t place = 0; place < archive.packed.size(); place += test::fewer) {
      for (const unsigned change : {1U << (place % 8), 0x80U >> (place % 8), 0xFFU}) {
        watchdog.moved(change);
        CAPTURE(place);
        CAPTURE(change);
        test::byte_vector damaged = archive.packed;
        damaged[place] ^= static_cast<std::byte>(change);
        check_like_in_order(format, damaged, static_cast<std::uint32_t>(place * 256 + change), bound);
      }
    }
  });
}

TEST_CASE("blocks of xz and members of lzip are decoded by any number of decoders, with the same counts") {
  const test::byte_vector text = test::sample_text(300'000);
  const auto xz = test::packed_sample_builder("xz")
                      .xz(text, {.block_bytes = 7000, .states_sizes = true})
                      .padding_in_fours(8)
                      .xz(test::noise(30'000), {.check = LZMA_CHECK_SHA256, .block_bytes = 999, .states_sizes = true})
                      .build();
  test::packed_sample_builder members("lzip");
  for (std::size_t at = 0; at < text.size(); at += 7000) {
    members.lzip({text.begin() + static_cast<std::ptrdiff_t>(at),
                  text.begin() + static_cast<std::ptrdiff_t>(std::min(at + 7000, text.size()))});
  }
  const test::decoder_sample lzip = members.build();
  test::watchdog watchdog;
  const test::temporary_folder folder;
  for (const test::decoder_sample* sample : {&xz, &lzip}) {
    const std::string name = folder.file(sample->name, test::characters(sample->packed));
    for (const std::uint32_t decoders : {1U, 2U, 3U, 16U}) {
      watchdog.moved(decoders);
      plan planned = test::byte_plan({name}, 5000, decoders + 1, decoders);
      planned.buffers.decoders = decoders;
      planned.buffers.group_bytes = 1000;
      planned.stats = true;
      const outcome finished = run(planned, test::shuffled(decoders));
      CHECK(finished.result.complete);
      CHECK(finished.result.verified.counts == test::counts_of(sample->plain));
      REQUIRE(finished.stats);
      CHECK(finished.stats->decompression.find("split: ") != std::string::npos);
    }
  }
}

TEST_CASE(
    "one frame of bzip2, gzip, lz4 with independent blocks or zstd, and xz without sizes, is decoded in parts by "
    "several "
    "threads") {
  const test::byte_vector text = test::noise(3'000'000);
  const auto bzip2 = test::packed_sample_builder("bzip2").bzip2(text, 1).build();
  const auto gzip = test::gzip_sample_builder("gzip").member(text).build();
  const auto xz = test::packed_sample_builder("xz").xz(text, {.block_bytes = 250'000}).build();
  // blocks of 2,000 bytes that are compressed, and stored ones
  test::byte_vector mixed = text;
  for (std::size_t at = 0; at < mixed.size(); at += 3000)
    std::fill_n(mixed.begin() + static_cast<std::ptrdiff_t>(at), 500, std::byte{'x'});
  const auto lz4 = test::lz4_sample_builder("lz4").frame(mixed, {.block_checksums = true, .flush_bytes = 2000}).build();
  const auto linked = test::lz4_sample_builder("linked lz4").frame(text, {.linked_blocks = true}).build();
  const auto zstd = test::zstd_sample_builder("zstd").frame(mixed, {.content_size = false}).build();
  test::watchdog watchdog;
  const test::temporary_folder folder;
  for (const test::decoder_sample* sample : {&bzip2, &gzip, &lz4, &linked, &xz, &zstd}) {
    const std::string name = folder.file(sample->name, test::characters(sample->packed));
    for (const std::uint32_t threads : {1U, 2U, 4U}) {
      CAPTURE(sample->name);
      CAPTURE(threads);
      watchdog.moved(threads);
      plan planned = test::byte_plan({name}, 1U << 16U, threads + 4, threads);
      planned.stats = true;
      const outcome finished = run(planned, test::shuffled(threads));
      CHECK(finished.result.complete);
      CHECK(finished.result.verified.counts == test::counts_of(sample->plain));
      REQUIRE(finished.stats);
      const bool in_parts = sample != &linked && threads >= 2;
      CHECK((finished.stats->decompression.find("in parts") != std::string::npos) == in_parts);
    }
  }
}

TEST_CASE(
    "every snapshot of archives that are decoded side by side is exactly of a prefix of each, and the prefixes grow") {
  test::watchdog watchdog;
  std::uint64_t snapshots = 0;
  for (std::uint32_t seed = 1; seed <= 32 / test::fewer; ++seed) {
    watchdog.moved(seed);
    CAPTURE(seed);
    test::dice random(seed);
    const archives all(random, random(1, 4), 3000, 60);
    plan planned = test::random_plan(random, all.names, 3000);
    if (seed % 2 == 0) {
      planned.snapshot_every = std::uint64_t{64} << 10U;
    } else {
      planned.snapshot_every = std::chrono::milliseconds(1);
    }
    std::vector<std::uint64_t> before(all.samples.size());
    run_hooks hooks = test::shuffled(seed);
    hooks.snapshot = [&](const run_counts& counts) {
      ++snapshots;
      all.check_prefixes(counts);
      for (std::size_t i = 0; i < counts.inputs.size(); ++i) {
        const std::uint64_t bytes = counts.inputs[i].verified.bytes() + counts.inputs[i].unverified.bytes();
        CHECK(bytes >= before[i]);
        before[i] = bytes;
      }
    };
    const outcome finished = run(planned, hooks);
    CHECK(finished.result.complete);
    for (std::size_t i = 0; i < all.samples.size(); ++i) {
      CHECK(finished.result.inputs[i].verified.counts == test::counts_of(all.samples[i].plain));
    }
  }
  CHECK(snapshots > 30 / test::fewer);
}

TEST_CASE("a stop during a run leaves a prefix of every archive, and the report says where reading ended") {
  test::watchdog watchdog;
  std::uint32_t in_the_middle = 0;
  for (std::uint32_t seed = 1; seed <= 96 / test::fewer; ++seed) {
    watchdog.moved(seed);
    CAPTURE(seed);
    test::dice random(seed);
    const archives all(random, random(1, 4), 3000, 60);
    plan planned = test::random_plan(random, all.names, 3000);
    planned.snapshot_every = std::uint64_t{random(1, 200000)};
    run_hooks hooks = test::shuffled(seed);
    std::stop_source stop;
    hooks.stop = stop.get_token();
    hooks.snapshot = [&](const run_counts&) { stop.request_stop(); };
    const outcome finished = run(planned, hooks);
    all.check_prefixes(finished.result);
    for (std::size_t i = 0; i < all.samples.size(); ++i) {
      const input_report& input = finished.result.inputs[i];
      CHECK(input.complete == input.error.empty());
      CHECK((input.complete ? input.verified.bytes() == all.samples[i].plain.size() : finished.is_stopped));
    }
    if (!finished.result.complete) ++in_the_middle;
  }
  CHECK(in_the_middle > 10 / test::fewer);
}

TEST_CASE(
    "an engine that fails at any chunk leaves a prefix of every archive, and the report says where one of them ends") {
  test::watchdog watchdog;
  for (std::uint32_t seed = 1; seed <= 16 / test::fewer; ++seed) {
    test::dice random(seed);
    const archives all(random, random(1, 3), 1000, 8);
    const plan planned = test::random_plan(random, all.names, 1000);
    for (std::uint64_t failing = 0;; ++failing) {
      watchdog.moved(seed);
      CAPTURE(seed);
      CAPTURE(failing);
      const outcome finished = run(planned, test::shuffled(seed, failing));
      all.check_prefixes(finished.result);
      if (finished.engine_failure.empty()) {
        CHECK(finished.result.complete);
        break;
      }
      CHECK_FALSE(finished.result.complete);
      CHECK(std::ranges::any_of(finished.result.inputs, [&](const input_report& each) {
        const std::uint64_t bytes = each.verified.bytes() + each.unverified.bytes();
        return finished.engine_failure ==
               each.name + ": not counted from offset " + std::to_string(bytes) + " on: the device fell off the bus";
      }));
    }
  }
}

TEST_CASE("inputs that end early return their memory for the device to the inputs that wait for it") {
  constexpr std::size_t inputs = 100;
  test::watchdog watchdog;
  const test::temporary_folder folder;
  const test::decoder_sample two =
      test::zstd_sample_builder("two").frame(test::noise(3900)).frame(test::noise(3900)).build();
  const std::string name = folder.file("two.zst", test::characters(two.packed));
  for (unsigned seed = 1; seed <= 40 / test::fewer; ++seed) {
    watchdog.moved(seed);
    CAPTURE(seed);
    plan planned = test::byte_plan(std::vector<std::string>(inputs, name), 1000, 3, 3);
    planned.max_output = 100;
    buffer_plan& buffers = planned.buffers;
    buffers.decoders = 2;
    buffers.open_inputs = inputs;
    buffers.block_bytes = 500;
    buffers.blocks = 2;
    buffers.group_bytes = 1;
    planned.decodes_on_device = true;
    buffers.device_slot_bytes = 1024;
    buffers.device_slots = 4 * device_frames::max_share_of_group;
    buffers.more_device_slots = 8;
    buffers.device_group_bytes = 1;
    const outcome finished = run(planned, rejecting_device(seed));
    CHECK(finished.result.inputs.size() == inputs);
    for (const input_report& each : finished.result.inputs) CHECK(each.error.find("--max-output") != std::string::npos);
  }
}

TEST_CASE(
    "a device decodes frames after a skippable frame that may hold a dictionary only if it is not the first frame") {
  constexpr unsigned of_dictionaries = 13;  // 0x184D2A5D
  const test::byte_vector text = test::sample_text(3000);
  const test::temporary_folder folder;
  for (const bool is_first : {false, true}) {
    CAPTURE(is_first);
    test::zstd_sample_builder builder("frames");
    if (!is_first) builder.frame(text);
    const test::decoder_sample frames = builder.skippable(20, of_dictionaries).frame(text).frame(text).build();
    plan planned = test::byte_plan({folder.file("a.zst", test::characters(frames.packed))}, 1000, 3, 2);
    test::dice random(1);
    test::decode_on_device(random, planned);
    planned.stats = true;
    buffer_plan& buffers = planned.buffers;
    buffers.device_slot_bytes = 1U << 15U;
    buffers.device_slots = device_frames::max_share_of_group;
    buffers.group_bytes = buffers.device_group_bytes = 1U << 20U;  // one group
    const outcome finished = run(planned, test::shuffled({.seed = 1}));
    CHECK(finished.result.complete);
    CHECK(finished.result.verified.counts == test::counts_of(frames.plain));
    CHECK(finished.stats.value().counting.decoded.groups == (is_first ? 0 : 1));
  }
}

TEST_CASE(
    "several threads copy a long frame to page-locked memory, or it is read there if slots and blocks have the same "
    "size; what exceeds the share of a group is the host's") {
  constexpr std::size_t mib = std::size_t{1} << 20U;
  const test::temporary_folder folder;
  for (const auto& [bytes, slot_bytes] :
       {std::pair{6 * mib, mib / 2}, {12 * mib, mib / 2}, {6 * mib, mib / 4}, {12 * mib, mib / 4}}) {
    CAPTURE(bytes);
    CAPTURE(slot_bytes);
    const test::decoder_sample frame = test::zstd_sample_builder("long").frame(test::noise(bytes)).build();
    plan planned = test::byte_plan({folder.file("long.zst", test::characters(frame.packed))}, mib, 3, 2);
    test::dice random(1);
    test::decode_on_device(random, planned);
    planned.stats = true;
    buffer_plan& buffers = planned.buffers;
    buffers.block_bytes = mib / 4;
    buffers.blocks = 4;
    buffers.extra_blocks = 8;
    buffers.device_slot_bytes = static_cast<std::uint32_t>(slot_bytes);
    buffers.device_slots = static_cast<std::uint32_t>(8 * mib / slot_bytes) * device_frames::max_share_of_long_group;
    buffers.more_device_slots = 4;
    const outcome finished = run(
        planned,
        test::shuffled(
            {.most = {
                 .compressed_bytes = 16 * mib, .text_bytes = 16 * mib, .frames = 10, .blocks = 1000, .slices = 10}}));
    CHECK(finished.result.complete);
    CHECK(finished.result.verified.counts == test::counts_of(frame.plain));
    CHECK(finished.stats.value().counting.decoded.groups == (bytes == 6 * mib ? 1 : 0));
  }
}

TEST_CASE("while a device is made ready an eighth of the decoders is left unused, and the counts are the same") {
  constexpr std::uint32_t decoders = 16;
  const test::temporary_folder folder;
  test::zstd_sample_builder builder("many");
  for (std::uint32_t i = 0; i < 400; ++i) builder.frame(test::noise(20'000, i));
  const test::decoder_sample many = builder.build();
  plan planned =
      test::byte_plan({folder.file("many.zst", test::characters(many.packed))}, 1000, decoders + 1, decoders);
  planned.stats = true;
  planned.buffers.decoders = decoders;
  planned.buffers.group_bytes = 1;
  test::dice random(1);
  test::decode_on_device(random, planned);
  const outcome finished = run(planned, test::shuffled({.made_after = 1U << 30U}));
  CHECK(finished.result.verified.counts == test::counts_of(many.plain));
  const auto& stages = finished.stats->stages;
  const auto decompress = std::ranges::find(stages, "decompress", &stage_stats::name);
  REQUIRE(decompress != stages.end());
  CHECK(decompress->workers > decoders / 2);
  CHECK(decompress->workers <= decoders - decoders / 8);
}

namespace gpuhist::pipeline {
namespace {

constexpr std::uint32_t chunk_bytes = 1000;

// The text of the frames that end at or before `most`.
std::uint64_t whole_frames(const test::decoder_sample& archive, std::uint64_t most) {
  std::uint64_t bytes = 0;
  for (const auto& end : archive.ends) {
    if (end.plain <= most) bytes = std::max<std::uint64_t>(bytes, end.plain);
  }
  return bytes;
}

void check_limited(const input_report& input, const test::decoder_sample& archive, std::uint64_t most) {
  const std::span<const std::byte> text = std::span(archive.plain);
  const std::uint64_t counted = std::min<std::uint64_t>(most, text.size());
  const std::uint64_t verified = whole_frames(archive, most);
  CHECK(input.complete == (text.size() <= most));
  CHECK((input.error.find("--max-output") != std::string::npos) == (text.size() > most));
  CHECK(input.verified.counts == test::counts_of(text.first(verified)));
  CHECK(input.unverified.counts == test::counts_of(text.subspan(verified, counted - verified)));
}

TEST_CASE("archives with too much text are counted up to the maximum, however many frames are decoded at once") {
  test::watchdog watchdog;
  std::uint32_t refused = 0;
  for (std::uint32_t seed = 1; seed <= 400 / test::fewer; ++seed) {
    watchdog.moved(seed);
    CAPTURE(seed);
    test::dice random(seed);
    const test::temporary_folder folder;
    std::vector<test::decoder_sample> samples;
    std::vector<std::string> names;
    for (std::uint32_t number = random(1, 3); number > 0; --number) {
      samples.push_back(test::random_archive(random, chunk_bytes, 60));
      names.push_back(folder.file(std::to_string(number), test::characters(samples.back().packed)));
    }
    command::plan planned = test::random_plan(random, names, chunk_bytes);
    planned.max_output = random(1, static_cast<std::uint32_t>(samples.front().plain.size() + 1));
    CAPTURE(*planned.max_output);
    const outcome finished = run(planned, test::shuffled(seed));
    REQUIRE(finished.result.inputs.size() == samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) {
      CAPTURE(i);
      check_limited(finished.result.inputs[i], samples[i], *planned.max_output);
      if (samples[i].plain.size() > *planned.max_output) ++refused;
    }
  }
  CHECK(refused > 100 / test::fewer);
}

TEST_CASE("an archive in a pipe is counted up to the maximum, too") {
  test::watchdog watchdog;
  for (std::uint32_t seed = 1; seed <= 60 / test::fewer; ++seed) {
    watchdog.moved(seed);
    CAPTURE(seed);
    test::dice random(seed);
    const test::decoder_sample archive = test::random_archive(random, chunk_bytes, 40);
    test::piped_archive pipe(archive.packed);
    command::plan planned = test::random_plan(random, {pipe.name()}, chunk_bytes);
    planned.max_output = random(1, static_cast<std::uint32_t>(archive.plain.size() + 1));
    const outcome finished = run(planned, test::shuffled(seed));
    check_limited(finished.result.inputs[0], archive, *planned.max_output);
  }
}

}  // namespace
}  // namespace gpuhist::pipeline
