// Text in UTF-16 as UTF-8, around no compression and around zlib. The oracle converts whole texts, character by
// character; tests/cli/test_utf16 compares with Python.
#include "io/utf16/utf16_decoder.hpp"

#include "io/gzip/deflate_decoder.hpp"
#include "tests/contract/decoder_contract.hpp"
#include "tests/support/byte_vectors.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace gpuhist::test;
using namespace gpuhist::io;

namespace {

using units = std::u16string;

byte_vector stored(const units& text, bool big_endian) {
  byte_vector made;
  for (const char16_t unit : text) {
    const auto low = static_cast<std::byte>(unit & 0xFFU);
    const auto high = static_cast<std::byte>(unit >> 8U);
    made.push_back(big_endian ? high : low);
    made.push_back(big_endian ? low : high);
  }
  return made;
}

// RFC 2781, section 2.2, and RFC 3629, section 3.
byte_vector in_utf8(const units& text) {
  byte_vector made;
  for (std::size_t i = text.starts_with(u'\uFEFF') ? 1 : 0; i < text.size(); ++i) {
    std::uint32_t character = text[i];
    const bool has_next = i + 1 < text.size();
    if (character >= 0xD800 && character <= 0xDBFF && has_next && text[i + 1] >= 0xDC00 && text[i + 1] <= 0xDFFF) {
      character = (character - 0xD800) * 0x400 + (text[++i] - 0xDC00U) + 0x10000;
    } else if (character >= 0xD800 && character <= 0xDFFF) {
      character = 0xFFFD;
    }
    const int more = character < 0x80 ? 0 : character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    constexpr std::uint32_t leads[] = {0, 0xC0, 0xE0, 0xF0};
    made.push_back(static_cast<std::byte>(leads[more] + (character >> (6 * more))));
    for (int left = more - 1; left >= 0; --left) {
      made.push_back(static_cast<std::byte>(0x80 + ((character >> (6 * left)) % 64)));
    }
  }
  return made;
}

// Runs of ASCII, characters of one, two, three and four bytes, and surrogates without a partner if wanted.
units random_text(std::size_t size, bool is_damaged, std::uint32_t seed) {
  std::mt19937 random(seed);
  units made;
  while (made.size() < size) {
    const auto unit = [&random](unsigned first, unsigned last) {
      return static_cast<char16_t>(first + random() % (last - first + 1));
    };
    switch (random() % (is_damaged ? 7 : 5)) {
      case 0:
        made.append(random() % 20, unit(' ', '~'));
        break;
      case 1:
        made += unit(0x80, 0x7FF);
        break;
      case 2:
        made += unit(0x800, 0xD7FF);
        break;
      case 3:
        made += unit(0xE000, 0xFFFD);
        break;
      case 4:
        made += unit(0xD800, 0xDBFF);
        made += unit(0xDC00, 0xDFFF);
        break;
      case 5:
        made += unit(0xDC00, 0xDFFF);
        break;
      default:
        made += unit(0xD800, 0xDBFF);
        made += u'x';
    }
  }
  return made;
}

decoder_maker make_for(bool big_endian) {
  return [big_endian] {
    return make_utf16_decoder(make_stored_decoder({}), big_endian ? text_encoding::utf16be : text_encoding::utf16le);
  };
}

decoder_sample sample_of(const units& text, bool big_endian) {
  return {.name = "text", .plain = in_utf8(text), .packed = stored(text, big_endian), .ends = {}, .clean_stops = {}};
}

/// All text, with that of end_input().
struct whole_decoding {
  byte_vector text;
  std::uint64_t frames = 0;
  std::optional<notice> remark;
};

whole_decoding decode_whole(decoder& decoder, std::span<const std::byte> packed, std::size_t step) {
  whole_decoding made;
  byte_vector out(step);
  const auto fill = [&](std::span<const std::byte> in) {
    for (;;) {
      const fill_result got = decoder.fill(in, out);
      in = in.subspan(got.consumed);
      made.text.insert(made.text.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(got.produced));
      REQUIRE(got.status != fill_status::failed);
      if (got.status == fill_status::frame_verified) ++made.frames;
      if (got.status == fill_status::needs_input) return;
    }
  };
  for (std::size_t at = 0; at < packed.size(); at += step) {
    fill(packed.subspan(at, std::min(step, packed.size() - at)));
  }
  if (decoder.end_input()) fill({});
  CHECK_FALSE(decoder.end_input());
  CHECK(decoder.missing_at_end(0) == "");
  made.remark = decoder.notice_at_end();
  return made;
}

byte_vector deflated(const byte_vector& text) {
  uLongf size = ::compressBound(text.size());
  byte_vector packed(size);
  REQUIRE(::compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
                     text.size()) == Z_OK);
  packed.resize(size);
  return packed;
}

}  // namespace

