#include "config/help.hpp"

#include "config/expression.hpp"
#include "config/presets.hpp"
#include "config/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace gpuhist::config {
namespace {

/// A name with its explanation, and for measures a unit.
struct entry {
  std::string_view name;
  std::string_view text;
  std::string_view unit{};
};

// Checked against the choices of --measures and the table of measures by tests.
constexpr std::array measures = {
    entry{"entropy", "Shannon's entropy; English 4 to 5, random 8", "bits a byte"},
    entry{"entropy_corrected", "corrected for small samples (Miller-Madow)", "bits a byte"},
    entry{"chi2", "chi-squared for 256 equally frequent values", "-"},
    entry{"chi2_p", "of at least this chi2 for uniform bytes", "probability"},
    entry{"mean", "mean byte value", "0 to 255"},
    entry{"distinct", "byte values that occur", "values"},
    entry{"ascii_share", "share of the bytes 0x00 to 0x7f", "0 to 1"},
    entry{"printable_share", "share of the bytes 0x20 to 0x7e", "0 to 1"},
    entry{"code_points", "bytes except UTF-8 continuation bytes", "code points"},
    entry{"lines", "line feeds", "lines"},
    entry{"mean_line_length", "bytes per line, without line feeds", "bytes"},
};

constexpr std::array comparing_measures = {
    entry{"jsd", "Jensen-Shannon divergence, 0 to 1", "bits"},
    entry{"kl", "Kullback-Leibler divergence (counts + 0.5)", "bits"},
    entry{"chi2_baseline", "chi-squared of the counts of both samples", "-"},
    entry{"chi2_baseline_p", "of at least this chi2_baseline by chance", "probability"},
    entry{"icd", "chi-squared of the sorted frequencies, grouped", "-"},
    entry{"icd_p", "of at least this icd by chance", "probability"},
};

// Checked against the choices of --format and --input-format by tests.
constexpr std::array report_formats = {
    entry{"table", "text for people (default)"},
    entry{"json", "one object"},
    entry{"jsonl", "a line for each input, snapshot, window, unit, alert; the result"},
    entry{"csv", "a row for each bucket: kind,input,scheme,bucket,count,share"},
    entry{"prometheus", "metrics for the textfile collector of node_exporter"},
};

constexpr std::array input_formats = {
    entry{"auto", "detects the format of each input by its content (default)"},
    entry{"raw", "counts the bytes without decoding, also those of archives"},
    entry{"zstd", "frames, skippable frames, seek tables; --zstd-dictionary"},
    entry{"gzip", "members; also BGZF"},
    entry{"xz", "streams of blocks"},
    entry{"lzma", "the predecessor of xz; 'auto' knows it by .lzma and .tlz"},
    entry{"lzip", "members"},
    entry{"bzip2", "streams of blocks"},
    entry{"lz4", "frames"},
    entry{"compress", ".Z files of Unix"},
    entry{"snappy", "the framing format (.sz)"},
    entry{"hadoop-snappy", "blocks of Hadoop; 'auto' knows them by the name .snappy"},
    entry{"hadoop-lz4", "blocks of Hadoop; 'auto' does not know them"},
    entry{"brotli", "one stream; 'auto' knows it by the name .br"},
    entry{"zlib", "streams; 'auto' knows them if their first bytes decode"},
    entry{"deflate", "one stream without a header; 'auto' does not know it"},
    entry{"tar", "counts each file in the archive; also compressed (.tar.gz)"},
    entry{"zip", "counts each file in the archive"},
    entry{"7z", "counts each file in the archive"},
    entry{"cpio", "counts each file in the archive; also compressed"},
    entry{"ar", "counts each file; a Debian package: those in its archives"},
    entry{"rpm", "counts each file in the package"},
};

constexpr std::array windows = {
    entry{"--window 64MiB", "this many bytes of text"},
    entry{"--window 100000lines", "this many lines"},
    entry{"--window 10s", "the text that arrives in this time (stream, --follow)"},
};

constexpr std::array window_steps = {
    entry{"--step 1s", "distance between the starts of windows, in the unit of"},
    entry{"", "--window; if shorter than a window, windows overlap"},
    entry{"--per-input", "each input has its own windows, with offsets from 0;"},
    entry{"", "otherwise the text of all inputs in sequence is divided"},
};

constexpr std::array window_fields = {
    entry{"index", "number of the window, from 0"},
    entry{"source, last_source", "inputs of its first and last text"},
    entry{"first_offset, end_offset", "its range of bytes (end_offset excluded)"},
    entry{"start_time, end_time", "when its text arrived (not a time in the text), UTC"},
    entry{"closed_by", "full, end (of the input) or error"},
    entry{"complete", "false: text is missing, and error names the cause"},
    entry{"verified", "false: a line of kind verdict follows"},
    entry{"bytes, lines, buckets", "its counts; with --measures also measures"},
};

constexpr std::array unit_kinds = {
    entry{"line", "with its line feed"},
    entry{"record", "ends with the byte of --delimiter (default \\0)"},
    entry{"4KiB", "parts of this size; the last one may be shorter"},
    entry{"input, window", "the text of an input; a window of --window"},
};

constexpr std::array unit_options = {
    entry{"--where CONDITION", "reports each unit for which it holds, at once"},
    entry{"--top N:FORMULA", "adds the N units with the highest values"},
    entry{"--distribution-of FORMULA", "adds how many units have which value"},
};

constexpr std::array line_keys = {
    entry{"field:N", "separated by blanks; field:-1 is the last"},
    entry{"csv:N, csv:NAME", "columns of CSV, with quotes (--field-separator)"},
    entry{"json:KEY, json:/a/b", "a value of the JSON object in the line"},
    entry{"regex:REGEX", "the text of its first group, or of all of it"},
    entry{"template, kind", "the line without what varies; kind keeps messages"},
    entry{"host, app, status, level", "of the usual formats of logs"},
    entry{"language, character", "of the text; each character is counted"},
    entry{"name, family", "the input; without what rotation adds to its name"},
};

constexpr std::array event_formats = {
    entry{"iso, slashes", "2025-10-10T13:55:36.5+02:00; 2025/10/10 13:55:36"},
    entry{"clf, dmy", "[10/Oct/2025:13:55:36 -0700]; 10-Oct-2025 13:55:36"},
    entry{"us, mdy", "10/10/2025 1:55:36 PM; Oct 10, 2025 1:55:36 PM"},
    entry{"syslog, glog", "Oct 10 13:55:36; I1010 13:55:36.5 (no year)"},
    entry{"ctime, rfc2822", "Fri Oct 10 13:55:36 2025; Fri, 10 Oct 2025 ..."},
    entry{"epoch, dmesg", "1760104536, 13, 16 or 19 digits; [12345.678901]"},
    entry{"json, json:KEY, json:/a/b", "the value of timestamp, time, ts, ... or KEY"},
    entry{"%Y-%m-%d %H:%M:%S", "a pattern; * before it: not only at the beginning"},
};

constexpr std::array event_fields = {
    entry{"matches, unmatched", "lines and bytes by --match"},
    entry{"groups", "key, lines, bytes, buckets: most lines first"},
    entry{"event_windows", "event_start, event_end, lines, bytes, buckets"},
    entry{"without_time, late", "lines before the first time; of closed windows"},
};

constexpr std::array unit_fields = {
    entry{"name", "the input"},
    entry{"unit, line, offset", "number and first line, from 1; first byte, from 0"},
    entry{"verified", "false: verified only if its input is complete"},
    entry{"values", "of the names in the condition"},
    entry{"bytes, buckets", "its counts; with --measures also measures"},
    entry{"field_bytes", "with --jsonl-field: size of the value"},
};

constexpr std::array text_names = {
    entry{"characters, contains(\"A\")", "number; 1 if a string is in it, else 0"},
    entry{R"x(occurrences("A", "B"))x", "how often the strings occur"},
    entry{"lower_contains(\"a\")", "contains, of the text in lower case"},
    entry{R"x(language("en", "de"))x", "its language is one of these (CLD2)"},
    entry{"language_share(\"en\")", "its share; language_reliable: as CLD2 reports"},
    entry{"known_characters(\"FILE\")", "share of characters that the file has"},
    entry{"E_count, E_count(CONDITION)", "elements; those for which it holds"},
    entry{"E_share(CONDITION)", "the share of these"},
    entry{"E_characters, longest_E", "of all, or of (CONDITION); of the longest"},
    entry{"duplicate_Es", "equal to an earlier one; duplicate_E_characters"},
    entry{"words_of(\"A\"), tokens_of", "words that are one of the strings"},
    entry{R"x(distinct_words_of("A", "B"))x", "strings that are words of the text; or tokens"},
    entry{"top_ngram_characters(N)", "of the most frequent sequence of N tokens"},
    entry{"duplicate_ngram_characters(N)", "of repeated sequences of N tokens"},
    entry{"top_ngram_covered(N)", "characters that such sequences of words cover;"},
    entry{"duplicate_ngram_covered(N)", "with the blanks between the words"},
};

constexpr std::array element_names = {
    entry{"bytes, characters, letters", "numbers; punctuation: characters that are"},
    entry{"words, longest_word", "number of words; characters of the longest"},
    entry{R"x(occurrences("#"), runs("#"))x", "of the string; longest runs of it"},
    entry{"starts(\"A\"), ends, lower_ends", "without white space at its ends"},
    entry{"has_suffix(\"A\")", "as ends, with white space at its end"},
    entry{"contains(\"A\"), lower_contains", "one of the strings"},
    entry{R"x(is("A", "B"))x", "equal to one of the strings"},
    entry{"ends_with_punctuation", "with a mark that ends sentences, in any script"},
};

constexpr std::array condition_names = {
    entry{"digit", "share of a bucket of --buckets, 0 to 1"},
    entry{"count(digit)", "count of a bucket; share(digit) is its share"},
    entry{"letters.other", "SCHEME.BUCKET, if several schemes have such a bucket"},
    entry{"a-d, non-ascii", "hyphens, blanks need no quotes: the longest bucket name"},
    entry{"", "wins; a - d is a subtraction"},
    entry{"'1st', \"#1\"", "quoted: names that begin with a digit or a symbol"},
    entry{"bytes, lines", "size of the text; words: --help units"},
    entry{"entropy, jsd, ...", "measures, whether or not --measures selects them"},
    entry{"conditional_entropy", "with --pairs; SCHEME.conditional_entropy for several"},
    entry{"match(NAME)", "with --match: lines that match"},
    entry{"p99(bytes)", "with --each: a quantile of a formula of units;"},
    entry{"", "sum(bytes) and mean(bytes) likewise"},
    entry{"0.15, 2e-3, 64KiB", "numbers and sizes"},
};

constexpr std::array damage_words = {
    entry{"INCOMPLETE", "not all of the input was counted and verified"},
    entry{"unverified", "text that was decoded, but its frame, member or stream is"},
    entry{"", "damaged or ends early; not in the totals"},
    entry{"compressed offset", "place in the file, from 0, where decoding stopped; the"},
    entry{"", "damaged byte may be before or after it. --skip-damage:"},
    entry{"", "'skipped from' is the start of the damaged frame"},
    entry{"offset (archives)", "of a header, of data (zip), or how far it was read"},
};

constexpr std::array damage_fields = {
    entry{"error_kind", "damaged, refused (a limit, not supported), unreadable,"},
    entry{"", "stopped, not_read, not_counted (engine), out_of_memory"},
    entry{"lost", "list of --skip-damage: compressed_begin (of the frame),"},
    entry{"", "compressed_end (where decoding resumed, or end), error,"},
    entry{"", "text_offset (place of the gap), unverified_bytes"},
};

constexpr std::array damage_options = {
    entry{"--skip-damage", "continues at the next frame, member, block or stream, if"},
    entry{"", "any (zstd, gzip, xz, lzip, bzip2, lz4). Others end at the"},
    entry{"", "damage, also .tar.gz. zip continues with the next member"},
    entry{"", "With 'filter', only units with damaged text are dropped"},
    entry{"--count-unverified", "adds unverified text to the totals, and reads no more"},
};

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  out.resize(std::max(out.size() + 1, width), ' ');
  return out;
}

template <std::size_t Rows>
std::string listed(const std::array<entry, Rows>& entries, std::size_t name_width) {
  std::string text;
  for (const entry& each : entries) {
    text += "  " + padded(each.name, name_width);
    if (!each.unit.empty()) text += padded(each.unit, 13);
    text += std::string(each.text) + "\n";
  }
  return text;
}

std::string about_conditions() {
  std::string text =
      wrapped(
          "Conditions compare counts and measures with numbers. --fail-if CONDITION prints a message where the "
          "condition holds, and makes the exit status 3; --alert-if CONDITION only prints the message.",
          0) +
      "\nOperators, those that bind tightest first; parentheses group:\n ";
  for (const std::string& each : operator_levels()) text += "  " + each;
  text += "\n\nOperands:\n" + listed(condition_names, 21);
  return text + "\n" +
         wrapped(
             "Conditions are checked for inputs, windows and totals; --watch restricts this. --fail-fast ends "
             "the run when a condition holds. If an operand has no value (a measure of too few bytes), neither "
             "the comparison nor its negation holds.",
             0) +
         "\nExamples:\n"
         "  gpuhist --fail-if 'digit > 0.15 || entropy > 7.5 && bytes > 4K' access.log\n"
         "  gpuhist --fail-if 'non-ascii > 0.1' --watch inputs *.txt\n"
         "  gpuhist -b letters --fail-if '!(a-d >= e-h / 2)' book.txt\n"
         "  gpuhist --baseline good.json --fail-if 'jsd > 0.05' --fail-fast *.log\n"
         "  gpuhist --window 1MiB --format jsonl --alert-if 'count(control) > 99' a.log\n";
}

std::string about_measures() {
  return wrapped(
             "Measures are statistics of the counts of all 256 byte values, for the totals, each input and each "
             "window. --measures NAMES selects them: names separated by commas, or all.",
             0) +
         "\n" + listed(measures, 19) + "\nCompared with --baseline RESULT.json, or --baseline previous:N (windows):\n" +
         listed(comparing_measures, 19) + "\n" +
         wrapped(
             "Each measure states the size of its sample in bytes. If the sample is too small, a reason replaces the "
             "value. Conditions may use every measure.",
             0) +
         "\nExamples:\n"
         "  gpuhist --measures entropy,chi2_p,mean access.log\n"
         "  gpuhist --byte-counts --format json -o good.json monday.log\n"
         "  gpuhist --baseline good.json --measures jsd,icd_p tuesday.log\n"
         "\nThe option: gpuhist --help --measures. Conditions: gpuhist --help conditions\n";
}

std::string about_windows() {
  return wrapped(
             "A window is a part of the text with its own counts. --window EXTENT writes a line of JSON for each "
             "window as soon as it is counted. The result follows. The format is jsonl, which --window selects.",
             0) +
         "\nA window is:\n" + listed(windows, 22) + "\nHow the text is divided:\n" + listed(window_steps, 22) +
         "\nFields of a line:\n" + listed(window_fields, 26) + "\n" +
         wrapped(
             "Windows of compressed text are written before it is verified; frames are decoded in sequence. "
             "--fail-if and --alert-if check each window; --baseline previous:N compares a window with the N "
             "windows before it.",
             0) +
         "\nExamples:\n"
         "  producer | gpuhist --window 10s --step 1s --format jsonl\n"
         "  gpuhist --window 1MiB --per-input --format jsonl -o windows.jsonl *.log\n"
         "  gpuhist --window 64KiB --alert-if 'entropy > 7' --format jsonl app.log\n";
}

std::string about_units() {
  return wrapped(
             "A unit is a part of the text that is measured by itself: --each UNIT. No unit spans two inputs, or a gap "
             "of --skip-damage. The end of an input ends its last unit.",
             0) +
         "\nA unit is:\n" + listed(unit_kinds, 27) + "\nWhat is reported of units:\n" + listed(unit_options, 27) +
         "\nFields of a line of kind 'unit' (--where, --format jsonl):\n" + listed(unit_fields, 27) + "\n" +
         wrapped(
             "Names in formulas are those of conditions (--help conditions), and 'words': beginnings of words, which "
             "are separated by space, \\t, \\n, \\v, \\f or \\r (not of inputs and windows). A unit without a value (a "
             "measure of too few bytes) is neither selected nor listed.",
             0) +
         "\n" +
         wrapped(
             "--jsonl-field FIELD measures the decoded string in this field of each line, a JSON object. Lines without "
             "field (malformed, no string, nested deeper than 1024, longer than 1/64 of --memory-limit or 2 GiB) have "
             "no values; 'without_field' in the result counts them, except blank ones.",
             0) +
         "\nExamples:\n"
         "  gpuhist --each line --where 'digit > 0.9 && bytes > 80' access.log\n"
         "  gpuhist --each line --distribution-of non-ascii --top 10:bytes *.txt\n"
         "  gpuhist --each 64KiB --top 5:entropy disk.img\n"
         "  gpuhist filter --drop-if 'digit > 0.9' -o clean.log access.log\n"
         "  gpuhist filter --jsonl-field text --preset gopher x.jsonl -o y.jsonl\n"
         "  gpuhist filter -r --drop-if 'digit > 0.9' --output-dir clean --resume logs\n";
}

std::string about_texts() {
  std::string text =
      wrapped(
          "Formulas of lines and records (--where, --top, --distribution-of, filter) can read the text of a unit, or "
          "of the "
          "field of --jsonl-field: E is line, row, segment, paragraph, block, sentence, word, token or url "
          "(docs/texts.md).",
          0) +
      "\nOf the text:\n" + listed(text_names, 31) + "\nIn CONDITION, of an element:\n" + listed(element_names, 31) +
      "\n" +
      wrapped(
          "Characters are code points. Strings are in quotes, with the escapes \\n \\t \\r \\\\ \\\" and \\'. What is "
          "true or "
          "false needs no comparison: !ends(\".\"). A text of more than 1/64 of --memory-limit or 2 GiB is unknown.",
          0) +
      "\nExamples:\n"
      "  gpuhist --each line --where 'word_share(letters > 0) < 0.8' a.txt\n"
      "  gpuhist --each line --jsonl-field text --distribution-of word_count a.jsonl\n"
      "  gpuhist filter --drop-if 'lower_contains(\"lorem ipsum\")' -o b.txt a.txt\n";
  return text;
}

std::string about_events() {
  return wrapped(
             "--match counts the lines in which an expression matches, --group-by those with the same key, --window "
             "TIME --event-time those of a minute or an hour.",
             0) +
         "\nKeys of --group-by, and of number(\"...\") in formulas:\n" + listed(line_keys, 27) +
         "\nFormats of times (--event-time alone: all of them, --event-time=NAME: one):\n" + listed(event_formats, 27) +
         "\n" +
         wrapped(
             "A line without a time belongs to the line before it. Times without a zone are those of --time-zone, or "
             "UTC. A time without a year is the last one before the file changed.",
             0) +
         "\nFields of the result (--format json):\n" + listed(event_fields, 27) + "\n" +
         wrapped(
             "In formulas of lines match(NAME) is 1 or 0, alone a condition; in conditions of --fail-if and --alert-if "
             "it is the number of lines, of the totals, inputs and windows.",
             0) +
         "\nExamples:\n"
         "  gpuhist --window 1m --event-time --match error=ERROR app.log.zst\n"
         "  gpuhist --match error=ERROR --alert-if 'match(error) / lines > 0.05' a.log\n"
         "  gpuhist filter --keep-if 'match(e)' --match e='ERROR|FATAL' a.log.zst\n"
         "  gpuhist --each line --distribution-of 'number(\"json:ms\")' a.jsonl\n";
}

std::string about_formats() {
  return "Formats of reports (--format FORMAT):\n" + listed(report_formats, 12) +
         "\nFormats of inputs (--input-format FORMAT):\n" + listed(input_formats, 15) + "\n" +
         wrapped(
             "Except with auto and raw, every input must have this format. With auto the content decides; a notice "
             "says where the name of the input promises another format. tar, zip, 7z and cpio are archives: each file "
             "in them is an input of the result.",
             0) +
         "\nExamples:\n"
         "  gpuhist --format json -o counts.json backup.tar.zst\n"
         "  gpuhist --input-format raw --measures entropy backup.zst\n"
         "  gpuhist --format prometheus -o gpuhist.prom access.log\n";
}

std::string about_damage() {
  return wrapped(
             "gpuhist verifies compressed inputs and archives while it counts. Exit status 0: each input was read to "
             "its end, and its checksums match. (tar, lzma and compress have none for content.) 1: an input failed or "
             "is incomplete; standard error has its name and the cause.",
             0) +
         "\nWords in messages and results:\n" + listed(damage_words, 20) + "\nFields of an input (--format json):\n" +
         listed(damage_fields, 20) + "\nOptions:\n" + listed(damage_options, 20) + "\n" +
         wrapped(
             "--pass-through=text saves what can be decoded, before its checksum is compared. If one compressed input "
             "is read without --skip-damage, its verified text is the first part of the output, as long as 'bytes' "
             "of the result.",
             0) +
         "\nExamples:\n"
         "  gpuhist *.zst >/dev/null && echo intact\n"
         "  gpuhist --format json *.gz | jq '.inputs[] | select(.error) | .name, .error'\n"
         "  gpuhist --skip-damage --format json broken.zst\n"
         "  gpuhist --pass-through=text -o counts.txt broken.gz >saved.txt\n";
}

std::string about_presets() {
  std::string text = wrapped(
      "A preset has rules that others published for the quality of text corpora, or a part of them: conditions that "
      "hold "
      "for a unit (a line, a record, a document in a field) that the rules remove, and the buckets that these need. "
      "gpuhist --help NAME shows the rules of one. The result counts what each rule removes.",
      0);
  text += "\n";
  for (const preset& each : preset_table()) {
    text +=
        "  " + std::string(each.name) + ", " + std::string(each.covers) + ":\n    " + std::string(each.summary) + "\n";
  }
  return text + "\n" +
         wrapped(
             "fineweb, gopher and nemo count bytes, words and lines, and are faster. The others read the text. Their "
             "decisions are those of the packages they are from, except for the division into words: docs/presets.md.",
             0) +
         "\nExamples:\n"
         "  gpuhist filter --jsonl-field text --preset gopher-quality -o b.jsonl a.jsonl\n"
         "  gpuhist filter --preset nemo --result removed.jsonl -o kept.txt docs.txt\n"
         "  gpuhist --each record --preset gopher --preset nemo docs.bin\n";
}

constexpr std::array topics = {
    help_topic{"conditions", about_conditions}, help_topic{"measures", about_measures},
    help_topic{"windows", about_windows},       help_topic{"units", about_units},
    help_topic{"texts", about_texts},           help_topic{"formats", about_formats},
    help_topic{"damage", about_damage},         help_topic{"presets", about_presets},
    help_topic{"events", about_events},
};

}  // namespace

std::span<const help_topic> help_topic_table() { return topics; }

std::string about(const preset& row) {
  const auto listed_rules = [&](std::span<const preset_rule> rules) {
    std::string lines;
    for (const preset_rule& rule : rules) {
      lines += wrapped(std::string(row.name) + "." + std::string(rule.name) + ": " + std::string(rule.condition), 4);
    }
    return lines;
  };
  std::string text = "--preset " + std::string(row.name) + "\n" + wrapped(row.summary, 4);
  text += wrapped("From: " + std::string(row.source) + ". It is " + std::string(row.covers) + ".", 4);
  if (!row.schemes.empty()) text += "\nBuckets:\n";
  for (const std::string_view definition : row.schemes) text += wrapped(definition, 4);
  if (!row.rewriting.empty()) text += "\nThe text of --jsonl-field is rewritten in these steps:\n";
  text += listed_rules(row.rewriting);
  return text + "\nRemoved if one of these holds:\n" + listed_rules(row.rules);
}

const help_topic* find_help_topic(std::string_view name) {
  const auto* const found = std::ranges::find(topics, name, &help_topic::name);
  return found == topics.end() ? nullptr : found;
}

}  // namespace gpuhist::config
