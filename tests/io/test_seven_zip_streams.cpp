// The list of members of 7z archives: streams that can be decoded alone are found, where a writer of this test put
// them; anything else, and any damage, ends the list, and never leads out of the file.
#include "io/archive/seven_zip_streams.hpp"

#include "io/archive/archive_reader.hpp"
#include "io/archive/seven_zip_decoder.hpp"
#include "tests/support/byte_vectors.hpp"
#include "tests/support/campaign.hpp"

#include <doctest/doctest.h>
#include <lzma.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace gpuhist::io {
namespace {

using test::byte_vector;
using test::vector_of;

constexpr std::size_t start_bytes = 32;

class memory_bytes final : public byte_reader {
 public:
  explicit memory_bytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t read(std::span<std::byte> out) override {
    const std::size_t size = std::min(out.size(), bytes_.size() - at_);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), size, out.begin());
    at_ += size;
    return size;
  }
  [[nodiscard]] std::optional<std::uint64_t> seekable_bytes() const override { return bytes_.size(); }
  void seek(std::uint64_t offset) override { at_ = std::min<std::uint64_t>(offset, bytes_.size()); }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

std::vector<seven_zip_stream> streams_of(std::span<const std::byte> archive, std::size_t most_memory = 1U << 20U,
                                         std::uint64_t max_bytes = 1U << 20U) {
  memory_bytes file(archive);
  return read_seven_zip_streams(file, most_memory, max_bytes);
}

std::uint32_t crc_of(std::span<const std::byte> bytes) {
  return lzma_crc32(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), 0);
}

void add(byte_vector& to, std::uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) to.push_back(static_cast<std::byte>(value >> (8 * i)));
}

/// A number of the format, in `follow` bytes after the first one.
void add_number(byte_vector& to, std::uint64_t value, unsigned follow) {
  const unsigned ones = 0xFF00U >> follow & 0xFFU;
  to.push_back(static_cast<std::byte>(ones | (follow < 7 ? value >> (8 * follow) : 0)));
  add(to, value, follow);
}

/// What the writer puts into one folder.
struct stored {
  std::string text;
  std::string method = std::string(1, '\0');  // Copy
  std::size_t texts = 1;
  bool has_crc = true;
  unsigned mode = 0100644;
};

std::string name_of(std::size_t number) { return std::string(1, static_cast<char>('a' + number)); }

/// The files of the texts, and a directory before them.
void add_files(byte_vector& list, std::span<const stored> folders, unsigned follow) {
  byte_vector names(1);
  byte_vector attributes{std::byte{1}, std::byte{0}};
  std::size_t files = 1;
  add(names, '/', 2);
  add(names, 0, 2);
  add(attributes, 0040755U << 16U, 4);
  for (const stored& each : folders) {
    for (std::size_t i = 0; i < each.texts; ++i, ++files) {
      add(names, static_cast<unsigned char>(name_of(files - 1).front()), 2);
      add(names, 0, 2);
      add(attributes, std::uint64_t{each.mode} << 16U, 4);
    }
  }
  add(list, 5, 1);
  add_number(list, files, follow);
  byte_vector empty((files + 7) / 8);
  empty[0] = std::byte{0x80};
  const auto add_property = [&](unsigned type, const byte_vector& content) {
    add(list, type, 1);
    add_number(list, content.size(), std::max(follow, 2U));
    list = test::joined(list, content);
  };
  add_property(14, empty);
  add_property(17, names);
  add_property(25, byte_vector(3));
  add_property(21, attributes);
  add(list, 0, 1);
}