TEST_CASE("UTF-16: the text is the same for all cuts, calls with empty spans, and after a restart") {
  for (const bool big_endian : {false, true}) {
    const decoder_maker make = make_for(big_endian);
    for (const bool is_damaged : {false, true}) {
      const decoder_sample sample = sample_of(random_text(700, is_damaged, 3), big_endian);
      check_cuts(make, sample);
      check_empty_calls(make, sample);
      check_restart(make, sample);
    }
    check_cuts(make, sample_of(u"\uFEFFmark", big_endian));
  }
}

TEST_CASE("UTF-16: 64 KiB are a frame") {
  const units text = random_text(200'000, false, 5);
  const auto decoder = make_for(false)();
  const whole_decoding got = decode_whole(*decoder, stored(text, false), 4999);
  CHECK(got.text == in_utf8(text));
  const std::uint64_t most = 2 * text.size() / 65'536;
  CHECK(got.frames <= most);  // one that ends within a character ends with the next one
  CHECK(got.frames + 2 >= most);
  CHECK_FALSE(got.remark);
}

TEST_CASE(
    "UTF-16: wrong surrogates and an incomplete end are U+FFFD, and the notice has their number and the first one") {
  const units text =
      u"ab\xDC00"
      u"cd\xD83D"
      u"e";
  byte_vector packed = stored(text, true);
  const auto decoder = make_for(true)();
  for (const std::size_t step : {1U, 2U, 3U, 100U}) {
    decoder->restart({});
    whole_decoding got = decode_whole(*decoder, packed, step);
    CHECK(got.text == in_utf8(text));
    REQUIRE(got.remark);
    CHECK(got.remark->kind == notice_kind::replaced_characters);
    CHECK(got.remark->text ==
          "is not valid UTF-16: U+FFFD is counted in the place of 2 surrogates or incomplete characters, the first at "
          "byte 4 of the text in UTF-16");
  }
  for (const units& cut : {units(u"a"), units(u"a\xD83D")}) {
    for (const std::size_t odd : {0U, 1U}) {
      if (odd == 0 && cut.size() == 1) continue;
      packed = joined(stored(cut, true), byte_vector(odd, std::byte{'x'}));
      decoder->restart({});
      const whole_decoding got = decode_whole(*decoder, packed, 100);
      CHECK(got.text == vector_of("a\xEF\xBF\xBD"));
      REQUIRE(got.remark);
      CHECK(got.remark->text.ends_with(
          "of 1 surrogate or incomplete character, the first at byte 2 of the text in UTF-16"));
    }
  }
  decoder->restart({});
  CHECK_FALSE(decode_whole(*decoder, stored(u"ab", true), 100).remark);
}

TEST_CASE("UTF-16 within a compression: a frame that ends within a character ends with the next frame") {
  const units text = random_text(500, false, 7);
  const byte_vector plain = stored(text, false);
  for (const std::size_t cut : {2UL, 3UL, 101UL, 500UL, 777UL}) {
    CAPTURE(cut);
    const byte_vector packed = joined(deflated({plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(cut)}),
                                      deflated({plain.begin() + static_cast<std::ptrdiff_t>(cut), plain.end()}));
    const auto decoder = make_utf16_decoder(make_zlib_decoder({}), text_encoding::utf16le);
    const whole_decoding got = decode_whole(*decoder, packed, 64);
    CHECK(got.text == in_utf8(text));
    const bool is_within = cut % 2 != 0 || (text[cut / 2 - 1] >= 0xD800 && text[cut / 2 - 1] <= 0xDBFF);
    CHECK(got.frames == (is_within ? 1U : 2U));
  }
  const byte_vector odd = deflated(joined(stored(u"text", false), byte_vector(1)));
  const auto decoder = make_utf16_decoder(make_zlib_decoder({}), text_encoding::utf16le);
  const whole_decoding got = decode_whole(*decoder, odd, 64);
  CHECK(got.text == vector_of("text\xEF\xBF\xBD"));
  CHECK(got.frames == 1);
  decoder->restart({});
  byte_vector out(100);
  CHECK(decoder->fill(std::span(odd).first(odd.size() - 1), out).status == fill_status::needs_input);
  CHECK_FALSE(decoder->end_input());  // the compression ends early, which is reported instead
  CHECK(decoder->missing_at_end(0).starts_with("stream 1 ends early"));
}
