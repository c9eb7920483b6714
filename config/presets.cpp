#include "config/presets.hpp"

#include <algorithm>
#include <array>

namespace gpuhist::config {
namespace {

// The presets that are parts of rules count characters: bytes of UTF-8 without continuation bytes. So the text need not
// be decoded.

// A mark can end a line of FineWeb's rule. Beyond ASCII there are many: any byte of such a character may be of one.
// A tokenizer may divide a word before and after each sign: of ASCII, or a character beyond it (its first byte).
constexpr std::array<std::string_view, 2> fineweb_schemes = {
    R"(fineweb:mark=.?!\x80-\xff)", R"(fineweb-tokens:sign=\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e\xc0-\xff)"};

// `space` is the white space between words: all other bytes belong to words.
constexpr std::array<std::string_view, 1> gopher_schemes = {
    R"(gopher:hash=#;space=\x20\t\n\x0b\x0c\r;continuation=\x80-\xbf)"};

// NeMo Curator counts line feeds and the marks ? ! , . as alphanumeric, and a line feed as white space, too.
constexpr std::array<std::string_view, 2> nemo_schemes = {
    R"(nemo:letter=a-zA-Z;digit=0-9;end=\n;mark=?!,.;blank=\x20\t\r\x08;paren=(){}[])",
    R"(nemo-utf8:continuation=\x80-\xbf)"};

// Quotients of whole numbers, as in the sources: a value at the threshold is kept in both.
constexpr std::array fineweb_rules = {
    preset_rule{"no-words", "words == 0"},
    preset_rule{"short", "bytes < 31"},
    preset_rule{"no-end-marks", "count(fineweb.mark) == 0"},
    preset_rule{"many-line-feeds", "lines / (words + 2 * count(fineweb-tokens.sign)) > 0.3"},
};

constexpr std::array gopher_rules = {
    preset_rule{"short", "words < 50"},
    preset_rule{"long", "words > 100000"},
    preset_rule{"short-words", "(bytes - count(gopher.space) - count(gopher.continuation)) / words < 3"},
    preset_rule{"long-words", "(bytes - count(gopher.space) - count(gopher.continuation)) / words > 10"},
    preset_rule{"many-hash-signs", "count(gopher.hash) / words > 0.1"},
};

constexpr std::array nemo_rules = {
    preset_rule{"empty", "bytes == count(nemo-utf8.continuation)"},
    preset_rule{"non-alphanumeric",
                "(bytes - count(nemo-utf8.continuation) - count(nemo.letter) - count(nemo.digit) - count(nemo.end) - "
                "count(nemo.mark)) / (bytes - count(nemo-utf8.continuation)) > 0.25"},
    preset_rule{"digits", "count(nemo.digit) / (bytes - count(nemo-utf8.continuation)) > 0.15"},
    preset_rule{"white-space",
                "(count(nemo.blank) + count(nemo.end)) / (bytes - count(nemo-utf8.continuation)) > 0.25"},
    preset_rule{"parentheses", "count(nemo.paren) / (bytes - count(nemo-utf8.continuation)) > 0.1"},
};

// The rules of FineWebQualityFilter of datatrove, which divides text into words with a tokenizer of its own: tokens
// here.
constexpr std::array fineweb_quality_rules = {
    preset_rule{"empty", "line_count == 0"},
    preset_rule{"line-ends", "line_share(ends_with_punctuation) < 0.12"},
    preset_rule{"short-lines", "line_share(characters <= 30) > 0.67"},
    preset_rule{"duplicate-lines", R"(duplicate_line_characters / (characters - occurrences("\n")) > 0.01)"},
    preset_rule{"list", R"(occurrences("\n") / token_count > 0.3)"},
};

// Of GopherQualityFilter of datatrove. Tokens of punctuation only are no words.
constexpr std::array gopher_quality_rules = {
    preset_rule{"short", "token_count(punctuation < characters) < 50"},
    preset_rule{"long", "token_count(punctuation < characters) > 100000"},
    preset_rule{"short-words",
                "token_characters(punctuation < characters) / token_count(punctuation < characters) < 3"},
    preset_rule{"long-words",
                "token_characters(punctuation < characters) / token_count(punctuation < characters) > 10"},
    preset_rule{"hashes", R"(occurrences("#") / token_count > 0.1)"},
    preset_rule{"ellipses", R"(occurrences("...", "…") / token_count > 0.1)"},
    preset_rule{"bullet-lines", R"(row_share(starts("•", "-")) > 0.9)"},
    preset_rule{"ellipsis-lines", R"(row_share(ends("...", "…")) > 0.3)"},
    preset_rule{"words-without-letters", "token_share(letters > 0) < 0.8"},
    preset_rule{"stop-words", R"(distinct_tokens_of("the", "be", "to", "of", "and", "that", "have", "with") < 2)"},
};

// Of GopherRepetitionFilter of datatrove.
constexpr std::array gopher_repetition_rules = {
    preset_rule{"empty", "characters == 0"},
    preset_rule{"duplicate-paragraphs", "duplicate_blocks / block_count > 0.3"},
    preset_rule{"duplicate-paragraph-characters", "duplicate_block_characters / characters > 0.2"},
    preset_rule{"duplicate-lines", "duplicate_segments / segment_count > 0.3"},
    preset_rule{"duplicate-line-characters", "duplicate_segment_characters / characters > 0.2"},
    preset_rule{"top-2-grams", "top_ngram_characters(2) / characters > 0.2"},
    preset_rule{"top-3-grams", "top_ngram_characters(3) / characters > 0.18"},
    preset_rule{"top-4-grams", "top_ngram_characters(4) / characters > 0.16"},
    preset_rule{"duplicate-5-grams", "duplicate_ngram_characters(5) / characters > 0.15"},
    preset_rule{"duplicate-6-grams", "duplicate_ngram_characters(6) / characters > 0.14"},
    preset_rule{"duplicate-7-grams", "duplicate_ngram_characters(7) / characters > 0.13"},
    preset_rule{"duplicate-8-grams", "duplicate_ngram_characters(8) / characters > 0.12"},
    preset_rule{"duplicate-9-grams", "duplicate_ngram_characters(9) / characters > 0.11"},
    preset_rule{"duplicate-10-grams", "duplicate_ngram_characters(10) / characters > 0.1"},
};

// The filters for strings of NeMo Curator that have defaults, in the order of its sources.
constexpr std::array<std::string_view, 1> nemo_quality_schemes = {
    R"(nemo-quality:alphanumeric=a-zA-Z;digit=0-9;end=\n;mark=?!,.;blank=\x20\t\r\x08;paren=(){}[])"};
constexpr std::array nemo_quality_rules = {
    preset_rule{"non-alpha-numeric",
                "characters == 0 || (characters - count(nemo-quality.alphanumeric) - count(nemo-quality.digit) - "
                "count(nemo-quality.end) - count(nemo-quality.mark)) / characters > 0.25"},
    preset_rule{"symbols-to-words",
                R"x(word_share(is("...", "[...]", "…", "(...)", "[…]", "-»") || runs("#") / characters > 0.5) > 0.1)x"},
    preset_rule{"numbers", "count(nemo-quality.digit) / characters > 0.15"},
    preset_rule{"urls", "url_characters / characters > 0.2"},
    preset_rule{"bullets", R"(line_share(starts("•", "‣", "⁃", "⁌", "⁍", "∙", "○", "●", "◘", "◦", "⦾", "⦿")) > 0.9)"},
    preset_rule{"white-space", "(count(nemo-quality.blank) + count(nemo-quality.end)) / characters > 0.25"},
    preset_rule{"parentheses", R"((count(nemo-quality.paren) + occurrences("⟨", "⟩")) / characters > 0.1)"},
    preset_rule{"long-word", "longest_word > 1000"},
    preset_rule{"word-count", "word_count < 50 || word_count > 100000"},
    preset_rule{
        "boilerplate-string",
        R"(lower_contains("lorem ipsum") || paragraph_share(lower_contains("terms of use", "privacy policy", )"
        R"("cookie policy", "uses cookies", "privacy overview", "use of cookies", "use cookies", )"
        R"("privacy & cookies policy", "privacy and cookies policy", "necessary cookies are absolutely essential for )"
        R"(the website to function properly. this category only includes cookies that ensures basic functionalities )"
        R"(and security features of the website. these cookies do not store any personal information.", "any cookies )"
        R"(that may not be particularly necessary for the website to function and is used specifically to collect )"
        R"(user personal data via analytics, ads, other embedded contents are termed as non-necessary cookies. it is )"
        R"(mandatory to procure user consent prior to running these cookies on your website.", "if you continue to )"
        R"(browse this site without changing your cookie settings, you agree to this use. acceptread more")) > 0.4)"},
    preset_rule{"mean-word-length", "word_characters / word_count < 3 || word_characters / word_count > 10"},
    preset_rule{"punctuation", R"(line_share(!ends(".", "?", "!", "\"", "'")) > 0.85)"},
    preset_rule{
        "ellipsis",
        R"x(line_share(lower_ends("...", "[...]", "…", "(...)", "[…]", "-»", "read more..", "read more")) > 0.3)x"},
    preset_rule{"common-english-words", R"(words_of("the", "be", "to", "of", "and", "that", "have", "with") < 2)"},
    preset_rule{"words-without-alphabets", "word_share(letters > 0) < 0.8"},
    preset_rule{"pornographic-urls", R"(url_count(contains("porn")) > 0)"},
};

