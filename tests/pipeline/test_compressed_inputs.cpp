// Whole runs over archives whose frames are decoded side by side: the report is what one decoder, in order, gives,
// snapshots and what was left in the middle are exactly prefixes.
#include "pipeline/flow/decoding/compressed_inputs.hpp"

#include "tests/io/gzip_samples.hpp"
#include "tests/pipeline/parallel_runs.hpp"

#include <csignal>

using namespace gpuhist;
using namespace gpuhist::pipeline;

namespace {

const io::format& zstd() { return *io::format_named("zstd"); }

const io::format& gzip() { return *io::format_named("gzip"); }

test::byte_counts sum(const test::byte_counts& left, const test::byte_counts& right) {
  test::byte_counts both = left;
  for (std::size_t i = 0; i < both.size(); ++i) both[i] += right[i];
  return both;
}

std::span<const std::byte> first(const test::byte_vector& text, std::uint64_t bytes) {
  return std::span(text).first(bytes);
}

// What is counted of an input is a prefix of its text: of frames that ended, and behind them of one that has not.
void check_prefix(const input_report& said, const test::decoder_sample& archive) {
  const std::uint64_t verified = said.verified.bytes();
  const std::uint64_t bytes = verified + said.unverified.bytes();
  REQUIRE(bytes <= archive.plain.size());
  CHECK(sum(said.verified.counts, said.unverified.counts) == test::counts_of(first(archive.plain, bytes)));
  CHECK(said.verified.counts == test::counts_of(first(archive.plain, verified)));
  const bool at_a_frame = std::ranges::any_of(archive.ends, [&](const auto& end) { return end.plain == verified; });
  CHECK((verified == 0 || at_a_frame));
}

void check_totals(const run_counts& said) {
  test::byte_counts verified(256);
  test::byte_counts unverified(256);
  for (const input_report& each : said.inputs) {
    verified = sum(verified, each.verified.counts);
    unverified = sum(unverified, each.unverified.counts);
  }
  CHECK(said.verified.counts == verified);
  CHECK(said.unverified.counts == unverified);
}

// Several archives of random frames, in files.
struct archives {
  test::temporary_folder folder;
  std::vector<test::decoder_sample> made;
  std::vector<std::string> names;

  archives(test::dice& random, std::uint32_t number, std::uint32_t chunk_bytes, std::uint32_t max_frames) {
    for (std::uint32_t i = 0; i < number; ++i) {
      made.push_back(test::random_archive(random, chunk_bytes, max_frames));
      names.push_back(folder.file(std::to_string(i), test::characters(made.back().packed)));
    }
  }

  void check_prefixes(const run_counts& said) const {
    for (std::size_t i = 0; i < said.inputs.size(); ++i) check_prefix(said.inputs[i], made[i]);  // those opened so far
    check_totals(said);
  }
};

// How much text of a damaged frame comes out before its fault, and where and as what the fault is noticed, may depend
// on how the bytes were cut (decoder_contract); nothing else may. And where a gzip header's size of its block is wrong,
// that is a fault to who relies on it, and nothing to who does not look.
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

  void check(const input_report& said) const {
    const bool wrong_size = said.error.find("sizes in headers") != std::string::npos;
    const test::in_order& one = readings.front();
    if (!wrong_size) {
      CHECK(said.verified.counts == test::counts_of(first(one.text, one.verified)));
      CHECK(said.complete == one.error.empty());
    }
    const bool alike = std::ranges::any_of(readings, [&](const test::in_order& each) {
      return said.error == each.error && said.compressed_bytes == each.consumed &&
             said.unverified.counts == test::counts_of(std::span(each.text).subspan(each.verified));
    });
    const bool is_damage = wrong_size || one.error.find(" is damaged (") != std::string::npos;
    if (!is_damage) {
      CHECK_MESSAGE(alike, said.error, " instead of ", one.error);
    } else if (!alike) {
      check_damage(said, wrong_size);
    }
  }

  // Of the text as far as any decoder alone gets, what is counted is a prefix, and the error says where it ends.
  void check_damage(const input_report& said, bool wrong_size) const {
    const auto longest = std::ranges::max_element(readings, {}, [](const auto& each) { return each.text.size(); });
    const std::uint64_t verified = said.verified.bytes();
    const std::uint64_t bytes = verified + said.unverified.bytes();
    CAPTURE(said.error);
    CAPTURE(longest->error);
    CHECK_FALSE(said.complete);
    REQUIRE(bytes <= longest->text.size());
    CHECK(sum(said.verified.counts, said.unverified.counts) == test::counts_of(first(longest->text, bytes)));
    CHECK(verified <= longest->verified);
    CHECK((wrong_size || verified == longest->verified));
    CHECK(said.error.ends_with(", decompressed offset " + std::to_string(bytes)));
    CHECK(compressed_offset_of(said.error) <= *said.compressed_bytes);
    CHECK((compressed_offset_of(said.error) >= longest->verified_packed || wrong_size));
    CHECK(*said.compressed_bytes <= packed_bytes);
    if (!wrong_size) CHECK(frame_of(said.error) == frame_of(longest->error));
  }

