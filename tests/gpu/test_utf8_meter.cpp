// The UTF-8 meter gives the counts of table 3-7 of the Unicode standard, however a text is cut into pieces, on every
// instruction set of this machine.
#include "gpu/host/utf8_blocks.hpp"
#include "gpu/host/utf8_meter.hpp"
#include "utf8_oracle.hpp"

#include <doctest/doctest.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::gpu::host {
namespace {

using namespace utf8_oracle;

// Makes Highway choose one instruction set until the end of the scope.
class only_target {
 public:
  explicit only_target(std::int64_t target) { set(target); }
  only_target(const only_target&) = delete;
  only_target& operator=(const only_target&) = delete;
  ~only_target() { set(0); }

 private:
  static void set(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().DeInit();
  }
};

template <class Check>
void on_every_target(const Check& check) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const only_target chosen(target);
    CAPTURE(hwy::TargetName(target));
    check();
  }
}

// What a meter reads from the pieces of `text`; next_size() is the size of the next piece.
template <class NextSize>
reading metered(std::string_view text, const NextSize& next_size, utf8_detail detail = utf8_detail::scripts) {
  utf8_meter meter(detail);
  while (!text.empty()) {
    // a copy of exactly the piece, so that the address sanitizer detects reads outside it
    const std::string_view piece = text.substr(0, next_size());
    const std::vector<std::byte> copy(bytes_of(piece).begin(), bytes_of(piece).end());
    meter.feed(copy);
    text.remove_prefix(piece.size());
  }
  meter.end();
  return {meter.counts(), meter.first_malformed(), meter.first_malformed_line()};
}

reading metered(std::string_view text) {
  return metered(text, [&] { return text.size(); });
}

constexpr auto edges =
    std::to_array<unsigned>({0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf,
                             0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff});

std::string sequence_of(std::initializer_list<unsigned> bytes) {
  std::string sequence;
  for (const unsigned byte : bytes) sequence += static_cast<char>(static_cast<unsigned char>(byte));
  return sequence;
}

// Checks a sequence alone among ASCII letters, so that only the sequence can make its block malformed.
class lone_sequences {
 public:
  void check(const std::string& sequence) {
    reading expected = expected_of(sequence);
    const std::size_t at = places_++ % (2 * utf8_block);
    expected.counts.code_points += text_.size() - sequence.size();
    expected.counts.scripts[static_cast<std::size_t>(script::latin)] += text_.size() - sequence.size();
    if (expected.first_malformed) *expected.first_malformed += at;

    std::ranges::copy(sequence, text_.begin() + static_cast<std::ptrdiff_t>(at));
    utf8_meter meter;
    meter.feed(bytes_of(text_));
    meter.end();
    std::fill_n(text_.begin() + static_cast<std::ptrdiff_t>(at), sequence.size(), 'x');
    if (meter.counts() == expected.counts && meter.first_malformed() == expected.first_malformed) return;
    CAPTURE(at);
    for (const char byte : sequence) MESSAGE(static_cast<unsigned>(static_cast<unsigned char>(byte)));
    FAIL("a sequence among letters is counted wrongly");
  }

 private:
  std::string text_ = std::string(4 * utf8_block, 'x');
  std::size_t places_ = 0;
};

TEST_CASE("every sequence of 1, 2 and 3 bytes is counted as table 3-7 says") {
  for (unsigned first = 0; first < 256; ++first) {
    REQUIRE(metered(sequence_of({first})) == expected_of(sequence_of({first})));
    std::string pairs;
    for (unsigned second = 0; second < 256; ++second) {
      REQUIRE(metered(sequence_of({first, second})) == expected_of(sequence_of({first, second})));
      pairs += sequence_of({first, second, 'x'});
      std::string triples;
      for (unsigned third = 0; third < 256; ++third) triples += sequence_of({first, second, third, 'x'});
      REQUIRE(metered(triples) == expected_of(triples));
    }
    REQUIRE(metered(pairs) == expected_of(pairs));
  }
}

TEST_CASE("sequences of 4 bytes are counted as table 3-7 says") {
  for (unsigned first = 0xc0; first < 256; ++first) {
    for (unsigned second = 0; second < 256; ++second) {
      std::string text;
      for (const unsigned third : edges) {
        for (const unsigned fourth : edges) text += sequence_of({first, second, third, fourth, 'x'});
      }
      REQUIRE(metered(text) == expected_of(text));
    }
  }
}

