// CLD2 requires valid UTF-8. Its own check (the functions ...CheckUTF8) refuses control characters and noncharacters,
// too. It is not used: texts are valid UTF-8 here, and these characters are no letters for CLD2, as punctuation is.

#include "report/texts/languages.hpp"

#include <cld2/public/encodings.h>

#include <cstdio>  // compact_lang_det.h needs it

#include <cld2/public/compact_lang_det.h>

namespace CLD2 {
struct CLD2TableSummary;
// In libcld2_full, and the smaller one in libcld2. NOLINTNEXTLINE(readability-identifier-naming): its name there
extern const CLD2TableSummary kQuad_obj;
}  // namespace CLD2

namespace gpuhist::report::texts {
namespace {

// Also a linker that leaves out libraries without a use (--as-needed) links libcld2_full. Only the address is taken.
// NOLINTNEXTLINE(cppcoreguidelines-interfaces-global-init)
[[gnu::used]] const CLD2::CLD2TableSummary* const tables = &CLD2::kQuad_obj;

}  // namespace

detected_languages detect_languages(std::string_view text) {
  constexpr bool is_plain_text = true;
  constexpr int no_flags = 0;
  const CLD2::CLDHints no_hints{nullptr, nullptr, CLD2::UNKNOWN_ENCODING, CLD2::UNKNOWN_LANGUAGE};
  std::array<CLD2::Language, 3> languages{};
  std::array<int, 3> percents{};
  std::array<double, 3> scores{};
  int letters = 0;
  detected_languages made;
  CLD2::ExtDetectLanguageSummary(text.data(), static_cast<int>(text.size()), is_plain_text, &no_hints, no_flags,
                                 languages.data(), percents.data(), scores.data(), nullptr, &letters,
                                 &made.is_reliable);
  for (std::size_t i = 0; i < made.parts.size(); ++i) {
    made.parts[i] = {.code = CLD2::LanguageCode(languages[i]), .percent = percents[i]};
  }
  return made;
}

std::vector<std::string_view> language_codes() {
  std::vector<std::string_view> made;
  for (int each = 0; each < CLD2::NUM_LANGUAGES; ++each) {
    made.emplace_back(CLD2::LanguageCode(static_cast<CLD2::Language>(each)));
  }
  return made;
}

}  // namespace gpuhist::report::texts