byte_vector list_of(std::span<const stored> folders, unsigned follow) {
  const auto mark = [](byte_vector& to, unsigned value) { add(to, value, 1); };
  byte_vector list;
  mark(list, 1);
  mark(list, 4);
  mark(list, 6);
  add_number(list, 0, follow);
  add_number(list, folders.size(), follow);
  mark(list, 9);
  for (const stored& each : folders) add_number(list, each.text.size(), follow);
  mark(list, 0);
  mark(list, 7);
  mark(list, 11);
  add_number(list, folders.size(), follow);
  mark(list, 0);
  for (const stored& each : folders) {
    mark(list, 1);
    mark(list, static_cast<unsigned>(each.method.size()));
    list = test::joined(list, vector_of(each.method));
  }
  mark(list, 12);
  for (const stored& each : folders) add_number(list, each.text.size(), follow);
  mark(list, 0);
  mark(list, 8);
  mark(list, 13);
  for (const stored& each : folders) add_number(list, each.texts, follow);
  mark(list, 9);
  for (const stored& each : folders) {
    for (std::size_t i = 1; i < each.texts; ++i) add_number(list, 1, follow);
  }
  mark(list, 10);
  mark(list, 0);
  std::vector<bool> defined;
  for (const stored& each : folders) defined.insert(defined.end(), each.texts, each.has_crc);
  byte_vector bits((defined.size() + 7) / 8);
  for (std::size_t i = 0; i < defined.size(); ++i) {
    if (defined[i]) bits[i / 8] |= static_cast<std::byte>(0x80U >> (i % 8));
  }
  list = test::joined(list, bits);
  for (const stored& each : folders) {
    for (std::size_t i = 0; i < each.texts && each.has_crc; ++i) add(list, crc_of(vector_of(each.text)), 4);
  }
  mark(list, 0);
  mark(list, 0);
  add_files(list, folders, follow);
  mark(list, 0);
  return list;
}

/// The start header, `packed`, and the list of an archive.
byte_vector archive_of(const byte_vector& packed, const byte_vector& list) {
  byte_vector rest;
  add(rest, packed.size(), 8);
  add(rest, list.size(), 8);
  add(rest, crc_of(list), 4);
  byte_vector archive = vector_of(std::string_view("7z\xBC\xAF\x27\x1C\0\4", 8));
  add(archive, crc_of(rest), 4);
  return test::joined(test::joined(archive, rest), test::joined(packed, list));
}

byte_vector archive_of(std::span<const stored> folders, unsigned follow = 0) {
  byte_vector packed;
  for (const stored& each : folders) packed = test::joined(packed, vector_of(each.text));
  return archive_of(packed, list_of(folders, follow));
}

/// Has, for the keys of an archive's streams, texts in capital letters: a walk shows which of them it takes.
class capital_texts final : public decoded_members {
 public:
  explicit capital_texts(std::span<const std::byte> archive) {
    for (const seven_zip_stream& each : streams_of(archive)) {
      byte_vector& text = texts_[each.key];
      for (const std::byte letter : archive.subspan(each.offset, each.packed)) {
        text.push_back(static_cast<std::byte>(std::toupper(std::to_integer<int>(letter))));
      }
    }
  }

  std::optional<text> take(std::uint64_t key) override {
    const auto found = texts_.find(key);
    if (found == texts_.end()) return std::nullopt;
    return text{.bytes = found->second, .crc = crc_of(found->second)};
  }

 private:
  std::map<std::uint64_t, byte_vector> texts_{};
};

/// The texts of a walk over an archive, each with its path.
std::string walk(std::span<const std::byte> archive, std::span<const std::byte> ahead_of) {
  memory_bytes file(archive);
  capital_texts ahead(ahead_of);
  archive_reader reader(archive_kind::seven_zip, file, &ahead);
  std::string seen;
  while (const auto path = reader.next()) {
    seen += *path + "=";
    for (auto bytes = reader.read(); !bytes.empty(); bytes = reader.read()) {
      for (const std::byte each : bytes) seen.push_back(static_cast<char>(each));
    }
    seen += " ";
  }
  return seen;
}

const std::vector<stored> three{{.text = "first"}, {.text = "second text"}, {.text = "3"}};

}  // namespace

TEST_CASE("7z streams: each text of an archive that is not solid is found, with numbers of any length") {
  for (unsigned follow = 0; follow <= 8; ++follow) {
    CAPTURE(follow);
    const byte_vector archive = archive_of(three, follow);
    const auto found = streams_of(archive);
    REQUIRE(found.size() == 3);
    CHECK(found[0].offset == start_bytes);
    CHECK(found[1].offset == start_bytes + 5);
    CHECK(found[2].offset == start_bytes + 16);
    CHECK(found[1].bytes == 11);
    CHECK(found[1].packed == 11);
    CHECK(found[1].crc == crc_of(vector_of("second text")));
    for (std::size_t i = 0; i < 3; ++i) CHECK(found[i].key == seven_zip_key(i, name_of(i)));
    memory_bytes file(archive);
    CHECK(list_seven_zip_members(file, 1U << 20U, 1U << 20U).members.size() == 3);
  }
}