TEST_CASE("a sequence among letters is counted as table 3-7 says, on every instruction set") {
  on_every_target([] {
    lone_sequences sequences;
    for (unsigned first = 0x80; first < 256; ++first) {
      for (unsigned second = 0; second < 256; ++second) {
        sequences.check(sequence_of({first, second}));
        for (const unsigned third : {0x7fU, 0x80U, 0xbfU, 0xc2U}) sequences.check(sequence_of({first, second, third}));
      }
    }
    for (const unsigned first : edges) {
      for (const unsigned second : edges) {
        for (const unsigned third : edges) {
          for (const unsigned fourth : edges) {
            if (first >= 0x80) sequences.check(sequence_of({first, second, third, fourth}));
          }
        }
      }
    }
  });
}

TEST_CASE("counts do not depend on the pieces, on every instruction set") {
  on_every_target([] {
    generator random(1);
    for (const unsigned errors : {0U, 3U, 20U, 100U}) {
      const std::string text = random_text(random, 3000, errors);
      const reading expected = expected_of(text);
      for (std::size_t size = 1; size <= 70; ++size) {
        CAPTURE(size);
        REQUIRE(metered(text, [size] { return size; }) == expected);
      }
      for (int repeat = 0; repeat < 100; ++repeat)
        REQUIRE(metered(text, [&] { return 1 + below(random, 300); }) == expected);
    }
  });
}