// The filters for repetition of NeMo Curator, with the thresholds of its configuration for English.
constexpr std::array nemo_repetition_rules = {
    preset_rule{"repeated-lines", "(line_count - duplicate_lines) / line_count < 0.7"},
    preset_rule{"repeated-paragraphs", "(paragraph_count - duplicate_paragraphs) / paragraph_count < 0.7"},
    preset_rule{"repeated-lines-by-char", "(line_characters - duplicate_line_characters) / line_characters < 0.8"},
    preset_rule{"repeated-paragraphs-by-char",
                "(paragraph_characters - duplicate_paragraph_characters) / paragraph_characters < 0.8"},
    preset_rule{"repeating-top-2-grams", "word_count < 2 || top_ngram_covered(2) / characters > 0.2"},
    preset_rule{"repeating-top-3-grams", "word_count < 3 || top_ngram_covered(3) / characters > 0.18"},
    preset_rule{"repeating-top-4-grams", "word_count < 4 || top_ngram_covered(4) / characters > 0.16"},
    preset_rule{"repeating-duplicate-5-grams", "word_count < 5 || duplicate_ngram_covered(5) / characters > 0.15"},
    preset_rule{"repeating-duplicate-6-grams", "word_count < 6 || duplicate_ngram_covered(6) / characters > 0.14"},
    preset_rule{"repeating-duplicate-7-grams", "word_count < 7 || duplicate_ngram_covered(7) / characters > 0.13"},
    preset_rule{"repeating-duplicate-8-grams", "word_count < 8 || duplicate_ngram_covered(8) / characters > 0.12"},
    preset_rule{"repeating-duplicate-9-grams", "word_count < 9 || duplicate_ngram_covered(9) / characters > 0.11"},
    preset_rule{"repeating-duplicate-10-grams", "word_count < 10 || duplicate_ngram_covered(10) / characters > 0.1"},
};

