// Repacking: whatever the inputs are, the archive holds their text in independent frames. It is verified first, and
// gets its name only if it is right.
#include "command/repack/repack.hpp"

#include "config/usage_error.hpp"
#include "report/output/destination.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/pipeline/destination_files.hpp"
#include "tests/support/byte_strings.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/texts.hpp"

#include <doctest/doctest.h>
#include <zstd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

using namespace gpuhist;
using namespace gpuhist::command;
using gpuhist::test::byte_vector;
using gpuhist::test::content;
using gpuhist::test::holds;
using gpuhist::test::sample_text;
using gpuhist::test::string_of;
using gpuhist::test::zstd_frame_of;
using folder = gpuhist::test::temporary_folder;
namespace fs = std::filesystem;

namespace {

std::string unpacked(std::string_view packed, std::size_t room) {
  std::string text(room, '\0');
  const std::size_t length = ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size());
  REQUIRE_FALSE(ZSTD_isError(length));
  text.resize(length);
  return text;
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8U | static_cast<unsigned char>(bytes.at(at + i));
  return value;
}

/// The frames of an archive according to its seek table, which is read from the end, as the seekable format specifies.
std::vector<std::string> frames_by_table(const std::string& archive) {
  const std::size_t footer = archive.size() - 9;
  REQUIRE(number_at(archive, footer + 5) == 0x8F92EAB1);
  REQUIRE(static_cast<unsigned char>(archive[footer + 4]) == 0x80);
  const std::size_t frames = number_at(archive, footer);
  const std::size_t table = footer - 12 * frames;
  REQUIRE(number_at(archive, table - 8) == 0x184D2A5E);
  REQUIRE(number_at(archive, table - 4) == 12 * frames + 9);
  std::vector<std::string> texts;
  std::size_t at = 0;
  for (std::size_t entry = table; entry < footer; entry += 12) {
    const std::string frame = archive.substr(at, number_at(archive, entry));
    texts.push_back(unpacked(frame, number_at(archive, entry + 4) + 1U));
    CHECK(texts.back().size() == number_at(archive, entry + 4));
    CHECK(number_at(frame, frame.size() - 4) == number_at(archive, entry + 8));
    at += frame.size();
  }
  CHECK(at == table - 8);
  return texts;
}

repack_plan plan_of(std::vector<std::string> inputs, const std::string& output, std::size_t frame_bytes,
                    unsigned threads = 2) {
  config::options typed;
  typed.what = config::command::repack;
  typed.inputs = std::move(inputs);
  typed.output = output;
  typed.frame_size = frame_bytes;
  typed.run.counting.threads = threads;
  return make_repack_plan(typed);
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "(no error)";
}

}  // namespace

TEST_CASE("an archive holds the text in full frames, except for the last, where its table says") {
  constexpr std::size_t frame = 1000;
  for (const unsigned threads : {1U, 3U}) {
    for (const std::size_t size : {0U, 1U, 999U, 1000U, 1001U, 2000U, 12'345U, 100'000U}) {
      CAPTURE(size);
      const folder directory;
      const std::string text = string_of(sample_text(size));
      const repacked finished = repack(plan_of({directory.file("text", text)}, directory / "out", frame, threads));
      CHECK(finished.complete);
      const std::string archive = content(directory / "out");
      CHECK(unpacked(archive, size + 1) == text);
      const std::vector<std::string> frames = frames_by_table(archive);
      CHECK(frames.size() == std::max<std::size_t>(1, (size + frame - 1) / frame));
      for (std::size_t i = 0; i < frames.size(); ++i) CHECK(frames[i] == text.substr(i * frame, frame));
      CHECK(finished.frames == frames.size());
      CHECK(finished.input_bytes == size);
      CHECK(finished.text_bytes == size);
      CHECK(finished.output_bytes == archive.size());
      CHECK(directory.entries() == 2);
    }
  }
}