TEST_CASE("random texts are counted as the oracle counts them, on every instruction set") {
  on_every_target([] {
    generator random(2);
    for (int repeat = 0; repeat < 2000; ++repeat) {
      const std::string text = random_text(random, below(random, 2000), below(random, 30));
      REQUIRE(metered(text) == expected_of(text));
    }
    const std::string noise = random_bytes(random, 100'000);
    REQUIRE(metered(noise) == expected_of(noise));
    for (const unsigned errors : {0U, 1U}) {
      const std::string text = random_text(random, 300'000, errors);
      REQUIRE(metered(text) == expected_of(text));
    }
  });
}

TEST_CASE("a repeated byte is counted exactly beyond the range of narrow counters, on every instruction set") {
  on_every_target([] {
    for (const char* const repeated : {"a", "\n", "Z", "ж", "漢", "\x80"}) {
      std::string text;
      while (text.size() < 100'000) text += repeated;
      text += "\xff";
      REQUIRE(metered(text) == expected_of(text));
    }
  });
}

TEST_CASE("a cut at any position of a text does not change its counts, and text may end at any position") {
  const std::string sample =
      "Zeile 1\nГраница 2\n行の三\nשורה 😀\n"
      "\xe2\x82 \xf0\x9f\x98 \xed\xa0\x80 \xc0\xaf \xf4\x90\x80\x80\xbf ende";
  const std::string text = std::string(50, 'a') + sample + std::string(70, 'b') + sample.substr(0, 30);
  on_every_target([&] {
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      CAPTURE(cut);
      bool is_first = true;
      const auto next = [&] { return std::exchange(is_first, false) ? cut : text.size() - cut; };
      REQUIRE(metered(text, next) == expected_of(text));
      REQUIRE(metered(text.substr(0, cut)) == expected_of(text.substr(0, cut)));
    }
  });
}

// What meters read whose texts are the parts of one text between `cuts`, joined in order.
reading metered_apart(std::string_view text, const std::vector<std::size_t>& cuts) {
  std::vector<utf8_meter> meters;
  std::size_t begin = 0;
  for (const std::size_t end : cuts) {
    meters.emplace_back(utf8_detail::scripts, begin == 0 ? utf8_meter::position::first : utf8_meter::position::later);
    const std::string_view part = text.substr(begin, end - begin);
    meters.back().feed(bytes_of(part.substr(0, part.size() / 2)));
    meters.back().feed(bytes_of(part.substr(part.size() / 2)));
    begin = end;
  }
  for (std::size_t i = 1; i < meters.size(); ++i) meters[i].follow(meters[i - 1]);
  meters.back().end();
  return {meters.back().counts(), meters.back().first_malformed(), meters.back().first_malformed_line()};
}

TEST_CASE("parts of a text that are counted apart and joined have the counts of the text") {
  generator random(3);
  for (int repeat = 0; repeat < 3000; ++repeat) {
    const std::string text = random_text(random, 1 + below(random, 60), below(random, 60));
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      REQUIRE(metered_apart(text, {cut, text.size()}) == expected_of(text));
    }
    std::vector<std::size_t> cuts;
    for (std::size_t at = 1 + below(random, 4); at < text.size(); at += 1 + below(random, 4)) cuts.push_back(at);
    cuts.push_back(text.size());
    REQUIRE(metered_apart(text, cuts) == expected_of(text));
  }
}

TEST_CASE("a gap at the beginning of later text ends the sequence before it without counting it") {
  const auto joined = [](std::string_view before, std::string_view after) {
    utf8_meter first;
    first.feed(bytes_of(before));
    utf8_meter later(utf8_detail::scripts, utf8_meter::position::later);
    later.feed(bytes_of(after));
    later.skip();
    later.feed(bytes_of("\x82\n\xff"));
    later.follow(first);
    later.end();
    return reading{later.counts(), later.first_malformed(), later.first_malformed_line()};
  };
  const auto skipped = [](std::string_view before) {
    utf8_meter meter;
    meter.feed(bytes_of(before));
    meter.skip();
    meter.feed(bytes_of("\x82\n\xff"));
    meter.end();
    return reading{meter.counts(), meter.first_malformed(), meter.first_malformed_line()};
  };
  CHECK(joined("a\n\xe2\x82", "") == skipped("a\n\xe2\x82"));
  CHECK(joined("a\n\xf0\x9f", "\x98") == skipped("a\n\xf0\x9f\x98"));
  CHECK(joined("a\n\xf0\x9f", "\x98\x80") == skipped("a\n\xf0\x9f\x98\x80"));
  CHECK(joined("a\n", "\x98\x80") == skipped("a\n\x98\x80"));
}

// Known results, which do not depend on the oracle.
TEST_CASE("overlong forms, surrogates, large values, lone and missing bytes are malformed") {
  const auto malformed = [](std::string_view text) {
    const utf8_counts counts = metered(text).counts;
    return std::pair(counts.malformed, counts.malformed_bytes);
  };
  using sizes = std::pair<std::uint64_t, std::uint64_t>;
  CHECK(malformed("") == sizes(0, 0));
  CHECK(malformed("aä€😀\U0010ffff") == sizes(0, 0));
  CHECK(malformed("\xc0\xaf") == sizes(2, 2));
  CHECK(malformed("\xe0\x80\xaf") == sizes(3, 3));
  CHECK(malformed("\xf0\x80\x80\xaf") == sizes(4, 4));
  CHECK(malformed("\xed\xa0\x80") == sizes(3, 3));
  CHECK(malformed("\xed\xbf\xbf") == sizes(3, 3));
  CHECK(malformed("\xf4\x90\x80\x80") == sizes(4, 4));
  CHECK(malformed("\xf5\x80\x80\x80") == sizes(4, 4));
  CHECK(malformed("\x80\xbf") == sizes(2, 2));
  CHECK(malformed("\xe2\x82") == sizes(1, 2));
  CHECK(malformed("\xf0\x9f\x98") == sizes(1, 3));
  CHECK(malformed("\xf0\x9f\x98z") == sizes(1, 3));
  CHECK(malformed("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41") == sizes(4, 8));  // table 3-11 of the standard
}

TEST_CASE("the first malformed sequence and its line are found in every piece and part") {
  on_every_target([] {
    for (const std::size_t lines : {0U, 1U, 100U, 5461U, 5462U, 20000U}) {
      for (const char* const last : {"", "a", "\xe2\x82", "\xf0\x9f\x98"}) {
        std::string text;
        for (std::size_t i = 0; i < lines; ++i) text += "ab\n";
        const std::size_t at = text.size() + (std::string_view(last) == "a" ? 1 : 0);
        text += last;
        text += "\xff\n\xff\n";
        for (const std::size_t size : {text.size(), std::size_t{16384}, std::size_t{1}}) {
          const reading found = metered(text, [size] { return size; });
          REQUIRE(found.first_malformed == at);
          REQUIRE(found.line == lines + 1);
        }
      }
    }
  });
  CHECK(metered("abc\n").first_malformed == std::nullopt);
  CHECK(metered("abc\n").line == std::nullopt);
}

TEST_CASE("an incomplete sequence is counted at the end of the text only") {
  utf8_meter meter;
  meter.feed(bytes_of("a\xe2\x82"));
  CHECK(meter.counts().code_points == 1);
  CHECK(meter.counts().malformed == 0);
  CHECK(meter.first_malformed() == std::nullopt);
  meter.feed({});
  meter.end();
  CHECK(meter.counts().code_points == 1);
  CHECK(meter.counts().malformed == 1);
  CHECK(meter.counts().malformed_bytes == 2);
  CHECK(meter.first_malformed() == 1);
}

TEST_CASE("a sequence that missing text interrupts is not counted, and the next piece begins a sequence") {
  utf8_meter meter;
  meter.feed(bytes_of("a\xe2\x82"));
  meter.skip();
  meter.feed(bytes_of("b"));
  meter.end();
  CHECK(meter.counts().malformed == 0);
  CHECK(meter.counts().code_points == 2);
  utf8_meter other;
  other.feed(bytes_of("\xe2\x82"));
  other.skip();
  other.feed(bytes_of("\xac"));
  other.end();
  CHECK(other.counts().malformed == 1);
  CHECK(other.first_malformed() == 2);
}

TEST_CASE("without scripts the other counts are the same") {
  on_every_target([] {
    generator random(3);
    for (int repeat = 0; repeat < 50; ++repeat) {
      const std::string text = random_text(random, 5000, 10);
      reading expected = expected_of(text);
      expected.counts.scripts = {};
      REQUIRE(metered(text, [&] { return 1 + below(random, 2000); }, utf8_detail::code_points) == expected);
    }
  });
}

// The script that the meter counts for a code point, in a block and alone.
script counted_script(char32_t code_point) {
  const std::string alone = encode(code_point);
  const auto counted = metered(alone).counts.scripts;
  auto in_block = metered(std::string(40, '.') + alone + std::string(100, '.')).counts.scripts;
  in_block[static_cast<std::size_t>(script::common)] -= 140;
  CHECK(in_block == counted);
  const auto found = std::ranges::find(counted, 1U);
  REQUIRE(found != counted.end());
  return static_cast<script>(found - counted.begin());
}

TEST_CASE("the first and last code point of each range and their neighbours are counted for their scripts") {
  on_every_target([] {
    for (const script_range& range : script_ranges) {
      for (const char32_t code_point :
           std::to_array<char32_t>({range.first - 1, range.first, range.last, range.last + 1})) {
        if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point <= 0xdfff)) continue;
        CAPTURE(static_cast<std::uint32_t>(code_point));
        CHECK(counted_script(code_point) == script_by_search(code_point));
      }
    }
  });
  for (char32_t code_point = 0; code_point <= 0x10ffff; ++code_point) {
    if (script_of(code_point) != script_by_search(code_point)) FAIL(static_cast<std::uint32_t>(code_point));
  }
}

