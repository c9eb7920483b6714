// How a log is known again: what is read of its file, and when.
#include "io/log_identity.hpp"

#include "io/failure.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace gpuhist;
using io::log_edge_bytes;
using io::log_file;
using io::log_identity;

namespace {

constexpr std::array<std::size_t, 12> lengths = {0,    1,    100,    4095,   4096,    4097,
                                                 8191, 8192, 65'536, 69'631, 131'073, 200'000};

std::string as_string(const test::byte_vector& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string log_text(std::size_t length, std::uint32_t seed = 1) { return as_string(test::sample_text(length, seed)); }

std::string zstd_of(std::string_view text) { return as_string(test::zstd_frame_of(std::as_bytes(std::span(text)))); }

// In frames of 50,000 bytes.
std::string zstd_frames_of(std::string_view text) {
  std::string made;
  for (std::size_t at = 0; at < text.size(); at += 50'000) made += zstd_of(text.substr(at, 50'000));
  return text.empty() ? zstd_of(text) : made;
}

log_file opened(const std::string& path) { return {path, true, nullptr, {}}; }

log_identity identity_of(const std::string& path) { return opened(path).identity(std::filesystem::file_size(path)); }

// The oracle: the first 4 KiB are the same, and the 4 KiB before the end of the earlier text, which is not empty.
bool is_continued(std::string_view earlier, std::string_view now) {
  if (now.size() < earlier.size()) return false;
  const std::string_view begin = now.substr(0, earlier.size());
  const std::size_t tail = earlier.size() - std::min(earlier.size(), log_edge_bytes);
  return begin.substr(0, log_edge_bytes) == earlier.substr(0, log_edge_bytes) &&
         begin.substr(tail) == earlier.substr(tail);
}

// What may have happened to a log: the same, longer, shorter, another byte at each place that matters, or another log.
std::vector<std::string> later_texts(const std::string& earlier) {
  std::vector<std::string> made = {earlier, earlier + "\n", earlier + log_text(100'000, 2),
                                   log_text(earlier.size(), 3)};
  if (earlier.empty()) return made;
  made.push_back(earlier.substr(0, earlier.size() - 1));
  made.push_back(earlier.substr(1));
  for (const std::size_t at :
       {std::size_t{0}, log_edge_bytes - 1, log_edge_bytes, earlier.size() / 2, earlier.size() - log_edge_bytes - 1,
        earlier.size() - log_edge_bytes, earlier.size() - 1}) {
    if (at >= earlier.size()) continue;  // also below 0
    made.push_back(earlier + "more\n");
    made.back()[at] = static_cast<char>(made.back()[at] ^ 1);
  }
  return made;
}

}  // namespace

TEST_CASE("a log is known again by the ends of its text, under any name, longer, and compressed") {
  const test::temporary_folder folder;
  for (const std::size_t length : lengths) {
    const std::string earlier = log_text(length);
    const log_identity known = identity_of(folder.file("app.log", earlier));
    CHECK(known.bytes == length);
    CHECK(known.is_plain);
    for (const std::string& now : later_texts(earlier)) {
      CAPTURE(length);
      CAPTURE(now.size());
      const bool expected = is_continued(earlier, now);
      if (length > 0) CHECK(opened(folder.file("app.log.1", now)).continues(known) == expected);
      const bool expected_decoded = length > 0 ? expected : now.empty();
      CHECK(opened(folder.file("app.log.1.zst", zstd_of(now))).continues(known) == expected_decoded);
      CHECK(opened(folder.file("app.log.2.zst", zstd_frames_of(now))).continues(known) == expected_decoded);
    }
  }
}

TEST_CASE("of a log that was compressed, the stored bytes are known, and not its text") {
  const test::temporary_folder folder;
  const std::string stored = as_string(test::noise(60'000));
  const std::string first = zstd_of(stored);
  const log_identity known = identity_of(folder.file("app.log.zst", first));
  CHECK_FALSE(known.is_plain);
  CHECK(opened(folder.file("app.log.2.zst", first)).continues(known));
  CHECK(opened(folder.file("longer.zst", first + zstd_of("more"))).continues(known));
  CHECK_FALSE(opened(folder.file("shorter.zst", first.substr(0, first.size() - 1))).continues(known));
  CHECK_FALSE(opened(folder.file("other.zst", zstd_of(stored + "x"))).continues(known));
  CHECK_FALSE(opened(folder.file("app.log", stored)).continues(known));
}

TEST_CASE("two files have the same content for identities if size and both ends are the same") {
  const test::temporary_folder folder;
  for (const std::size_t length : lengths) {
    const std::string text = log_text(length);
    const log_identity known = identity_of(folder.file("a", text));
    for (const std::string& other : later_texts(text)) {
      CAPTURE(length);
      CAPTURE(other.size());
      const bool expected = other.size() == length && is_continued(text, other);
      CHECK(identity_of(folder.file("b", other)).has_ends_of(known) == expected);
    }
  }
}

TEST_CASE("hashes of logs are XXH3 of 128 bits in the canonical order") {
  const test::temporary_folder folder;
  // the hash of no bytes, as in the test vectors of xxHash
  constexpr std::string_view of_nothing("\x99\xaa\x06\xd3\x01\x47\x98\xd8\x60\x01\xc3\x24\x46\x8d\x49\x7f", 16);
  CHECK(identity_of(folder.file("a", "")).head == of_nothing);
  CHECK(identity_of(folder.file("a", "")).tail.empty());
}

TEST_CASE("the head of a text is the same plain and compressed, and there is none of a short or damaged text") {
  const test::temporary_folder folder;
  for (const std::size_t length : lengths) {
    CAPTURE(length);
    const std::string text = log_text(length);
    const std::string plain = opened(folder.file("a", text)).text_head();
    CHECK(plain.empty() == (length < log_edge_bytes));
    CHECK(opened(folder.file("a.zst", zstd_of(text))).text_head() == plain);
    if (length >= log_edge_bytes) CHECK(plain == identity_of(folder.file("b", text.substr(0, log_edge_bytes))).head);
  }
  const std::string cut = zstd_of(log_text(4000)) + zstd_of(log_text(100'000)).substr(0, 100);
  CHECK(opened(folder.file("cut.zst", cut)).text_head().empty());
}

TEST_CASE("the text before damage is compared, and what the damage hides is not known") {
  const test::temporary_folder folder;
  const std::string text = log_text(150'000);
  std::string damaged = zstd_of(text.substr(0, 100'000));
  damaged += std::string("\x28\xb5\x2f\xfd", 4) + std::string(50, '\xff');
  const log_file now = opened(folder.file("app.log.1.zst", damaged));
  CHECK(now.continues(identity_of(folder.file("a", text.substr(0, 100'000)))));
  CHECK_FALSE(now.continues(identity_of(folder.file("b", text.substr(0, 100'001)))));
}

TEST_CASE("an empty log is known by its file, if the file system states when it was made") {
  const test::temporary_folder folder;
  const std::string path = folder.file("app.log", "");
  const log_identity known = identity_of(path);
  std::filesystem::rename(path, folder / "app.log.1");
  CHECK(opened(folder / "app.log.1").continues(known) == (known.born != 0));
  CHECK_FALSE(opened(folder.file("app.log", "")).continues(known));
}

TEST_CASE("a file that became shorter, and a link that is not followed, are errors") {
  const test::temporary_folder folder;
  const std::string path = folder.file("a", log_text(5000));
  CHECK_THROWS_WITH_AS(static_cast<void>(opened(path).identity(5001)),
                       "it was truncated while it was read: it had 5001 bytes, and has 5000", io::input_error);
  std::filesystem::create_symlink(path, folder / "link");
  CHECK(opened(folder / "link").identity(5000).has_ends_of(identity_of(path)));
  CHECK_THROWS_AS(log_file(folder / "link", false, nullptr, {}), io::input_error);
}

TEST_CASE("the head of a log is read once: its format and its identity are of the same bytes") {
  const test::temporary_folder folder;
  const std::string path = folder.file("a.log", "before");
  const log_file before(path, true, nullptr, {});
  std::ofstream(path) << "behind";
  const log_file behind(path, true, nullptr, {});
  CHECK(before.identity(6).head == log_file(folder.file("b.log", "before"), true, nullptr, {}).identity(6).head);
  CHECK(behind.identity(6).head == log_file(folder.file("c.log", "behind"), true, nullptr, {}).identity(6).head);
  CHECK(before.identity(6).head != behind.identity(6).head);
  CHECK(before.identity(3).head == log_file(folder.file("d.log", "bef"), true, nullptr, {}).identity(3).head);
}

TEST_CASE("a log that is shorter than it was has no identity, and the error is that of every truncated file") {
  const test::temporary_folder folder;
  const std::string text(10'000, 'x');
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{7}, std::size_t{4095}, std::size_t{9999}}) {
    CAPTURE(bytes);
    const log_file found(folder.file("a.log", text.substr(0, bytes)), true, nullptr, {});
    try {
      static_cast<void>(found.identity(text.size()));
      FAIL("no error");
    } catch (const io::input_error& error) {
      CHECK(std::string(error.what()) ==
            "it was truncated while it was read: it had 10000 bytes, and has " + std::to_string(bytes));
      CHECK(error.offset() == bytes);
    }
  }
}