TEST_CASE("7z streams: the list ends at a folder of several texts, another method, no checksum, or too many bytes") {
  const auto found = [](const stored& second) {
    return streams_of(archive_of(std::vector<stored>{{.text = "first"}, second, {.text = "third"}}, 2), 1U << 20U, 400)
        .size();
  };
  CHECK(found({.text = "second"}) == 3);
  CHECK(found({.text = "second", .texts = 2}) == 1);
  CHECK(found({.text = "second", .method = "\3\4\1"}) == 1);
  CHECK(found({.text = "second", .has_crc = false}) == 1);
  CHECK(found({.text = std::string(401, 'x')}) == 1);
  CHECK(found({.text = "target", .mode = 0120777}) == 1);
  CHECK(streams_of(archive_of(three), 1000).empty());
}

TEST_CASE("7z streams: an archive with a folder that has no text, or an empty one, has none") {
  for (const stored& odd : {stored{.text = ""}, stored{.text = "unused", .texts = 0}}) {
    for (std::size_t at = 0; at <= three.size(); ++at) {
      std::vector<stored> folders = three;
      folders.insert(folders.begin() + static_cast<std::ptrdiff_t>(at), odd);
      CHECK(streams_of(archive_of(folders)).empty());
    }
  }
}

TEST_CASE("7z streams: the key of a text depends on its number and its name, and increases with the number") {
  for (const std::uint64_t number : {0U, 1U, 70'000U}) {
    CHECK(seven_zip_key(number, "a") != seven_zip_key(number, "b"));
    for (const auto* const name : {"", "a", "another"}) {
      CHECK(seven_zip_key(number, name) > first_seven_zip_key(number));
      CHECK(seven_zip_key(number, name) < first_seven_zip_key(number + 1));
    }
  }
}

TEST_CASE("7z streams: a list with fewer or more files than texts has none") {
  const byte_vector packed = vector_of("firstsecond text3");
  byte_vector list = list_of(three, 0);
  const auto empty = std::ranges::search(list, vector_of(std::string_view("\x0E\xC0\x01\0\x80", 5)));
  REQUIRE(!empty.empty());
  std::byte& bits = *std::prev(empty.end());
  CHECK(streams_of(archive_of(packed, list)).size() == 3);
  bits = std::byte{0};
  CHECK(streams_of(archive_of(packed, list)).empty());
  bits = std::byte{0xC0};
  CHECK(streams_of(archive_of(packed, list)).empty());
}

TEST_CASE("7z streams: a walk takes texts by number and name, up to the first one that the library decodes") {
  const byte_vector archive = archive_of(three);
  CHECK(walk(archive, archive) == "a=FIRST b=SECOND TEXT c=3 ");
  const auto with = [](stored odd, std::size_t at) {
    std::vector<stored> folders = three;
    folders.insert(folders.begin() + static_cast<std::ptrdiff_t>(at), std::move(odd));
    return archive_of(folders);
  };
  const stored link{.text = "target", .mode = 0120777};
  CHECK(walk(with(link, 0), with(link, 0)) == "b=first c=second text d=3 ");
  CHECK(walk(with(link, 1), with(link, 1)) == "a=FIRST c=second text d=3 ");
  CHECK(walk(with(link, 0), archive) == "b=first c=second text d=3 ");
  CHECK(walk(with(link, 1), with({.text = "target"}, 1)) == "a=FIRST c=second text d=3 ");
  CHECK(walk(archive, with({.text = "first"}, 0)) == "a=FIRST b=second text c=3 ");  // another size
  byte_vector renamed = archive;
  const auto name = std::ranges::search(renamed, vector_of(std::string_view("b\0\0\0", 4)));
  REQUIRE(!name.empty());
  *name.begin() = std::byte{'x'};
  const auto list_at = start_bytes + std::string_view("firstsecond text3").size();
  const byte_vector list(renamed.begin() + static_cast<std::ptrdiff_t>(list_at), renamed.end());
  renamed = archive_of(vector_of(std::string_view("firstsecond text3")), list);
  CHECK(walk(renamed, renamed) == "a=FIRST x=SECOND TEXT c=3 ");
  CHECK(walk(renamed, archive) == "a=FIRST x=second text c=3 ");
}

TEST_CASE("7z streams: an archive that is cut, or whose list or start header has a wrong checksum, has none") {
  const byte_vector archive = archive_of(three);
  for (std::size_t length = 0; length < archive.size(); ++length) {
    CHECK(streams_of(std::span(archive).first(length)).empty());
  }
  for (std::size_t bit = 0; bit < 8 * archive.size(); ++bit) {
    const std::size_t at = bit / 8;
    if (at == 6 || at == 7 || (at >= start_bytes && at < start_bytes + 17)) continue;  // version, and texts
    byte_vector damaged = archive;
    damaged[at] ^= static_cast<std::byte>(1U << (bit % 8));
    CHECK(streams_of(damaged).empty());
  }
}

TEST_CASE("7z streams: whatever a list states, its streams are within the file, in order, and do not overlap") {
  std::mt19937 random(7);
  byte_vector packed;
  for (const stored& each : three) packed = test::joined(packed, vector_of(each.text));
  std::size_t accepted = 0;
  const int turns = test::unless_sampled(60'000, 10'000);
  for (int turn = 0; turn < turns; ++turn) {
    byte_vector list = list_of(three, static_cast<unsigned>(random() % 9));
    for (auto changes = 1 + random() % 3; changes > 0 && !list.empty(); --changes) test::damage(list, random, 8);
    const byte_vector archive = archive_of(packed, list);
    std::uint64_t end = start_bytes;
    for (const seven_zip_stream& each : streams_of(archive)) {
      ++accepted;
      REQUIRE(each.offset >= end);
      REQUIRE(each.packed <= archive.size() - each.offset);
      REQUIRE(each.bytes > 0);
      REQUIRE(each.bytes <= 1U << 20U);
      end = each.offset + each.packed;
    }
  }
  CHECK(accepted > 0);
}

TEST_CASE("7z streams: data of any kind is decoded only if it is exactly the text that is stated") {
  std::mt19937 random(3);
  seven_zip_decoder decoder;
  const byte_vector text = vector_of(std::string(3000, 'a') + "bcd");
  lzma_options_lzma options{};
  REQUIRE(!lzma_lzma_preset(&options, 0));
  std::array<lzma_filter, 2> filters{
      {{.id = LZMA_FILTER_LZMA2, .options = &options}, {.id = LZMA_VLI_UNKNOWN, .options = nullptr}}};
  byte_vector packed(500);
  std::size_t size = 0;
  REQUIRE(lzma_raw_buffer_encode(filters.data(), nullptr, reinterpret_cast<const std::uint8_t*>(text.data()),
                                 text.size(), reinterpret_cast<std::uint8_t*>(packed.data()), &size,
                                 packed.size()) == LZMA_OK);
  packed.resize(size);
  seven_zip_stream stream{.packed = size,
                          .bytes = text.size(),
                          .crc = crc_of(text),
                          .coder = seven_zip_stream::method::lzma2,
                          .properties = {std::byte{16}},
                          .number_of_properties = 1};
  const auto decodes = [&](byte_vector bytes, std::size_t length) {
    const std::size_t used = bytes.size();
    bytes.resize(used + whole_inflater::padding);
    byte_vector out(length);
    const bool is_decoded = decoder.decode(stream, std::span<const std::byte>(bytes).first(used), out);
    if (is_decoded) CHECK(out == text);
    return is_decoded;
  };
  CHECK(decodes(packed, text.size()));
  CHECK_FALSE(decodes(packed, text.size() - 1));
  CHECK_FALSE(decodes(packed, text.size() + 1));
  CHECK_FALSE(decodes(test::joined(packed, vector_of("x")), text.size()));
  int decoded = 0;
  for (const auto method :
       {seven_zip_stream::method::copy, seven_zip_stream::method::lzma, seven_zip_stream::method::lzma2,
        seven_zip_stream::method::deflate, seven_zip_stream::method::bzip2}) {
    stream.coder = method;
    for (int turn = 0; turn < 400; ++turn) {
      byte_vector damaged = packed;
      test::damage(damaged, random, 5);
      if (damaged == packed) continue;
      for (std::byte& each : stream.properties) each = static_cast<std::byte>(random() % 64);
      stream.number_of_properties = static_cast<std::uint8_t>(random() % 6);
      decoded += decodes(damaged, text.size()) ? 1 : 0;  // a bit that is not used may have been flipped
    }
  }
  CHECK(decoded < 20);
}

}  // namespace gpuhist::io