TEST_CASE("characters of each script, its limits and what is next to it") {
  const std::vector<std::pair<script, std::u32string>> samples = {
      {script::common, U"\n @[`{0~\x7f"},
      {script::latin, U"AZazÀÖØöøÿĀſƀɏɐʯẀỿﬁＡｚ"},
      {script::greek, U"ͰΑΩαωϿἀ\u1fff"},
      {script::cyrillic, U"ЀАяёѿҀӿԀԯꙀ"},
      {script::hebrew, U"\u0590את\u05ffיִ"},
      {script::arabic, U"\u0600ابي۰\u06ffݐﭐﺀ\ufefc"},
      {script::devanagari, U"\u0900अह०\u097f"},
      {script::thai, U"\u0e00กฮ๐\u0e7f"},
      {script::hangul, U"ᄀᇿㄱ가힣\ud7b0ﾡ"},
      {script::kana, U"\u3040ぁんァンー\u30ffｱ"},
      {script::han, U"㐀一龥\u9fff豈𠀀𪛖𰀀⺀"},
      {script::emoji, U"\U0001f300😀🚀🤖\U0001faff"},
      {script::other, U"\u0080\u00a0×÷ʰ\u036f\u0530\u0980\u0e80€—“☀\ufeff\ufffd\U0001f2ff\U0001fb00\U0010ffff"},
  };
  REQUIRE(samples.size() == script_count);
  for (const auto& [name, code_points] : samples) {
    for (const char32_t code_point : code_points) {
      CAPTURE(static_cast<std::uint32_t>(code_point));
      CHECK(counted_script(code_point) == name);
    }
  }
}

TEST_CASE("ranges of scripts are in order and do not overlap; names are distinct") {
  for (std::size_t i = 0; i < script_ranges.size(); ++i) {
    CHECK(script_ranges.at(i).first <= script_ranges.at(i).last);
    if (i != 0) CHECK(script_ranges.at(i - 1).last < script_ranges.at(i).first);
  }
  std::vector<std::string_view> names(script_names().begin(), script_names().end());
  CHECK(names[static_cast<std::size_t>(script::han)] == "han");
  CHECK(names[static_cast<std::size_t>(script::other)] == "other");
  std::ranges::sort(names);
  CHECK(std::ranges::adjacent_find(names) == names.end());
}

TEST_CASE("counts of parts add up") {
  utf8_counts sum = expected_of("aé\xff").counts;
  sum += expected_of("д\xe2\x82").counts;
  CHECK(sum.malformed == 2);
  CHECK(sum.malformed_bytes == 3);
  CHECK(sum.code_points == 3);
  CHECK(sum.scripts == expected_of("aéд").counts.scripts);
}

}  // namespace
}  // namespace gpuhist::gpu::host