  static std::uint64_t compressed_offset_of(const std::string& error) {
    constexpr std::string_view before = " at compressed offset ";
    return std::stoull(error.substr(error.find(before) + before.size()));
  }

  // "frame 3" of "frame 3 is damaged (...".
  static std::string frame_of(const std::string& error) { return error.substr(0, error.find(" is ")); }
};

// Runs the archive with several buffers, from a file or from a pipe.
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
  const outcome done = run(planned, test::shuffled(seed));
  expectation(planned, packed, plain_bound).check(done.result.inputs[0]);
  check_totals(done.result);
}

// Frames with and without checksum and content size, empty and skippable ones, of little text.
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

// Blocks that say how long they are, and members that do not, of little text.
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

// Every format with an archive of it.
void for_all_formats(const std::function<void(const io::format&, const test::decoder_sample&)>& law) {
  law(zstd(), small_archive());
  law(gzip(), small_gzip_archive());
}

}  // namespace

TEST_CASE("archives of any frames give the report that a decoder alone, in order, gives") {
  test::watchdog watchdog;
  for (std::uint32_t seed = 1; seed <= 600 / test::fewer; ++seed) {
    watchdog.moved(seed);
    test::dice random(seed);
    const test::decoder_sample archive = test::random_archive(random, random.one_of({1U, 40U, 1000U}), 20);
    check_like_in_order(zstd(), archive.packed, seed, archive.plain.size());
  }
}

TEST_CASE("an archive that stops at any byte gives what a decoder alone gives of it") {
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

TEST_CASE("an archive damaged at any byte gives what a decoder alone gives of it") {
  constexpr std::size_t bound = std::size_t{1} << 18U;  // a damaged run may be long: 128 KiB a block of zstd
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

TEST_CASE("every snapshot of archives that are decoded side by side is of exactly a prefix of each, and they grow") {
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
    std::vector<std::uint64_t> before(all.made.size());
    run_hooks hooks = test::shuffled(seed);
    hooks.snapshot = [&](const run_counts& now) {
      ++snapshots;
      all.check_prefixes(now);
      for (std::size_t i = 0; i < now.inputs.size(); ++i) {
        const std::uint64_t bytes = now.inputs[i].verified.bytes() + now.inputs[i].unverified.bytes();
        CHECK(bytes >= before[i]);
        before[i] = bytes;
      }
    };
    const outcome done = run(planned, hooks);
    CHECK(done.result.complete);
    for (std::size_t i = 0; i < all.made.size(); ++i) {
      CHECK(done.result.inputs[i].verified.counts == test::counts_of(all.made[i].plain));
    }
  }
  CHECK(snapshots > 30 / test::fewer);
}

TEST_CASE("a signal in the middle leaves a prefix of every archive, and says where the reading ended") {
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
    hooks.watch_signals = true;
    bool sent = false;
    hooks.snapshot = [&](const run_counts&) {
      if (!std::exchange(sent, true)) ::kill(::getpid(), SIGINT);
    };
    const outcome done = run(planned, hooks);
    CHECK((done.signal == SIGINT || done.signal == 0));
    all.check_prefixes(done.result);
    for (std::size_t i = 0; i < all.made.size(); ++i) {
      const input_report& said = done.result.inputs[i];
      CHECK(said.complete == said.error.empty());
      CHECK((said.complete ? said.verified.bytes() == all.made[i].plain.size() : done.signal == SIGINT));
    }
    if (!done.result.complete) ++in_the_middle;
  }
  CHECK(in_the_middle > 10 / test::fewer);
}

TEST_CASE("an engine that fails at any chunk leaves a prefix of every archive, and says where one of them ends") {
  test::watchdog watchdog;
  for (std::uint32_t seed = 1; seed <= 16 / test::fewer; ++seed) {
    test::dice random(seed);
    const archives all(random, random(1, 3), 1000, 8);
    const plan planned = test::random_plan(random, all.names, 1000);
    for (std::uint64_t failing = 0;; ++failing) {
      watchdog.moved(seed);
      CAPTURE(seed);
      CAPTURE(failing);
      const outcome done = run(planned, test::shuffled(seed, failing));
      all.check_prefixes(done.result);
      if (done.engine_failure.empty()) {
        CHECK(done.result.complete);
        break;
      }
      CHECK_FALSE(done.result.complete);
      CHECK(std::ranges::any_of(done.result.inputs, [&](const input_report& each) {
        const std::uint64_t bytes = each.verified.bytes() + each.unverified.bytes();
        return done.engine_failure ==
               each.name + ": not counted from offset " + std::to_string(bytes) + " on: the device fell off the bus";
      }));
    }
  }
}