TEST_CASE("the number of threads makes no difference to the archive") {
  const folder directory;
  const std::string text = directory.file("text", string_of(sample_text(300'000)));
  repack(plan_of({text}, directory / "one", 4096, 1));
  for (const unsigned threads : {2U, 5U}) {
    repack(plan_of({text}, directory / std::to_string(threads), 4096, threads));
    CHECK(content(directory / std::to_string(threads)) == content(directory / "one"));
  }
}

TEST_CASE("text, archives of any frames and empty files are written in sequence") {
  const folder directory;
  const byte_vector first = sample_text(700'000, 1);
  const byte_vector second = sample_text(5000, 2);
  byte_vector packed = zstd_frame_of(first, {.checksum = false, .content_size = false});
  for (const byte_vector& more : {gpuhist::test::skippable_frame(100), zstd_frame_of({}), zstd_frame_of(second)}) {
    packed.insert(packed.end(), more.begin(), more.end());
  }
  const std::vector<std::string> inputs = {directory.file("a", string_of(second)), directory.file("empty", ""),
                                           directory.file("b.zst", string_of(packed)), directory.file("c", "end\n")};
  const repacked finished = repack(plan_of(inputs, directory / "out", 64 << 10));
  const std::string expected = string_of(second) + string_of(first) + string_of(second) + "end\n";
  CHECK(unpacked(content(directory / "out"), 1 << 20) == expected);
  CHECK(finished.text_bytes == expected.size());
  CHECK(finished.input_bytes == second.size() + packed.size() + 4);
}

TEST_CASE("an input that is damaged, incomplete, missing or of another format than its name leaves no archive") {
  const folder directory;
  const std::string packed = string_of(zstd_frame_of(sample_text(400'000)));
  std::string damaged = packed;
  damaged[packed.size() / 2] ^= 0x10;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {directory.file("damaged.zst", damaged), "damaged.zst: frame 1 is damaged ("},
      {directory.file("short.zst", packed.substr(0, packed.size() - 3)), "short.zst: frame 1 ends early: "},
      {directory.file("long.zst", packed + "x"), "long.zst: trailing data that is not zstd where frame 2 would begin"},
      {directory.file("binary.zst", "te\1t"), "binary.zst: is named .zst but does not hold zstd data"},
      {directory / "nowhere", "nowhere: No such file or directory"},
      {directory.file("mail.gz", "\x1f\x8b x"), "mail.gz: "},
  };
  const std::string good = directory.file("good", string_of(sample_text(10'000)));
  const auto before = directory.entries();
  for (const auto& [bad, message] : cases) {
    for (const std::vector<std::string>& inputs : {std::vector{bad}, std::vector{good, bad, good}}) {
      const std::string error = error_of([&] { repack(plan_of(inputs, directory / "out", 3000)); });
      CAPTURE(error);
      CHECK(holds(error, message));
      CHECK(directory.entries() == before);
    }
  }
}

TEST_CASE("no change of a written byte that changes the text remains undetected") {
  const folder directory;
  const std::string text = directory.file("text", string_of(sample_text(3000)));
  repack(plan_of({text}, directory / "good", 1000));
  const std::size_t size = content(directory / "good").size();
  std::size_t harmless = 0;
  for (std::size_t at = 0; at <= size; ++at) {
    CAPTURE(at);
    const auto damage = [&](const fs::path& file) {
      std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
      stream.seekg(static_cast<std::streamoff>(at));
      const char old = at < size ? static_cast<char>(stream.get()) : '\0';  // past the end: one more byte
      stream.seekp(static_cast<std::streamoff>(at));
      stream.put(static_cast<char>(old ^ 0x04));
    };
    const std::string error =
        error_of([&] { repack(plan_of({text}, directory / "bad", 1000), {.before_verification = damage}); });
    if (error == "(no error)") {  // a few bits of a frame have no meaning
      ++harmless;
      CHECK(unpacked(content(directory / "bad"), 4000) == content(text));
      fs::remove(directory / "bad");
    } else {
      CHECK(holds(error, "bad: the archive differs from its input: "));
      CHECK(holds(error, "; the output was not kept"));
    }
    REQUIRE(directory.entries() == 2);
  }
  CHECK(harmless * 50 < size);
}

TEST_CASE("a run that fails while much is still to be read and compressed ends") {
  const folder directory;
  byte_vector packed = zstd_frame_of(test::noise(100'000));
  packed[50'000] ^= std::byte{1};
  packed.resize(8'000'000);  // more than is read ahead
  const std::string damaged = directory.file("damaged.zst", string_of(packed));
  const std::string good = directory.file("good", string_of(test::noise(8'000'000)));
  for (const std::vector<std::string>& inputs : {std::vector{damaged}, std::vector{good, damaged}}) {
    CHECK(holds(error_of([&] { repack(plan_of(inputs, directory / "out", 100'000)); }),
                "damaged.zst: frame 1 is damaged"));
    CHECK(directory.entries() == 2);
  }
}

TEST_CASE("frames that were lost or swapped on the disk are detected") {
  const folder directory;
  const std::string text = directory.file("text", string_of(test::noise(3000)));
  const auto swap_frames = [](const fs::path& file) {  // of one size, because noise is stored uncompressed
    std::string archive = content(file);
    const std::size_t frame = number_at(archive, archive.size() - 9 - 3 * 12);
    std::swap_ranges(archive.begin(), archive.begin() + static_cast<std::ptrdiff_t>(frame),
                     archive.begin() + static_cast<std::ptrdiff_t>(frame));
    std::ofstream(file, std::ios::binary) << archive;
  };
  const auto cut = [](const fs::path& file) { fs::resize_file(file, 1500); };
  const auto empty = [](const fs::path& file) { fs::resize_file(file, 0); };
  for (const std::function<void(const fs::path&)>& damage :
       {std::function<void(const fs::path&)>(swap_frames), {cut}, {empty}}) {
    const std::string error =
        error_of([&] { repack(plan_of({text}, directory / "bad", 1000), {.before_verification = damage}); });
    CAPTURE(error);
    CHECK(holds(error, "the archive differs from its input: frame "));
    CHECK(directory.entries() == 1);
  }
}

TEST_CASE("an existing file is an error before anything is read, and stays; --force replaces it at the end") {
  const folder directory;
  const std::string out = directory.file("out", "old");
  const std::string text = directory.file("text", "text");
  CHECK_THROWS_WITH_AS(plan_of({text}, out, 1000),
                       ("--output: " + out + " already exists; give another name, or --force to replace it").c_str(),
                       config::usage_error);
  repack_plan forced = plan_of({text}, directory / "new", 1000);
  forced.output = out;
  forced.replace = true;
  repack(forced, {.before_verification = [&](const fs::path&) { CHECK(content(out) == "old"); }});
  CHECK(unpacked(content(out), 100) == "text");
}

TEST_CASE("a file that was created while the archive was written is not overwritten") {
  const folder directory;
  const std::string text = directory.file("text", "text");
  const std::string out = directory / "out";
  const std::string error = error_of([&] {
    repack(plan_of({text}, out, 1000),
           {.before_verification = [&](const fs::path&) { (void)directory.file("out", "new"); }});
  });
  CHECK(error == "cannot write " + out + ": File exists");
  CHECK(content(out) == "new");
  CHECK(directory.entries() == 2);
}

TEST_CASE("an archive can replace its own source") {
  const folder directory;
  const std::string text = string_of(sample_text(100'000));
  const std::string path = directory.file("a.zst", string_of(zstd_frame_of(sample_text(100'000))));
  repack_plan planned = plan_of({path}, directory / "new", 10'000);
  planned.output = path;
  planned.replace = true;
  repack(planned);
  CHECK(unpacked(content(path), text.size() + 1) == text);
  CHECK(frames_by_table(content(path)).size() == 10);
}

TEST_CASE("a target that is not a regular file is refused") {
  const folder directory;
  const std::string no_file = " is not a regular file";
  for (const auto& [output, cause] :
       {std::pair(std::string("/dev/null"), no_file), {"fd:1", " names a descriptor"}, {directory / ".", no_file}}) {
    CHECK_THROWS_WITH_AS(plan_of({"x"}, output, 1000),
                         ("--output: " + output + cause +
                          ", and the archive is read again before it gets its name; give the name of a file")
                             .c_str(),
                         config::usage_error);
  }
  config::options typed;
  CHECK_THROWS_WITH_AS(make_repack_plan(typed), "--output: the name of the archive is missing; give --output FILE",
                       config::usage_error);
}

TEST_CASE("fewer threads are used if the memory limit has no room for more; room for none is an error") {
  const folder directory;
  config::options typed;
  typed.output = directory / "out";
  typed.run.counting.threads = 64;
  typed.run.counting.memory_limit = std::uint64_t{1} << 30U;
  const repack_plan some = make_repack_plan(typed);
  CHECK(some.threads > 4);
  CHECK(some.threads < 64);
  CHECK(some.decoding.window_bytes >= typed.run.counting.memory_limit / 2);
  typed.level = 19;
  CHECK(make_repack_plan(typed).threads < some.threads);
  typed.frame_size = std::uint64_t{1} << 30U;
  const std::string error = error_of([&] { (void)make_repack_plan(typed); });
  CHECK(holds(error, "--memory-limit: one thread with frames of 1 GiB at level 19 and the other buffers need "));
  CHECK(holds(error, "; give a smaller --frame-size, a lower --level or a higher --memory-limit"));
}