// Of C4QualityFilter of datatrove: lines are removed first, and then documents, by what is left of them. It reads the
// lines of a document in turn, and removes the document at the first line with a curly bracket or "lorem ipsum" that no
// earlier rule has removed: so these lines are left for the rules.
constexpr std::array c4_quality_steps = {
    preset_rule{"strip", "strip"},
    preset_rule{"long-word", "drop longest_word > 1000"},
    preset_rule{"few-words", "drop words < 3"},
    preset_rule{"citations", R"(cut \[(?:\p{Nd}*|edit|citation needed)\])"},
    preset_rule{"no-terminal-punctuation", R"(drop !has_suffix(".", "?", "!", "\"", "'") || has_suffix("..."))"},
    preset_rule{"javascript", R"(drop lower_contains("javascript") && !lower_contains("lorem ipsum"))"},
    preset_rule{"policy", R"(drop lower_contains("terms of use", "privacy policy", "cookie policy", "uses cookies", )"
                          R"("use of cookies", "use cookies") && !contains("{") && !lower_contains("lorem ipsum"))"},
};
constexpr std::array c4_quality_rules = {
    preset_rule{"lorem-ipsum", R"(lower_contains("lorem ipsum"))"},
    preset_rule{"curly-bracket", R"(contains("{"))"},
    preset_rule{"few-sentences", "sentence_count < 5"},
};

constexpr std::array presets = {
    preset{.name = "c4-quality",
           .summary = "lines with few words, without end, of policies; brackets, sentences",
           .source = "datatrove, C4QualityFilter (Raffel 2020)",
           .covers = "whole; sentences end at marks",
           .schemes = {},
           .rules = c4_quality_rules,
           .rewriting = c4_quality_steps},
    preset{.name = "fineweb",
           .summary = "line feeds a word or sign; texts of one short line or without marks",
           .source = "datatrove, FineWebQualityFilter (Penedo 2024)",
           .covers = "a part: 1 of 4 rules, parts of 2",
           .schemes = fineweb_schemes,
           .rules = fineweb_rules},
    preset{.name = "fineweb-quality",
           .summary = "lines: their ends, lengths, duplicates, and number for each word",
           .source = "datatrove, FineWebQualityFilter (Penedo 2024)",
           .covers = "whole; words are tokens",
           .schemes = {},
           .rules = fineweb_quality_rules},
    preset{.name = "gopher",
           .summary = "number of words, mean length of words, hash signs a word",
           .source = "Rae et al. 2021, Scaling Language Models (Gopher), appendix A.1.1, Quality Filtering",
           .covers = "a part: 3 of 8 rules, none of the 13 for repetition",
           .schemes = gopher_schemes,
           .rules = gopher_rules},
    preset{.name = "gopher-quality",
           .summary = "words, marks, bullets, ellipses, words with letters, stop words",
           .source = "datatrove, GopherQualityFilter (Rae 2021)",
           .covers = "whole; words are tokens",
           .schemes = {},
           .rules = gopher_quality_rules},
    preset{.name = "gopher-repetition",
           .summary = "repeated lines, paragraphs and sequences of words",
           .source = "datatrove, GopherRepetitionFilter (Rae 2021)",
           .covers = "whole; words are tokens",
           .schemes = {},
           .rules = gopher_repetition_rules},
    preset{.name = "nemo",
           .summary = "shares of non-alphanumeric characters, digits, white space, parentheses",
           .source = "NVIDIA NeMo Curator: NonAlphaNumericFilter, NumbersFilter, WhiteSpaceFilter, ParenthesesFilter",
           .covers = "a part: 4 of the 17 filters for strings",
           .schemes = nemo_schemes,
           .rules = nemo_rules},
    preset{.name = "nemo-quality",
           .summary = "characters, words, lines, boilerplate, URLs, common words",
           .source = "NVIDIA NeMo Curator, the filters for strings",
           .covers = "whole: 16 filters (SubstringFilter has no default)",
           .schemes = nemo_quality_schemes,
           .rules = nemo_quality_rules},
    preset{.name = "nemo-repetition",
           .summary = "repeated lines, paragraphs and sequences of words",
           .source = "NVIDIA NeMo Curator, the filters for repetition",
           .covers = "whole: 6 filters, as configured for English",
           .schemes = {},
           .rules = nemo_repetition_rules},
};

}  // namespace

std::span<const preset> preset_table() { return presets; }

const preset* find_preset(std::string_view name) {
  const auto* const found = std::ranges::find(presets, name, &preset::name);
  return found == presets.end() ? nullptr : found;
}

}  // namespace gpuhist::config
