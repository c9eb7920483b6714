#include "config/option_table.hpp"

#include "config/option_values.hpp"
#include "config/size.hpp"
#include "config/usage_error.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

namespace gpuhist::config {
namespace {

constexpr command_set counting_runs = set_of(command::count);
constexpr command_set with_buckets = counting_runs | set_of(command::report);
constexpr command_set repacking_runs = set_of(command::repack);
constexpr command_set filtering_runs = set_of(command::filter);
constexpr command_set change_runs = set_of(command::changes);
constexpr command_set log_runs = change_runs | set_of(command::diff);
constexpr command_set sampling_runs = set_of(command::sample);
constexpr command_set text_runs = counting_runs | filtering_runs;
constexpr command_set reading_runs = text_runs | repacking_runs | sampling_runs;
constexpr command_set reporting = with_buckets | set_of(command::devices);
constexpr command_set batch_runs = set_of(command::batch);
constexpr command_set merging_runs = set_of(command::merge);
constexpr command_set writing_commands =
    reporting | log_runs | repacking_runs | filtering_runs | batch_runs | sampling_runs;
constexpr command_set every_command = writing_commands | merging_runs;

constexpr bool rare = true;
constexpr bool common = false;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
constexpr std::uint64_t gib = std::uint64_t{1} << 30U;

constexpr std::string_view inputs = "Inputs";
constexpr std::string_view counting = "Counting";
constexpr std::string_view measuring = "Measures";
constexpr std::string_view output = "Output";
constexpr std::string_view engines = "Engines";
constexpr std::string_view tuning = "Tuning";
constexpr std::string_view filtering = "Filtering";
constexpr std::string_view resuming = "Resuming";
constexpr std::string_view jobs = "Jobs";
constexpr std::string_view repacking = "Repacking";
constexpr std::string_view sampling = "Sampling";
constexpr std::string_view general = "General";

using value = const std::string&;
using values = given_values;

// An effect from a function without captures: of a target and a value, or all values, with or without the row.
template <typename Function>
struct effect_of {
  template <typename Target>
  static void call(Target& to, const option_row& row, given_values given) {
    if constexpr (std::is_invocable_v<Function, Target&, const option_row&, value>) {
      Function{}(to, row, given.back());
    } else if constexpr (std::is_invocable_v<Function, Target&, values>) {
      Function{}(to, given);
    } else {
      Function{}(to, given.back());
    }
  }
};

template <typename Function>
constexpr option_effect on_counting(Function /*unused*/) {
  return {.on_counting = effect_of<Function>::template call<counting_options>};
}

template <typename Function>
constexpr option_effect on_run(Function /*unused*/) {
  return {.on_run = effect_of<Function>::template call<file_options>};
}

/// `text`: the value that it has set, for the identity of a job; empty: the default.
template <typename Function>
constexpr option_effect on_run(Function effect, std::string (*text)(const file_options&)) {
  option_effect made = on_run(effect);
  made.text = text;
  return made;
}

template <typename Function>
constexpr option_effect on_command(Function /*unused*/) {
  return {.on_command = effect_of<Function>::template call<options>};
}

constexpr option_rules rules(decision decides, std::string_view needs = {}, std::string_view excludes = {}) {
  return {.decides = decides, .needs = needs, .excludes = excludes};
}

std::string encoding_text(const file_options& run) {
  constexpr std::array<std::string_view, 5> names{"", "utf-8", "utf-16", "utf-16le", "utf-16be"};
  return std::string(names.at(static_cast<std::size_t>(run.encoding)));
}

template <typename Field>
std::string text_of(const Field& field) {
  if constexpr (std::is_same_v<Field, bool>) {
    return field ? "true" : "";
  } else if constexpr (std::is_integral_v<Field>) {
    return field == 0 ? "" : std::to_string(field);
  } else {
    return field;
  }
}

// A flag, or a number or a size within the range of the row.
template <typename Field>
Field parsed(const option_row& row, value typed) {
  if constexpr (std::is_same_v<Field, bool>) {
    return parse_switch(typed) == "true";
  } else if constexpr (std::is_integral_v<Field>) {
    const bool is_size = row.kind == value_kind::size;
    return static_cast<Field>(is_size ? parse_size(typed, row.rules.range) : parse_number(typed, row.rules.range));
  } else {
    return parse_text(typed, row.remedy());
  }
}

// The effect of an option that sets one field of the options: of a counter, of a run, or of the command.
template <auto Member>
struct field_effect;

template <typename Target, typename Field, Field Target::* Member>
struct field_effect<Member> {
  static void set(Target& to, const option_row& row, values given) { to.*Member = parsed<Field>(row, given.back()); }

  static constexpr option_effect made() {
    if constexpr (std::is_same_v<Target, counting_options>) {
      return {.on_counting = set, .text = [](const file_options& from) { return text_of(from.counting.*Member); }};
    } else if constexpr (std::is_same_v<Target, file_options>) {
      return {.on_run = set, .text = [](const file_options& from) { return text_of(from.*Member); }};
    } else {
      return {.on_command = set};
    }
  }
};

template <auto Member>
constexpr option_effect field = field_effect<Member>::made();

// The value of an enumeration, in the order of the choices.
template <typename Kind>
Kind chosen(const option_row& row, value typed, std::initializer_list<Kind> kinds) {
  return kinds.begin()[parse_choice(typed, row.choice_names())];
}

// A number is for the table of inputs, N:FORMULA for units.
void set_rows(options& to, const option_row& row, values given) {
  for (const std::string& each : given) {
    if (each.find(':') == std::string::npos) {
      to.top = parse_rows(each);
    } else {
      row.effect.on_counting(to.run.counting, row, {&each, 1});
    }
  }
}

unit_options& units_in(counting_options& of) { return of.units ? *of.units : of.units.emplace(); }
tree_options& trees_in(file_options& of) { return of.trees ? *of.trees : of.trees.emplace(); }
list_options& list_in(file_options& of) { return of.list ? *of.list : of.list.emplace(); }

// group, names, value, kind, choices, commands, rare, help, detail, example, effect
constexpr std::array rows = {
    option_row{
        inputs, "-r,--recursive", "", value_kind::flag, "", text_runs | log_runs | sampling_runs, common,
        "count the files below directories as well",
        "Counts all regular files below the directories among the inputs, depth first, in the byte order of their "
        "names. Without it a directory is an error. Symbolic links, FIFOs, sockets and devices are skipped, and the "
        "result reports how many. A directory or file that cannot be read is an error; the rest is counted.",
        "gpuhist -r --include '*.log' /var/log", on_run([](file_options& o, value v) {
          if (v == "true") static_cast<void>(trees_in(o));
        })},
    option_row{inputs, "--files-from", "FILE", value_kind::file, "",
               text_runs | batch_runs | change_runs | sampling_runs, rare,
               "read more names of inputs from FILE, one per line",
               "Reads more names of inputs from FILE, one per line ('-': standard input). They are counted after the "
               "inputs of the command line. Empty lines are ignored. The list is read while the inputs are counted, so "
               "a long list costs no memory. If the list is standard input, '-' cannot be an input. Default: none.",
               "find . -name '*.log' -print0 | gpuhist -0 --files-from -", on_run([](file_options& o, value v) {
                 list_in(o).path = parse_text(v, "give a path, or - for standard input");
               })},
    option_row{inputs, "-0,--null", "", value_kind::flag, "", text_runs | batch_runs | change_runs | sampling_runs,
               rare, "names of --files-from end in NUL",
               "Reads names that end in a NUL byte from the list of --files-from, as 'find -print0' writes them. Such "
               "names may contain every other byte. Without it, names end in a line feed.",
               "find . -type f -print0 | gpuhist --null --files-from -",
               on_run([](file_options& o, value v) { list_in(o).terminator = v == "true" ? '\0' : '\n'; }),
               rules(decision::nothing, "files-from")},
    option_row{inputs, "--include", "GLOB", value_kind::list, "", text_runs | batch_runs | log_runs | sampling_runs,
               rare, "with -r: only files that match (repeatable)",
               "Counts only files below directories (-r) that match one of the patterns. The syntax is that of the "
               "shell: *, ?, [...] and \\, applied to bytes; a leading dot is matched like any other byte. A pattern "
               "without a slash is compared with the last component of the name. A pattern with a slash is compared "
               "with the whole path below the named directory: there * does not match a slash, and ** as a component "
               "matches any number of components. May be repeated. Default: all files.",
               "gpuhist -r --include '*.log' --include '*.txt' /srv",
               on_run([](file_options& o, values v) { trees_in(o).include = parse_patterns(v); }),
               rules(decision::nothing, "recursive")},
    option_row{inputs, "--exclude", "GLOB", value_kind::list, "", text_runs | batch_runs | log_runs | sampling_runs,
               rare, "with -r: no files or directories that match",
               "Leaves out files and directories below directories (-r) that match one of the patterns; of a "
               "directory, everything in it. Patterns have the syntax of --include; a pattern that ends in a slash "
               "matches directories only. --exclude has precedence over --include. May be repeated. Default: nothing.",
               "gpuhist -r --exclude .git/ --exclude 'build/**/*.o' src",
               on_run([](file_options& o, values v) { trees_in(o).exclude = parse_patterns(v); }),
               rules(decision::nothing, "recursive")},
    option_row{inputs, "--follow-symlinks", "", value_kind::flag, "", text_runs | batch_runs | log_runs | sampling_runs,
               rare, "with -r: follow symbolic links as well",
               "Follows symbolic links below directories (-r). The target is counted under the name of the link, also "
               "if it is counted under another name. A link to a directory that contains the link is skipped. Links "
               "among the inputs themselves are always followed.",
               "gpuhist -r --follow-symlinks /srv/logs",
               on_run([](file_options& o, value v) { trees_in(o).follow_symlinks = v == "true"; }),
               rules(decision::nothing, "recursive")},
    option_row{inputs, "--input-format", "FORMAT", value_kind::choice,
               "auto raw zstd gzip xz lzma lzip bzip2 lz4 compress snappy hadoop-snappy hadoop-lz4 brotli zlib deflate "
               "tar zip 7z cpio ar rpm",
               reading_runs | batch_runs | log_runs, common, "auto, raw, zstd, gzip, xz, ..., tar, zip, 7z, cpio",
               "Sets the format of the inputs: auto, raw, zstd, gzip, xz, lzma, lzip, bzip2, lz4, compress, snappy, "
               "hadoop-snappy, hadoop-lz4, brotli, zlib, deflate, tar, zip, 7z, cpio, ar or rpm. 'auto' detects the "
               "format of each input by its content; a notice says where its name "
               "promises another one (--strict-names). 'raw' counts the bytes without decoding, also those of "
               "archives. The names of compressed formats require that format, and count the decompressed bytes, even "
               "if these are an archive. Some have no magic number, so 'auto' recognises them only by name: 'lzma' by "
               ".lzma and .tlz, 'brotli' by .br, 'hadoop-snappy' by .snappy; never 'hadoop-lz4' and 'deflate'. 'tar', "
               "'zip', '7z', 'cpio', 'ar' and 'rpm' count the members of such archives, compressed or not. Default: "
               "auto.",
               "gpuhist --input-format raw backup.zst", field<&file_options::format>, rules(decision::text)},
    option_row{inputs, "--zstd-dictionary", "FILE", value_kind::file, "", reading_runs | batch_runs | log_runs, rare,
               "dictionary of the zstd archives",
               "Decompresses zstd archives with this dictionary ('zstd -D', 'zstd --train'), or with that in the first "
               "frame of this .warc.zst file. Frames name their dictionary by a number; a frame that needs another one "
               "is an error of its input. A .warc.zst file with its own dictionary needs no option. Default: none.",
               "gpuhist --zstd-dictionary logs.dict small/*.zst", field<&file_options::dictionary>,
               rules(decision::text)},
    option_row{inputs, "--max-output", "SIZE", value_kind::size, "", text_runs | batch_runs, rare,
               "stop at archives that decompress to more",
               "Stops reading a compressed input that decompresses to more than SIZE, and reports it as an error. "
               "Frames that end before SIZE are counted. Frames of a pipe, and those whose text is passed through or "
               "measured in units, are then decoded one after the other. Default: no limit.",
               "gpuhist --max-output 100GiB upload.zst", field<&file_options::max_output>, rules(decision::counts)},
    option_row{inputs, "--skip-damage", "", value_kind::flag, "", text_runs | batch_runs | log_runs, rare,
               "continue after damage in a compressed input",
               "Continues after a damaged part of a compressed input, at the next intact frame or member. An input of "
               "one frame has no next one: nothing more of it is read. The field 'lost' of the JSON result lists the "
               "lost parts, with their offsets in the compressed input and in the text. The input stays incomplete, "
               "and the exit status is 1. 'gpuhist filter' drops the units with text of a damaged part, holds the text "
               "of each frame or member until it is verified, and publishes the output.",
               "gpuhist --skip-damage --format json broken.zst", field<&file_options::skip_damage>,
               rules(decision::counts)},
    option_row{
        inputs, "--strict-names", "", value_kind::flag, "", text_runs | batch_runs | log_runs, rare,
        "refuse inputs whose content differs from the name",
        "Refuses an input, or a member of an archive, whose content is not what the suffix of its name promises, such "
        "as text named .gz. Without this option the content decides, and a notice names the difference.",
        "gpuhist --strict-names -r incoming/", field<&file_options::strict_names>, rules(decision::counts)},
    option_row{
        inputs, "--text-encoding", "NAME", value_kind::choice, "auto utf-8 utf-16 utf-16le utf-16be",
        text_runs | batch_runs | log_runs, rare, "encoding of the text: auto, utf-8, utf-16, ...",
        "Sets the encoding of the text of all inputs, after decompression. Text in UTF-16 is converted to UTF-8, "
        "which is counted: bytes, lines, words, units and their offsets are those of the text in UTF-8, without "
        "its byte order mark. Surrogates without a partner, and an incomplete character at the end, are counted "
        "as U+FFFD, with a notice. 'auto' takes a text with a byte order mark of UTF-16 as UTF-16, and others as "
        "they are. 'utf-8' counts all as they are. 'utf-16' takes the byte order of the mark, or else little "
        "endian, as 'utf-16le'; 'utf-16be' is big endian. Default: auto.",
        "gpuhist --text-encoding utf-16le windows.log",
        on_run(
            [](file_options& o, const option_row& row, value v) {
              using enum text_encoding;
              o.encoding = chosen(row, v, {automatic, utf8, utf16, utf16le, utf16be});
            },
            encoding_text),
        rules(decision::text)},
    option_row{
        inputs, "--fail-on-unknown", "", value_kind::flag, "", text_runs | batch_runs | log_runs, rare,
        "refuse what looks compressed in no known format",
        "Refuses an input, or a member of an archive, whose first bytes look compressed or encrypted, and are of "
        "no format that gpuhist knows. Without this option its bytes are counted as they are, with a notice. "
        "Known formats that gpuhist does not read (Parquet, rar, journals of systemd, ...) are always refused, "
        "unless --input-format raw is given.",
        "gpuhist --fail-on-unknown -r logs/", field<&file_options::fail_on_unknown>, rules(decision::counts)},
    option_row{
        inputs, "--follow", "", value_kind::flag, "", counting_runs, rare,
        "count what is appended to files, until a signal",
        "Counts the files and everything that is appended to them, until a signal. Files are followed by name: through "
        "rotation (rename and create), through truncation, and while they do not exist. With -r, files that appear "
        "below the directories are followed, too. At the signal, the bytes that the files contain by then are counted "
        "and reported. With --snapshot-every, counts are also written while the run lasts. Conditions (--fail-if, "
        "--alert-if) are checked for the bytes counted so far at every snapshot, or once a second. Windows of "
        "--event-time close 10s after their end (--allowed-lateness). Only plain text can be followed. Bytes that are "
        "written between the last read of a file and its truncation (copytruncate of logrotate) are missed; a "
        "truncation is reported.",
        "gpuhist --follow --snapshot-every 10s /var/log/syslog", field<&file_options::follow>},
    option_row{inputs, "--pass-through", "[=WHAT]", value_kind::choice, "raw text", counting_runs, common,
               "copy the input to standard output (raw, text)",
               "Writes the input to standard output, at once and in order, and counts it. 'raw', or the option alone, "
               "writes the bytes of the inputs unchanged and in sequence, as cat does, also those that cannot be "
               "decoded. 'text' writes the decompressed text, and the members of archives in sequence. The report is "
               "written to --output, or else to standard error. Bytes are written before their frame is verified. A "
               "slow consumer slows down the producer. If the consumer closes the pipe, the run ends by SIGPIPE, after "
               "the report. Default: the input is not written.",
               "producer | gpuhist --pass-through -o counts.txt | consumer",
               on_run([](file_options& o, const option_row& row, value v) {
                 using enum pass_through_options::content;
                 o.pass_through = {.forwarded = chosen(row, v == "true" ? "raw" : v, {input, text})};
               })},
    option_row{inputs, "--label", "NAME", value_kind::text, "", text_runs | change_runs, rare,
               "name of standard input in the result",
               "Sets the name of standard input in the result. Default: (standard input).",
               "cat *.log | gpuhist --label 'all logs' --format json", field<&file_options::label>},

    option_row{counting, "-b,--buckets", "SCHEMES", value_kind::list, "letters alphabet bytes classes utf8",
               with_buckets | filtering_runs | batch_runs | merging_runs | log_runs | sampling_runs, common,
               "classes (default), letters, alphabet, bytes, utf8",
               "Selects the schemes that put bytes into buckets. letters: a-d e-h i-l m-p q-t u-x y-z, lower case; "
               "alphabet: the 26 lower case letters; bytes: all 256 values; classes: upper, lower, digit, space, "
               "punctuation, control, non-ascii; utf8: ascii, continuation, lead-2, lead-3, lead-4 (first bytes of 2, "
               "3 and 4), never-utf8 (byte values that never occur in UTF-8). Several are separated by commas, and the "
               "option may be repeated; all are counted in one pass. A value that contains '=' defines one scheme: "
               "[NAME:]bucket=characters;bucket=characters, with ranges a-z and the escapes \\n \\t \\r \\0 \\\\ \\- "
               "\\; \\= \\: \\, \\xNN. Bytes outside every bucket are 'other'. Default: classes.",
               "gpuhist -b letters,bytes -b 'vowels=aeiou;digits=0-9' access.log",
               on_counting([](counting_options& o, values v) { o.schemes = parse_buckets(v); }), rules(decision::text)},
    option_row{counting, "--ignore-case", "", value_kind::flag, "",
               with_buckets | filtering_runs | batch_runs | sampling_runs, rare, "count A-Z as a-z",
               "Counts A-Z as a-z in all buckets. The byte counts of --byte-counts do not change.",
               "gpuhist --ignore-case --buckets alphabet book.txt", field<&counting_options::ignore_case>,
               rules(decision::text)},
    option_row{counting, "--byte-counts", "", value_kind::flag, "", counting_runs | batch_runs, rare,
               "keep all 256 counts, for 'gpuhist report' (json)",
               "Adds the counts of all 256 byte values to the result, so that 'gpuhist report' can show it by any "
               "scheme later. Useful with --format json or jsonl.",
               "gpuhist --byte-counts --format json --output counts.json *.log", field<&counting_options::byte_counts>,
               rules(decision::counts)},
    option_row{
        counting, "--pairs", "", value_kind::flag, "", with_buckets | batch_runs, rare,
        "count how often each bucket follows each bucket",
        "Counts pairs of neighbouring bytes: how often a byte of bucket A is followed by a byte of bucket B, for every "
        "scheme of --buckets. The schemes may divide the byte values into at most 32 classes together. No pair spans "
        "two inputs, or a damaged or lost part. A pair belongs to the window of its second byte. The result has the "
        "matrix of counts, the conditional entropy, and the pairs that are much more frequent than in independent "
        "bytes. 'gpuhist report' shows the pairs that results contain: those of the same schemes.",
        "gpuhist --pairs --buckets letters access.log",
        on_counting([](counting_options& o, value v) { o.pairs = v == "true"; }), rules(decision::counts)},
    option_row{counting, "--utf8", "", value_kind::flag, "", counting_runs | batch_runs, rare,
               "validate UTF-8: malformed sequences, scripts",
               "Validates the text of every input as UTF-8, besides counting it. The totals and each input then have "
               "the number of malformed sequences, their bytes, the offset and line of the first one (of an input), "
               "and the number of code points, by script. Unverified text is included. Conditions and formulas "
               "(--fail-if, --alert-if, --columns, --sort, --each input) may contain 'malformed'; for lines, records "
               "and parts of --each they may also without --utf8. Frames of one input are decoded at the same time, by "
               "the cores. Cannot be combined with --follow.",
               "gpuhist --utf8 --fail-if 'malformed > 0' *.txt", field<&file_options::utf8>, rules(decision::counts)},
    option_row{counting, "--count-unverified", "", value_kind::flag, "", counting_runs | batch_runs, rare,
               "add unverified bytes of damaged inputs to totals",
               "Adds to the totals the bytes that were decoded from a damaged input before the error. Without it, the "
               "totals hold only verified bytes, and the other bytes are reported separately as unverified. A result "
               "that includes unverified bytes says so.",
               "gpuhist --count-unverified damaged.log.zst", field<&file_options::count_unverified>,
               rules(decision::counts)},

    option_row{measuring, "--measures", "NAMES", value_kind::list,
               "all entropy entropy_corrected chi2 chi2_p mean distinct ascii_share printable_share code_points lines "
               "mean_line_length jsd kl chi2_baseline chi2_baseline_p icd icd_p",
               with_buckets | batch_runs, rare, "all, or entropy, chi2, mean, jsd, ... (repeatable)",
               "Adds statistics of the counts of all byte values to the totals and to each input. entropy (bits a "
               "byte) and entropy_corrected (for small samples); chi2 and chi2_p, for equally frequent values; mean; "
               "distinct; ascii_share, printable_share; code_points; lines, mean_line_length. Compared with "
               "--baseline: jsd (Jensen-Shannon divergence, bits), kl, chi2_baseline and chi2_baseline_p, icd and "
               "icd_p (the idealized character distribution of Kruegel and Vigna). 'all' selects all that are "
               "possible. Each measure states the size of its sample; if the sample is too small, a reason replaces "
               "the value. A line for each: gpuhist --help measures. Default: none.",
               "gpuhist --measures entropy,chi2_p,mean --format json random.bin",
               on_counting([](counting_options& o, values v) { o.measures = parse_names(v); }),
               rules(decision::report)},
    option_row{
        measuring, "--baseline", "RESULT", value_kind::file, "", with_buckets | filtering_runs | batch_runs, rare,
        "an earlier result that measures compare with",
        "Compares with an earlier result, written as json or jsonl with --byte-counts. --measures, --fail-if, "
        "--alert-if, --columns and --sort use it. Several results in the file are added. previous:N is for --window: "
        "the sum of the N windows before the current one. Default: none.",
        "gpuhist --baseline good.json --measures jsd,icd_p access.log",
        on_counting([](counting_options& o, const option_row& row, value v) { set_baseline(o, v, row.rules.range); }),
        rules(decision::text, "measures fail-if alert-if columns sort each").between(1, 4096)},
    option_row{measuring, "--fail-if", "CONDITION", value_kind::list, "", with_buckets | batch_runs, common,
               "exit status 3 if it holds, as 'entropy > 7'",
               "Prints a message and makes the exit status 3 if the condition holds. It is checked for each input, "
               "each window and the totals (see --watch). Names are bytes, lines, measures, and buckets of --buckets: "
               "digit is the share of that bucket, count(digit) its count, classes.digit names its scheme. Numbers are "
               "0.15, 2e-3 or 64KiB; operators are + - * /, < <= > >= == !=, ! && || and parentheses. If an operand "
               "has no value, neither a comparison nor its negation holds. May be repeated. Names and examples: "
               "gpuhist --help conditions. Default: none.",
               "gpuhist --fail-if 'digit > 0.2 || entropy > 7 && bytes > 4K' *.log",
               on_counting([](counting_options& o, values v) { o.fail_if = parse_conditions(v); }),
               rules(decision::report)},
    option_row{
        measuring, "--alert-if", "CONDITION", value_kind::list, "", with_buckets | batch_runs, rare,
        "print a message if this holds",
        "Prints a message on standard error if the condition holds, as --fail-if does, and does not change the exit "
        "status. With --format jsonl, each message is also a line of kind alert. May be repeated. Default: none.",
        "gpuhist --alert-if 'entropy > 7.5' --format jsonl access.log",
        on_counting([](counting_options& o, values v) { o.alert_if = parse_conditions(v); }), rules(decision::report)},
    option_row{
        measuring, "--exec", "COMMAND", value_kind::text, "", counting_runs, rare,
        "run COMMAND for each condition that holds",
        "Runs COMMAND by /bin/sh -c for each condition of --fail-if and --alert-if that holds. Its standard input is "
        "the alert, a line of JSON as of --format jsonl; GPUHIST_CONDITION in its environment is the condition; its "
        "standard output is the standard error of gpuhist. Commands run one after the other while counting continues. "
        "At most 64 alerts wait; further ones are not passed to COMMAND, and their number is printed at the end. "
        "gpuhist ends after the last command. After a signal, no command is started, and the one that runs gets "
        "SIGTERM after 10 s. A command that fails is reported, and does not change the exit status. Default: none.",
        "gpuhist --follow --alert-if 'entropy > 7' --exec logger app.log",
        on_command([](options& o, value v) { o.exec = parse_text(v, "give a command, such as 'logger -t gpuhist'"); }),
        rules(decision::nothing, "fail-if alert-if")},
    option_row{measuring, "--watch", "WHAT", value_kind::list, "totals inputs windows", with_buckets | batch_runs, rare,
               "what conditions are checked for",
               "Selects what the conditions of --fail-if and --alert-if are checked for: totals, inputs and windows, "
               "separated by commas. For a single input, the totals are not checked again. Default: all of them.",
               "gpuhist --watch inputs --fail-if 'entropy > 7' *.log",
               on_counting([](counting_options& o, values v) { o.watch = parse_watch(v); }),
               rules(decision::report, "fail-if alert-if")},
    option_row{measuring, "--each", "UNIT", value_kind::text, "", text_runs | batch_runs, rare,
               "measure each line, record, 4KiB, input or window",
               "Divides the text into units and measures each: 'line' (with its line feed), 'record' (ends with "
               "--delimiter), 4KiB (parts of this size), 'input', 'window' (of --window), 'value' (programs). No unit "
               "spans two inputs. --where selects units, --top N:FORMULA lists those with the highest values, "
               "--distribution-of counts units by their values. The totals stay those of all bytes. Lines and records "
               "of several frames of an input are measured at the same time, parts of a size in sequence. Fields and "
               "examples: gpuhist --help units. Default: none.",
               "gpuhist --each line --where 'digit > 0.5' access.log",
               on_counting([](counting_options& o, const option_row& row, value v) {
                 set_unit(units_in(o), v, row.rules.range);
               }),
               rules(decision::text).between(1, gib)},
    option_row{measuring, "--delimiter", "BYTE", value_kind::text, "", text_runs | batch_runs, rare,
               "with --each record: the byte that ends a record",
               "Sets the byte that ends a record, and is a part of it: a character, or \\0, \\n, \\t, \\r, \\xNN. "
               "Default: \\0.",
               "gpuhist --each record --delimiter '\\x1e' --top 5:bytes records.txt",
               on_counting([](counting_options& o, value v) { units_in(o).delimiter = parse_delimiter(v); }),
               rules(decision::text, "each=record")},
    option_row{
        measuring, "--preset", "NAME", value_kind::list,
        "c4-quality fineweb fineweb-quality gopher gopher-quality gopher-repetition nemo nemo-quality nemo-repetition",
        text_runs | batch_runs, rare, "published rules for corpora: gopher-quality, nemo",
        "Adds the conditions of published rules for the quality of text corpora, and the buckets that they need: "
        "c4-quality, fineweb-quality, gopher-quality, gopher-repetition (datatrove), nemo-quality and nemo-repetition "
        "(NeMo "
        "Curator), "
        "or the parts of rules that counts of bytes, words and lines can express: fineweb (1 of 4 rules, and parts of "
        "2), gopher (3 of 8) and nemo (4 of 17 filters); see gpuhist --help presets. The units of --each for which one "
        "of the conditions holds, which the rules would remove, too, are selected as by --where; 'gpuhist filter' "
        "drops "
        "them, and the result counts those of each condition. May be repeated, and combined with other conditions. "
        "Default: none.",
        "gpuhist --each record --preset gopher documents.bin",
        on_counting([](counting_options& o, values v) { add_presets(o, parse_names(v)); }),
        rules(decision::text, "each")},
    option_row{measuring, "--where", "CONDITION", value_kind::list, "", counting_runs | batch_runs, rare,
               "with --each: report the units for which it holds",
               "Reports each unit of --each for which the condition holds, as soon as it is read: its input, number, "
               "line, offset and length, and the values of the names in the condition. The syntax is that of "
               "--fail-if; 'words' is the number of words of a line, record or part. The format is table or jsonl "
               "(json is written as jsonl). With --group-by or --event-time, these units are not reported, but only "
               "they are grouped. May be repeated: units for which one of the conditions holds. Each may have a name "
               "before =, as 'short=words < 5'; the result counts the units of each. Default: none.",
               "gpuhist --each line --where 'words > 9 && digit > 0.9' access.log",
               on_counting([](counting_options& o, values v) { add_rules(units_in(o), v); }),
               rules(decision::text, "each match match-file group-by event-time")},
    option_row{
        measuring, "--jsonl-field", "FIELD", value_kind::text, "", text_runs | batch_runs, rare,
        "with --each line: measure this field of JSONL",
        "Measures the decoded string in the field FIELD of each line, which is a JSON object (JSONL), instead of the "
        "line: its measures, counts, bytes and words. The unit is still the line: its number, offset and bytes are "
        "reported, and 'gpuhist filter' writes it as it is. A line that is not such an object is without field: it has "
        "no values, so it is not selected; 'units' of the result counts these lines, and a message names the first one "
        "of each input. Blank lines have no values, either, and are not counted so. The totals stay those of all "
        "bytes. Rules and limits: gpuhist --help units. Default: lines are measured.",
        "gpuhist --each line --jsonl-field text --where 'words < 3' x.jsonl",
        on_counting([](counting_options& o, value v) {
          units_in(o).jsonl_field = parse_text(v, "give the name of a field, such as text");
        }),
        rules(decision::text, "each=line match match-file group-by event-time")},
    option_row{
        measuring, "--without-field", "ACTION", value_kind::choice, "drop keep fail", text_runs | batch_runs, rare,
        "lines without --jsonl-field: drop, keep or fail",
        "Selects what happens to lines without the field of --jsonl-field: 'gpuhist filter' drops or keeps them, "
        "whatever the conditions, or drops them and ends with exit status 1 (fail); -o FILE is not written "
        "then. A run that only counts can fail; it selects no such line. Blank lines are not among them. Default: "
        "drop with --preset; otherwise --keep-if drops them, and --drop-if keeps them.",
        "gpuhist filter --jsonl-field t --without-field fail --preset nemo x",
        on_counting([](counting_options& o, const option_row& row, value v) {
          using enum missing_field;
          units_in(o).without_field = chosen(row, v, {drop, keep, fail});
        }),
        rules(decision::text, "jsonl-field")},
    option_row{
        measuring, "--rewrite", "STEP", value_kind::list, "", text_runs | batch_runs, rare,
        "steps that rewrite the text of --jsonl-field",
        "Rewrites the text of --jsonl-field before it is measured, in the order of the steps. 'drop CONDITION' removes "
        "the lines of the text for which the condition holds, 'cut EXPRESSION' removes what the regular expression "
        "(RE2) "
        "matches in each line, 'strip' removes white space at the ends of each line. The lines that are left are "
        "joined "
        "with line feeds. 'gpuhist filter' writes the units with the rewritten text in their field, and changes "
        "nothing "
        "else in them. Each step may have a name before =, as 'short=drop words < 3'; the result has what each "
        "removed. "
        "The names of conditions: gpuhist --help texts. Default: none, or the steps of --preset.",
        "gpuhist filter --preset nemo --jsonl-field t --rewrite strip x",
        on_counting([](counting_options& o, values v) {
          for (value each : v) units_in(o).rewrite.push_back(parse_text(each, "give a step such as strip"));
        }),
        rules(decision::text, "each")},
    option_row{
        measuring, "--duplicates", "ACTION", value_kind::choice, "count drop", text_runs | batch_runs, rare,
        "units with the text of an earlier one: count, drop",
        "Finds units of --each whose text is that of an earlier unit, in all inputs: without the line feed or "
        "delimiter, and with --jsonl-field the value of the field. count: the result has their number and bytes, and "
        "those of the different texts. drop: the same, and 'gpuhist filter' keeps the first of equal units, in the "
        "order of inputs, and reads one input after the other. Only units that are selected, or kept, are compared. A "
        "hash of 128 bits is kept of "
        "each text, in memory and beyond a part of --memory-limit in the temporary folder. Default: not looked for.",
        "gpuhist filter --jsonl-field text --duplicates drop a.jsonl",
        on_counting([](counting_options& o, const option_row& row, value v) {
          using enum duplicate_units;
          units_in(o).duplicates = chosen(row, v, {count, drop});
        }),
        rules(decision::text, "each")},
    option_row{
        measuring, "--minhash", "DIR", value_kind::text, "", text_runs, rare,
        "with --jsonl-field: write MinHash signatures",
        "Writes MinHash signatures of the field of --jsonl-field to files in DIR, which MinhashDedupBuckets of "
        "datatrove "
        "reads: bucket_BBB/NNNNN.minhash.sig for each band and input. They are those of datatrove's defaults "
        "(sequences "
        "of 5 words, 14 bands of 8 hashes, XXH64), with words that white space divides. An input that is not complete "
        "has no files. Existing files are replaced. Default: none.",
        "gpuhist --each line --jsonl-field text --minhash sigs *.jsonl", on_counting([](counting_options& o, value v) {
          units_in(o).minhash_folder = parse_text(v, "give the path of a folder");
        }),
        rules(decision::nothing, "jsonl-field")},
    option_row{
        measuring, "--distribution-of", "FORMULA", value_kind::text, "", text_runs | batch_runs, rare,
        "with --each: how many units have which value",
        "Adds to the result how many units of --each have which value of the formula: a histogram, and the lowest and "
        "the highest value, the mean, the sum and quantiles. The upper bound of a bin exceeds its lower bound by at "
        "most 1/8. Groups of --group-by and windows of --event-time have the sum, the mean and the quantiles of their "
        "lines, too. Default: none.",
        "gpuhist --each line --distribution-of bytes access.log", on_counting([](counting_options& o, value v) {
          units_in(o).distribution_of = parse_text(v, "give a formula such as bytes");
        }),
        rules(decision::counts, "each group-by event-time")},
    option_row{
        measuring, "--show-text", "", value_kind::flag, "", text_runs | batch_runs, rare,
        "the text of lines: selected, ranked, of alerts",
        "Reports the first 400 bytes of each line, record or part that --where selects (of gpuhist filter "
        "--result: that is dropped) or that --top N:FORMULA ranks, and of the first line in which an expression of a "
        "condition matches (--alert-if 'match(error) > 9'); --no-show-text never does. Default: in a table "
        "on a terminal only.",
        "gpuhist --each line --top 3:digit --show-text access.log",
        on_counting([](counting_options& o, value v) { units_in(o).show_text = v == "true"; }),
        rules(decision::report, "each match match-file")},
    option_row{
        measuring, "--quantiles", "LIST", value_kind::list, "", text_runs | batch_runs, rare,
        "with --distribution-of: percents such as 50,99.9",
        "Sets the quantiles that are reported with --distribution-of: the least values that are not below those "
        "of so many percent of the units. They are exact for whole numbers to 256, and otherwise less than 0.4 % "
        "too low. Default: 50,90,99,99.9.",
        "gpuhist --each line --distribution-of bytes --quantiles 50,99 a.log",
        on_counting([](counting_options& o, values v) { units_in(o).quantiles = parse_percents(v); }),
        rules(decision::report, "distribution-of")},
    option_row{measuring, "--match", "NAME=REGEX", value_kind::list, "", text_runs | batch_runs | log_runs, rare,
               "count the lines in which a regex matches",
               "Counts the lines, and their bytes, in which the regular expression REGEX matches, and those in which "
               "none matches. May be repeated: all expressions are searched in one pass. The syntax is that of RE2; a "
               "match is within a line. In formulas of lines, match(NAME) is 1 or 0, as in gpuhist filter --keep-if "
               "'match(error)'. Details: gpuhist --help events. Default: none.",
               "gpuhist --match error='ERROR|FATAL' --match slow='[0-9]{4}ms' a.log",
               on_counting([](counting_options& o, values v) { units_in(o).matches = parse_matches(v); }),
               rules(decision::counts)},
    option_row{measuring, "--match-file", "FILE", value_kind::file, "", text_runs | batch_runs | log_runs, rare,
               "a file with expressions of --match, one a line",
               "Reads more expressions of --match from the lines of FILE: NAME=REGEX. Blank lines and lines that begin "
               "with # are skipped. Default: none.",
               "gpuhist --match-file kinds.txt a.log", on_counting([](counting_options& o, value v) {
                 units_in(o).match_file = parse_text(v, "give the path of a file");
               }),
               rules(decision::counts)},
    option_row{measuring, "--match-ignore-case", "", value_kind::flag, "", text_runs | batch_runs | log_runs, rare,
               "with --match: letters match in both cases",
               "Expressions of --match match letters in upper and lower case. The option --ignore-case is about "
               "buckets.",
               "gpuhist --match error='error|fatal' --match-ignore-case a.log",
               on_counting([](counting_options& o, value v) { units_in(o).match_ignore_case = v == "true"; }),
               rules(decision::counts, "match match-file")},
    option_row{measuring, "--match-first", "", value_kind::flag, "", text_runs | batch_runs | log_runs, rare,
               "with --match: a line counts for the first regex",
               "Of the expressions of --match that match in a line, only the first counts, in the order in which they "
               "are given. So the numbers of lines, with those in which none matches, add up to all lines.",
               "gpuhist --match-first --match e=ERROR --match w=WARN a.log",
               on_counting([](counting_options& o, value v) { units_in(o).first_match_only = v == "true"; }),
               rules(decision::counts, "match match-file")},
    option_row{measuring, "--group-by", "KEY", value_kind::text, "", text_runs | batch_runs, rare,
               "count lines by a key: field:1, json:user, template",
               "Counts lines, bytes and buckets by a part of the line: field:N (separated by blanks; -1 is the last), "
               "csv:N or csv:NAME, json:KEY or json:/a/b, regex:REGEX (its first group), template (the line without "
               "its numbers, "
               "names and times), kind (the same with its level and message), host, app, status or level (of usual "
               "logs), language or character (of the text), name (of the input), or family (its "
               "name without rotation). The groups with the most lines are "
               "reported, with the sum of all others. With --where, only lines count for which it holds; with "
               "--event-time, windows are divided by key, too. Details: gpuhist --help events. Default: none.",
               "gpuhist --group-by field:1 access.log", on_counting([](counting_options& o, value v) {
                 units_in(o).group_by = parse_text(v, "give a key such as field:1, json:user or template");
               }),
               rules(decision::counts)},
    option_row{measuring, "--then-by", "KEY", value_kind::text, "", text_runs | batch_runs, rare,
               "with --group-by: a second key, such as template",
               "Counts lines by two keys: the groups are the pairs of keys that occur. A line without one of them "
               "has no key. The keys are those of --group-by. Default: none.",
               "gpuhist --group-by host --then-by status access.log", on_counting([](counting_options& o, value v) {
                 units_in(o).then_by = parse_text(v, "give a key such as field:1, json:user or template");
               }),
               rules(decision::counts, "group-by")},
    option_row{measuring, "--most-groups", "N", value_kind::number, "", text_runs | batch_runs, rare,
               "with --group-by: report N groups",
               "Reports the N groups of --group-by with the most lines (a table shows 20), and the sum of all others. "
               "Default: 1000.",
               "gpuhist --group-by field:1 --most-groups 100000 --format json a.log",
               on_counting([](counting_options& o, const option_row& row, value v) {
                 units_in(o).most_groups = static_cast<unsigned>(parse_number(v, row.rules.range));
               }),
               rules(decision::report, "group-by").between(1, 10'000'000)},
    option_row{measuring, "--approximate", "", value_kind::flag, "", text_runs | batch_runs, rare,
               "with --group-by: groups in bounded memory",
               "If groups need more memory than a part of --memory-limit, those with the fewest lines are removed, "
               "instead of written to the temporary file. Numbers of lines have bounds then (lines_at_most), and the "
               "number of groups is an estimate. Sums of all lines and of windows are exact, and so are values of "
               "--distribution-of, which may need the temporary file. Details: docs/events.md.",
               "gpuhist --group-by json:request_id --approximate a.log",
               on_counting([](counting_options& o, value v) { units_in(o).approximate = v == "true"; }),
               rules(decision::counts, "group-by")},
    option_row{
        measuring, "--changes", "", value_kind::flag, "", text_runs | batch_runs, rare,
        "find what changed in logs, as gpuhist changes",
        "Compares each log with itself over time, as the command gpuhist changes does: a job writes what changed to "
        "changes.txt and total.json. Logs without times are not compared, unless --window is a number of lines.",
        "gpuhist batch --changes --output-dir job logs",
        on_counting([](counting_options& o, value v) { units_in(o).changes = v == "true"; }), rules(decision::counts)},
    option_row{measuring, "--field-separator", "BYTE", value_kind::text, "", text_runs | batch_runs, rare,
               "the byte between fields of field:N and csv:N",
               "Sets the byte that separates the fields of field:N and the columns of csv: a character, or \\t, "
               "\\xNN. Default: runs of blanks and tabs for field:N, a comma for csv:N.",
               "gpuhist --group-by field:3 --field-separator ';' a.log", on_counting([](counting_options& o, value v) {
                 units_in(o).field_separator = std::string(1, parse_delimiter(v));
               }),
               rules(decision::counts, "each group-by where top distribution-of")},
    option_row{measuring, "--event-time", "[=FORMAT]", value_kind::text, "", counting_runs | batch_runs | log_runs,
               rare, "--window is a time that is written in the lines",
               "With --window 1m, windows are those of the times in the lines, whatever the order of lines and inputs. "
               "A line without a time belongs to the line before it. The usual formats of logs are recognised; FORMAT "
               "is the name of one (iso, clf, syslog, ...), json:KEY, or a pattern such as '%Y-%m-%d %H:%M:%S'. "
               "Formats and details: gpuhist --help events. Default: windows are those of arrival.",
               "gpuhist --window 1m --event-time app.log.zst", on_counting([](counting_options& o, value v) {
                 units_in(o).event_time = v == "true" ? "any" : parse_text(v, "give a format such as iso");
               }),
               rules(decision::counts, "window changes")},
    option_row{
        measuring, "--allowed-lateness", "DURATION", value_kind::interval, "", counting_runs, rare,
        "with --event-time: when windows close (10s)",
        "Windows of --event-time close while the run lasts: when a line is so much later than their end, or would "
        "be by the clock if no line follows. --format jsonl has a line for each at once, and conditions are "
        "checked for it. Lines of windows that have closed are counted as late. Requires --follow, or one input, "
        "such as a pipe. Details: gpuhist --help events. Default: 10s with --follow; otherwise windows are "
        "reported at the end, whatever the order of lines.",
        "gpuhist --follow --window 1m --event-time --allowed-lateness 5s a",
        on_counting([](counting_options& o, value v) { units_in(o).allowed_lateness = parse_duration(v); }),
        rules(decision::nothing, "event-time")},
    option_row{measuring, "--time-zone", "NAME", value_kind::text, "", counting_runs | batch_runs | log_runs, rare,
               "with --event-time: of times without a zone",
               "Sets the time zone of times that are written without one, such as Europe/Berlin. Default: UTC.",
               "gpuhist --window 1h --event-time --time-zone Europe/Berlin a.log",
               on_counting([](counting_options& o, value v) {
                 units_in(o).time_zone = parse_text(v, "give a name such as Europe/Berlin");
               }),
               rules(decision::counts, "event-time changes")},
    option_row{measuring, "--fail-fast", "", value_kind::flag, "", counting_runs, rare,
               "end the run when a condition of --fail-if holds",
               "Ends the run as soon as a condition of --fail-if holds for a finished input (in the order of the "
               "inputs), for a window, or with --follow for the bytes counted so far. The bytes counted by then are "
               "reported, as incomplete. The exit status is 3.",
               "gpuhist --fail-fast --fail-if 'ascii_share < 1' *.txt", field<&counting_options::fail_fast>},

    option_row{
        output, "--format", "FORMAT", value_kind::choice, "table json jsonl csv prometheus",
        reporting | batch_runs | merging_runs | log_runs | sampling_runs, common,
        "table (for people), json, jsonl, csv, prometheus",
        "Sets the format of the result. table: for people; json: one object; jsonl: a line per input, when it is "
        "finished, then the result; csv: the columns kind, input, scheme, bucket, count, share (an error of an input "
        "is a row); prometheus: metrics for the textfile collector of node_exporter. Default: the format that the "
        "suffix of --output names (.json, .jsonl or .ndjson, .csv, .prom); otherwise table, or jsonl with --window.",
        "gpuhist --format json access.log", on_command([](options& o, value v) {
          o.format = parse_text(v, "give table, json, jsonl, csv or prometheus");
        })},
    option_row{output, "-o,--output", "FILE", value_kind::file, "", every_command, common,
               "write the report to FILE; fd:N: descriptor N",
               "Writes the result to FILE. A regular file is replaced as a whole, at the end of the run, also if an "
               "input failed; if the run is killed, or cannot write, the old file stays. With --format jsonl, --window "
               "or --snapshot-every it is written in place during the run. A device, a FIFO or fd:N (a descriptor that "
               "the caller opened) is written in place. '-' is standard output, the default. Without --format, the "
               "suffix of FILE chooses the format: .json, .jsonl or .ndjson, .csv, .prom; those of other formats "
               "(.html, .gz, ...) are refused; all others get the default. 'gpuhist filter' writes the kept text to "
               "FILE, whatever its suffix. 'gpuhist repack' writes its archive to FILE, which must be a regular file.",
               "gpuhist --format csv --output counts.csv access.log",
               on_command([](options& o, value v) { o.output = parse_destination(v); }),
               rules(decision::nothing, "", "filter:output-dir")},
    option_row{output, "--append", "", value_kind::flag, "", with_buckets, rare, "append to the file of --output",
               "Appends the result to the file of --output, instead of replacing it.",
               "gpuhist --format jsonl --output history.jsonl --append access.log", field<&options::append>,
               rules(decision::nothing, "output")},
    option_row{
        output, "--output-dir", "DIR", value_kind::file, "", filtering_runs | batch_runs | merging_runs, rare,
        "the folder DIR for all outputs",
        "'gpuhist filter': writes the kept text of each input to a file of its own in the folder DIR, which is created "
        "if it is missing. A file below a directory of --recursive keeps its name below that directory, any other "
        "input its last component. A file gets its name when its input was read to the end and verified: a damaged "
        "input has no output, and the others are written. DIR/.gpuhist-filter.jsonl lists the complete outputs. "
        "Standard input and archives with members are refused. An existing output is an error without --resume or "
        "--force. Default: one stream to --output. 'gpuhist batch': DIR has the state of the job and its results: "
        "files.jsonl (a line per input), errors.jsonl, total.json, job.json, with --where units.jsonl, with --window "
        "windows.jsonl, with --changes changes.txt; it must be given. Files with these names that are no results of "
        "the job are an error. 'gpuhist "
        "merge': the results of all shards are written there; default: the first folder.",
        "gpuhist filter -r --drop-if 'digit > 0.5' --output-dir clean logs",
        on_command([](options& o, value v) { o.output_dir = parse_text(v, "give the path of a folder"); })},
    option_row{
        output, "--columns", "LIST", value_kind::list, "bytes lines share mostly", with_buckets, rare,
        "columns of the table of inputs: bytes,jsd,digit",
        "Sets the columns of the table of inputs, separated by commas: bytes, lines, share (of all bytes), "
        "mostly (the largest bucket), and every number that a condition of --fail-if can contain: measures, "
        "shares of buckets, formulas such as 'bytes / lines'. The tables of groups and of event windows have the "
        "same columns; there share is that of all lines, match(NAME) is the number of lines that match, and "
        "mean(FORMULA), sum(FORMULA) and p99(FORMULA) are of the values in their lines. Only for --format table; "
        "other formats contain all counts. Default: bytes,lines,share,mostly, without those that have no room on a "
        "terminal.",
        "gpuhist --columns bytes,lines,digit,entropy *.log",
        on_command([](options& o, values v) { o.columns = parse_names(v); })},
    option_row{
        output, "--sort", "FORMULA", value_kind::text, "", with_buckets, rare,
        "the inputs with the highest value first: entropy",
        "Sorts the table of inputs by a number, as in --columns (not by mostly); the highest value is first, "
        "and inputs without a value are last. A minus reverses the order: --sort=-bytes. The groups that are "
        "reported, those with the most lines, are sorted by it, too. Only for --format table. Default: the order "
        "in which the inputs are named.",
        "gpuhist --columns bytes,entropy --sort entropy --top 10 *.log",
        on_command([](options& o, value v) { o.sort = parse_text(v, "give a formula such as entropy"); })},
    option_row{
        output,
        "--top",
        "N",
        value_kind::numbers,
        "all",
        with_buckets | batch_runs | log_runs,
        rare,
        "list at most N inputs, groups; N:FORMULA: units",
        "Lists at most N inputs (or all), the first ones of the order, and the number of the others. The totals are "
        "those of all inputs, and every input that failed is listed after them. Only for --format table. Default: all; "
        "on a terminal as many as fit below the buckets, at least ten. With --group-by, as many groups, too (default: "
        "20). N:FORMULA, such as 10:entropy, requires --each: adds the N units (1 to 1000000, in a job 1 to 1000) with "
        "the highest values to the result, in every format.",
        "gpuhist -r --sort bytes --top 20 /var/log",
        {.on_counting = [](counting_options& o, const option_row& row,
                           values v) { set_top_units(units_in(o), v.back(), row.rules.range); },
         .on_command = set_rows},
        rules(decision::counts, "each").between(1, 1'000'000)},
    option_row{output, "--totals-only", "", value_kind::flag, "", with_buckets, rare,
               "no row for each input in the table",
               "Omits the rows of single inputs from the table. The totals of all inputs stay.",
               "gpuhist --totals-only *.log", field<&options::totals_only>},
    option_row{
        output, "--snapshot-every", "WHEN", value_kind::interval, "", counting_runs, rare,
        "print the counts so far: every 500ms, 1s, 64MiB",
        "Writes a snapshot of the counts so far at intervals: of time (500ms, 1s, 5m, 1h) or of text (64MiB, at most "
        "that often). A snapshot is exact for a prefix of each input, and states its length. Default: none.",
        "producer | gpuhist --snapshot-every 1s --format jsonl",
        on_run([](file_options& o, value v) { o.snapshot_every = parse_interval(v); })},
    option_row{output, "--window", "EXTENT", value_kind::interval, "", counting_runs | batch_runs | log_runs, rare,
               "a line per window: 64MiB of text, 10s, 100000lines",
               "Writes a line of JSON with the counts of each window of the text; with --event-time, EXTENT is a time "
               "or auto. "
               "Windows follow each other, or "
               "overlap with --step. A window is a number of bytes (64MiB), a number of lines (100000lines), or a time "
               "(10s): the time of arrival, not one that the text contains. A window of time holds the text that "
               "arrived in it, and is also written if none arrived; one of the inputs must be a stream or followed. "
               "Windows continue from one input to the next, unless --per-input is given. A line is written as soon as "
               "its text is counted, before the result. Compressed text is reported before its verification; a verdict "
               "follows. Its frames are decoded in sequence. The format is jsonl, also with --format json; other "
               "formats cannot hold windows. Fields and examples: gpuhist --help windows. Default: none.",
               "producer | gpuhist --window 10s --format jsonl",
               on_counting([](counting_options& o, value v) { set_window(o, parse_window(v)); }),
               rules(decision::counts)},
    option_row{output, "--step", "EXTENT", value_kind::interval, "", counting_runs | batch_runs, rare,
               "with --window: from one window to the next",
               "Sets the distance between the starts of successive windows, in the unit of --window. It is at most as "
               "long as a window; if shorter, windows overlap. A window may be at most 4096 times as long as the "
               "greatest common divisor of window and step. Default: as long as a window.",
               "producer | gpuhist --window 60s --step 1s --format jsonl",
               on_counting([](counting_options& o, value v) { set_step(o, parse_window(v)); }),
               rules(decision::counts, "window")},
    option_row{output, "--per-input", "", value_kind::flag, "", counting_runs | batch_runs, rare,
               "with --window: every input has its own",
               "Divides every input into windows of its own, also every file in an archive. The last window of an "
               "input ends with it. Without it, the text of all inputs in sequence is divided.",
               "gpuhist --window 1MiB --per-input --format jsonl *.log",
               on_counting([](counting_options& o, value v) { windows_in(o).per_input = v == "true"; }),
               rules(decision::counts, "window")},
    option_row{output, "--stats", "", value_kind::flag, "", text_runs | change_runs, common,
               "what each stage did, and which one limited the run",
               "Reports the bytes, the busy time and the waiting time of each stage, which engine was chosen and why, "
               "and which stage limited the run. This is part of the result for json and jsonl, and text on standard "
               "error otherwise.",
               "gpuhist --stats access.log.zst", field<&options::stats>},
    option_row{output, "--progress", "", value_kind::flag, "", counting_runs | batch_runs | log_runs, rare,
               "show progress even if standard error is no terminal",
               "Shows progress on standard error, even if that is no terminal; --no-progress never shows it. Default: "
               "on a terminal only. SIGUSR1 prints a status line at any time.",
               "gpuhist --progress access.log 2>progress.txt",
               on_command([](options& o, value v) { o.progress = v == "true"; })},
    option_row{output, "--verbose", "", value_kind::flag, "", set_of(command::devices), rare,
               "with the tuning and all host kernels of each scheme",
               "Adds details to the list: for each device, the properties that determine the shape of its counting "
               "kernel, and that shape; for each built-in scheme, all host kernels that can count it.",
               "gpuhist devices --verbose", field<&options::verbose>},
    option_row{output, "-q,--quiet", "", value_kind::flag, "",
               with_buckets | repacking_runs | filtering_runs | batch_runs | merging_runs | log_runs | sampling_runs,
               common, "no progress, no hints: errors only",
               "Prints only errors and messages of conditions on standard error: neither progress nor hints.",
               "gpuhist --quiet --format json access.log", field<&options::quiet>},

    option_row{engines, "--engine", "NAME", value_kind::choice, "auto cuda host gpu cpu",
               counting_runs | batch_runs | log_runs | sampling_runs, common, "auto, cuda (or gpu), host (or cpu)",
               "Selects the engine that counts. 'auto' starts on the host, and wakes a usable GPU if the cores are "
               "saturated; --stats reports the choice and the reason. 'cuda' (or 'gpu') and 'host' (or 'cpu') are "
               "forced: they never fall back to another engine. All give the same counts. Default: auto.",
               "gpuhist --engine host --stats access.log",
               on_counting([](counting_options& o, const option_row& row, value v) {
                 using enum engine;
                 o.counting_engine = chosen(row, v, {automatic, cuda, host, cuda, host});
               })},
    option_row{engines, "--devices", "LIST", value_kind::numbers, "all", counting_runs | batch_runs | log_runs, rare,
               "all, or numbers such as 0,1 ('gpuhist devices')",
               "Selects the CUDA devices that count: all, or their numbers separated by commas, each once; 'gpuhist "
               "devices' lists them. Default: chosen by the engine.",
               "gpuhist --engine cuda --devices 0,1 access.log",
               on_counting([](counting_options& o, value v) { set_devices(o, v); })},
    option_row{engines, "--streams", "N", value_kind::number, "", counting_runs | batch_runs | log_runs, rare,
               "CUDA streams per device, each with its own buffers",
               "Sets the number of CUDA streams per device, 1 to 64. Each has its own buffers. With two or more, "
               "copies overlap with kernels. Default: chosen by the engine.",
               "gpuhist --engine cuda --streams 4 access.log", field<&counting_options::streams>,
               rules(decision::nothing).between(1, 64)},
    option_row{
        engines, "--device-decode", "MODE", value_kind::choice, "auto on off", counting_runs | batch_runs | log_runs,
        rare, "auto, on or off: decode zstd or gzip on devices",
        "Selects where zstd frames and gzip members are decoded. 'auto': with --engine cuda on the device, except "
        "files below 64KiB and streams, which are counted as they arrive; with --engine auto also there, if enough is "
        "left to decode. 'on': also small files and streams, which may take longer than on the host. 'off': on the "
        "host. Frames that the device rejects are decoded by the host, which has the final say on damage. With "
        "--pairs, --pass-through, --follow or --zstd-dictionary the host decodes; also with --window if windows or "
        "steps are of time or shorter than "
        "16KiB or 128 lines. All give the same results. Default: auto.",
        "gpuhist --engine cuda --device-decode off *.zst",
        on_counting([](counting_options& o, const option_row& row, value v) {
          using enum device_decoding;
          o.device_decode = chosen(row, v, {automatic, on, off});
        })},
    option_row{engines, "--device-memory", "SIZE", value_kind::size, "", counting_runs | batch_runs | log_runs, rare,
               "memory of each device for decoding",
               "Limits the memory of each device for decoding, from 64MiB. With less memory fewer frames are "
               "decoded at once. Default: half of the memory of the device, at most 70GiB.",
               "gpuhist --engine cuda --device-memory 4GiB *.zst", field<&counting_options::device_memory>,
               rules(decision::nothing).between(64 * mib, number_range{}.highest)},
    option_row{engines, "--kernel", "NAME", value_kind::text, "", counting_runs | batch_runs | log_runs, rare,
               "force a counting kernel ('gpuhist devices')",
               "Selects the counting kernel by name; 'gpuhist devices' lists the kernels of the host and of CUDA. With "
               "--engine auto it is a kernel of the host. A kernel that the engine does not have, or that cannot count "
               "as many classes as the schemes need, is an error. All give the same counts; --stats reports which one "
               "ran. Default: the best one.",
               "gpuhist --engine host --kernel scalar --stats access.log", field<&counting_options::kernel>},

    option_row{tuning, "-T,--threads", "N", value_kind::number, "", reading_runs | batch_runs | log_runs, common,
               "threads on the host (default: the cores)",
               "Sets the number of threads that read, decompress and, with the host engine, count: 1 to 1024. Default: "
               "the cores that the process may use (its affinity, and the CPU limit of its control group), at most 64.",
               "gpuhist --threads 4 *.log.zst", field<&counting_options::threads>,
               rules(decision::nothing).between(1, 1024)},
    option_row{tuning, "--chunk-size", "SIZE", value_kind::size, "", text_runs | batch_runs | log_runs, rare,
               "bytes counted at a time",
               "Sets how many bytes are counted at a time: 1 byte to 1GiB. Default: 2MiB for CUDA and from 8 threads "
               "on, otherwise half of the L2 cache of a core, 256KiB to 1MiB and at most 1/1024 of --memory-limit.",
               "gpuhist --chunk-size 16MiB access.log", field<&file_options::chunk_size>,
               rules(decision::nothing).between(1, gib)},
    option_row{tuning, "--slots", "N", value_kind::number, "", counting_runs | batch_runs | log_runs, rare,
               "chunks in flight at most, from 2",
               "Sets how many chunks are in flight at most: 2 to 65536. Each takes a buffer of --chunk-size. Default: "
               "derived from threads and streams, within --memory-limit.",
               "gpuhist --slots 32 access.log", field<&file_options::slots>,
               rules(decision::nothing).between(2, 65536)},
    option_row{tuning, "--memory-limit", "SIZE", value_kind::size, "", reading_runs | batch_runs | log_runs, rare,
               "of the whole process (default: about 1GiB)",
               "Limits the memory of the whole process, whatever the size of the inputs. none: no limit, for archives "
               "with large windows (zstd --long=31). Default: 1GiB, or three quarters of the limit of the control "
               "group (cgroup) if that is less; for compressed bytes on their way to GPUs in addition a 16th of the "
               "memory of the machine or group, up to 3584MiB. --no-memory-limit restores it, and lifts no limit.",
               "gpuhist --memory-limit 256MiB *.log.zst",
               on_counting([](counting_options& o, value v) { o.memory_limit = parse_memory_limit(v); })},

    option_row{tuning, "--temporary-folder", "DIR", value_kind::file, "",
               with_buckets | filtering_runs | batch_runs | merging_runs | log_runs | sampling_runs, rare,
               "for what memory cannot hold (default: $TMPDIR)",
               "Sets the folder of the unnamed temporary file for what memory cannot hold: the results of very many "
               "inputs, and text that is not verified yet. Default: $TMPDIR, or /tmp.",
               "gpuhist --temporary-folder /scratch -r /srv/archive", field<&counting_options::temporary_folder>},

    option_row{
        filtering, "--keep-if", "CONDITION", value_kind::list, "", filtering_runs, rare,
        "write the units for which it holds",
        "Writes the text of the units of --each (default: line) for which the condition holds, and drops the "
        "others, also those for which it has no value. The syntax is that of --where. May be repeated: units for "
        "which one of the conditions holds.",
        "gpuhist filter --keep-if 'digit < 0.5' access.log", on_counting([](counting_options& o, values v) {
          units_in(o).filter = unit_filter::keep;
          add_rules(units_in(o), v);
        }),
        rules(decision::text, "", "drop-if preset")},
    option_row{filtering, "--drop-if", "CONDITION", value_kind::list, "", filtering_runs, rare,
               "drop the units for which it holds",
               "Drops the units of --each (default: line) for which the condition holds, and writes the text of the "
               "others, also of those for which it has no value. The syntax is that of --where. May be repeated: units "
               "for which one of the conditions holds are dropped; the result counts those of each.",
               "gpuhist filter --drop-if 'control > 0.1' access.log", on_counting([](counting_options& o, values v) {
                 units_in(o).filter = unit_filter::drop;
                 add_rules(units_in(o), v);
               }),
               rules(decision::text)},
    option_row{filtering, "--result", "FILE", value_kind::file, "", filtering_runs, rare,
               "list the dropped units in FILE (jsonl)",
               "Writes a line of JSON for each dropped unit to FILE, with its place and the values of the names in the "
               "condition, and then the result: the units that were seen and dropped, and what 'gpuhist' reports of "
               "the inputs. FILE appears at the end. Default: none.",
               "gpuhist filter --drop-if 'digit > 0.5' --result dropped.jsonl x.log",
               on_command([](options& o, value v) { o.result = parse_destination(v); })},
    option_row{filtering, "--compress", "FORMAT", value_kind::choice, "none same zstd gzip", filtering_runs, rare,
               "with --output-dir: none, same, zstd[:LEVEL], gzip",
               "Selects how the outputs of --output-dir are compressed. none: not; the extension of a compressed input "
               "(.zst, .gz, ...) is removed from its name. same: as the input, with the same name; only for inputs "
               "that are not compressed, zstd or gzip. zstd, zstd:LEVEL (1 to 22, default: 3) and gzip: in this "
               "format, with the extension .zst or .gz. Default: none.",
               "gpuhist filter -r --preset nemo --output-dir b --compress same a",
               on_command([](options& o, value v) { o.compress = parse_compression(v); }),
               rules(decision::text, "output-dir")},
    option_row{filtering, "--resume", "", value_kind::flag, "", filtering_runs, rare,
               "with --output-dir: skip inputs that are complete",
               "Skips the inputs whose output is complete in --output-dir, according to DIR/.gpuhist-filter.jsonl: the "
               "size and the time of modification of input and output, and the fingerprint of the input, are those of "
               "the list, and the text was filtered with the same options. All others are filtered, and replace "
               "outputs of earlier runs. Outputs of other options are an error without --force.",
               "gpuhist filter -r --preset nemo --output-dir b --resume a", field<&options::resume>,
               rules(decision::nothing, "output-dir")},

    option_row{
        resuming, "--resume", "FILE", value_kind::file, "", counting_runs, rare,
        "skip inputs that FILE (jsonl) holds; append others",
        "Continues a run that was killed or stopped. FILE is its result, written with --format jsonl and the same "
        "options. Inputs whose lines in FILE are complete are not read again; the lines of all others, of the members "
        "of archives and of an old result are removed, also an incomplete last line. The rest is counted and appended. "
        "The result is that of all inputs. A missing FILE is created. A file whose size, time of modification or "
        "fingerprint is not that of its line has changed, and is counted again; lines of runs without --resume are "
        "recognized by their names. FILE is locked until the run ends. Cannot be combined with --output, --append, "
        "--each, --window, --pairs, --follow, --pass-through and --snapshot-every, nor with standard input. Only on "
        "the command line.",
        "gpuhist --resume counts.jsonl -r /srv/logs",
        on_command([](options& o, value v) { o.resumed_file = parse_text(v, "give the path of a jsonl result"); }),
        rules(decision::nothing, "",
              "output append each match match-file group-by changes event-time preset window pairs follow pass-through "
              "snapshot-every")},

    option_row{jobs, "--manifest", "FILE", value_kind::file, "", batch_runs, rare, "count the inputs of this manifest",
               "Counts the inputs that 'gpuhist batch plan' has written to FILE, instead of looking them up. Default: "
               "the manifest of the folder, which the first run writes.",
               "gpuhist batch job.toml --manifest manifest.jsonl --shard 3/8",
               on_command([](options& o, value v) { o.manifest = parse_text(v, "give the path of a manifest"); })},
    option_row{jobs, "--on-error", "ACTION", value_kind::choice, "continue stop", batch_runs, rare,
               "continue or stop if an input fails",
               "Selects the effect of an input that fails: 'continue' counts the other inputs, 'stop' ends the run. "
               "The exit status is 1 in both cases. Default: continue.",
               "gpuhist batch job.toml --on-error stop", on_command([](options& o, const option_row& row, value v) {
                 o.stops_on_error = chosen(row, v, {false, true});
               })},
    option_row{jobs, "--max-errors", "N", value_kind::text, "", batch_runs, rare,
               "end the run if more inputs fail: 100, 0.1%",
               "Ends the run if more inputs fail than N, a number or a percentage of all inputs of the run. Default: "
               "no limit.",
               "gpuhist batch job.toml --max-errors 0.1%",
               on_command([](options& o, value v) { o.max_errors = parse_error_limit(v); })},
    option_row{
        jobs, "--shard", "I/N", value_kind::text, "auto", batch_runs | filtering_runs, rare,
        "take part I of N; auto: as Slurm or MPI numbers it",
        "Counts part I (1 to N) of N parts of the manifest. All runs compute the same division, with about the "
        "same number of bytes in each part: whole inputs, and pieces of large files (--split-size). The result "
        "of a part is published in DIR/parts; 'gpuhist merge DIR' adds the parts. auto: from "
        "SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT, SLURM_PROCID and SLURM_NTASKS, or OMPI_COMM_WORLD_RANK "
        "and OMPI_COMM_WORLD_SIZE. 'gpuhist filter --output-dir' filters the inputs of part I, which their names "
        "determine; parts write to the same folder, and 'gpuhist merge' adds their --result. Default: all "
        "inputs.",
        "gpuhist batch job.toml --manifest manifest.jsonl --shard 3/8",
        on_command([](options& o, value v) { o.shard = parse_shard(v); }),
        rules(decision::nothing, "filter:output-dir")},
    option_row{jobs, "--min-age", "TIME", value_kind::interval, "", batch_runs, rare,
               "leave out files that changed in the last 10m",
               "Leaves out files that were changed less than TIME (500ms, 10s, 10m, 2h) before the job is planned, "
               "because they may still be written. A message says how many. Default: none is left out.",
               "gpuhist batch job.toml --min-age 10m",
               on_command([](options& o, value v) { o.min_age = parse_age(v); })},
    option_row{jobs, "--fingerprint", "KIND", value_kind::choice, "ends full", batch_runs, rare,
               "how changes of files are noticed: ends, full",
               "Sets what the manifest has of the content of a file. ends: a hash of the first and the last 64 KiB of "
               "files of more than 1 MiB. full: a hash of all bytes; every file is then read when the job is planned, "
               "and again after it was counted. Size and time of modification are compared in both cases. Default: "
               "that of the manifest, ends for a new one.",
               "gpuhist batch job.toml --fingerprint full", on_command([](options& o, const option_row& row, value v) {
                 o.fingerprint = chosen(row, v, {fingerprint_kind::ends, fingerprint_kind::full});
               })},
    option_row{jobs, "--new-only", "", value_kind::flag, "", batch_runs, rare,
               "add what is new or has grown since the last run",
               "Looks up the inputs again and adds them to the manifest of the folder: new ones are counted, and so "
               "are those that have grown and those that failed and have changed, as a whole. All others keep their "
               "counts, also if they disappeared, or have another name: a log that was rotated is counted once. An "
               "input that changed without growing is an error of that input; the counts of its earlier content stay. "
               "The results are those of all inputs. Not with --shard.",
               "gpuhist batch job.toml --new-only --min-age 10m", field<&options::new_only>,
               rules(decision::nothing, "", "manifest")},
    option_row{jobs, "--drop-missing", "", value_kind::flag, "", batch_runs, rare,
               "with --new-only: forget inputs that disappeared",
               "Removes inputs that are no longer found, with their counts. Requires --new-only. Default: they keep "
               "their counts.",
               "gpuhist batch job.toml --new-only --drop-missing", field<&options::drop_missing>,
               rules(decision::nothing, "new-only")},
    option_row{jobs, "--split-size", "SIZE", value_kind::size, "", batch_runs, rare,
               "pieces of large files for shards (default: 1GiB)",
               "'gpuhist batch plan' writes where files of more than SIZE can be divided, so that several shards count "
               "one file: plain files anywhere, zstd files between frames, if they have a seek table (gpuhist repack) "
               "or the sizes that pzstd writes. Files are not divided in jobs with --pairs, --utf8, --max-output, "
               "--each or --window. Default: 1GiB.",
               "gpuhist batch plan job.toml --split-size 16GiB -o manifest.jsonl", field<&options::split_size>},
    option_row{
        jobs, "--checkpoint-every", "TIME", value_kind::interval, "", batch_runs, rare,
        "record progress in files this often (default: 2s)",
        "Records every TIME (500ms, 2s, 1m) how far each file was counted, so that a run that was killed continues "
        "there: in plain files at any offset, in compressed files at the end of a frame or member. Not with --utf8, "
        "--each and --window: files that were not finished are counted again from their beginning. Default: 2s.",
        "gpuhist batch job.toml --checkpoint-every 1m",
        on_command([](options& o, value v) { o.checkpoint_every = parse_age(v); })},
    option_row{jobs, "--trust-names", "", value_kind::flag, "", batch_runs, rare, "ignore times of modification",
               "Does not compare the time of modification of a file with the manifest, for files that were copied "
               "since. Size and fingerprint are still compared.",
               "gpuhist batch job.toml --manifest m.jsonl --trust-names", field<&options::trust_names>},
    option_row{jobs, "--wait", "", value_kind::flag, "", batch_runs, rare, "wait for another run in the same folder",
               "If another run writes to the folder of the job or of the shard, waits for its end, and then continues. "
               "Default: that is an error.",
               "gpuhist batch job.toml --wait", field<&options::waits>},
    option_row{jobs, "--dry-run", "", value_kind::flag, "", batch_runs, rare, "print the plan, and count nothing",
               "Prints how many inputs and bytes the run would read, by format, how they would be read, and an "
               "estimate of the time and the text from a sample, which is read for at most 2 seconds. Nothing is "
               "written. --format json: for programs.",
               "gpuhist batch job.toml --dry-run", field<&options::dry_run>},
    option_row{jobs, "--allow-duplicates", "", value_kind::flag, "", merging_runs, rare,
               "an input may be in several results",
               "Adds results although inputs of the same name are in several of them. Without it, they are listed, and "
               "nothing is written: the same file would be counted twice.",
               "gpuhist merge --allow-duplicates monday.json tuesday.json", field<&options::allow_duplicates>},
    option_row{jobs, "--partial", "", value_kind::flag, "", merging_runs, rare, "merge although parts are missing",
               "Merges the parts that exist. The result is then incomplete, and the exit status is 1. Without it, "
               "missing parts are an error, and nothing is written.",
               "gpuhist merge --partial counts", field<&options::partial>},

    option_row{repacking, "--frame-size", "SIZE", value_kind::size, "", repacking_runs, rare,
               "text per frame (default: 8MiB)",
               "Sets the amount of text per frame of the archive that 'gpuhist repack' writes: 1 byte to 1GiB. Smaller "
               "frames can use more cores, but compress worse. Default: 8MiB.",
               "gpuhist repack --frame-size 2MiB access.log -o access.zst", field<&options::frame_size>,
               rules(decision::nothing).between(1, gib)},
    option_row{repacking, "--level", "N", value_kind::number, "", repacking_runs, rare, "of zstd: 1 to 22 (default: 3)",
               "Sets the compression level of 'gpuhist repack': those of zstd, 1 (fast) to 22 (small). Default: 3.",
               "gpuhist repack --level 19 access.log -o access.zst", field<&options::level>,
               rules(decision::nothing).between(1, 22)},
    option_row{repacking, "--force", "", value_kind::flag, "", repacking_runs | filtering_runs, rare,
               "replace existing output files",
               "Replaces the file of --output, once the new archive is written and verified. 'gpuhist filter' replaces "
               "the outputs in --output-dir, each once it is complete; with --resume those that are not complete, also "
               "files that no run of gpuhist wrote, and outputs of other options.",
               "gpuhist repack --force access.zst -o access.zst", field<&options::force>,
               rules(decision::nothing, "filter:output-dir")},

    option_row{sampling, "--size", "SIZE", value_kind::size, "", sampling_runs, rare, "text to read (default: 1GiB)",
               "Sets about how much text 'gpuhist sample' reads. Bounds are half as wide with four times the text. "
               "Default: 1GiB.",
               "gpuhist sample --size 256MiB -r /srv/archive", field<&options::sample_bytes>,
               rules(decision::nothing).between(1, std::uint64_t{1} << 50U)},
    option_row{
        sampling, "--error", "PERCENT", value_kind::text, "", sampling_runs, rare,
        "read until no bound is farther away: 0.5%",
        "Reads until no share differs by more than PERCENT (of all text) from its bounds, and not --size. Default: "
        "none.",
        "gpuhist sample --error 0.5% -r /srv/archive",
        on_command([](options& o, value v) { o.sample_error = parse_share(v); })},
    option_row{
        sampling, "--seed", "N", value_kind::number, "", sampling_runs, rare, "of the random numbers",
        "Sets the seed of the random numbers of 'gpuhist sample': the same seed chooses the same text of the same "
        "files. The result states it. Default: a random number.",
        "gpuhist sample --seed 1 -r /srv/archive",
        on_command([](options& o, const option_row& row, value v) { o.seed = parse_number(v, row.rules.range); }),
        rules(decision::nothing).between(0, std::uint64_t{1} << 53U)},

    option_row{general, "--config", "FILE", value_kind::file, "", every_command, common,
               "take options from a TOML file",
               "Reads options from a TOML file. Its keys are the long names without their dashes, as in buckets = "
               "[\"letters\", \"bytes\"], chunk-size = \"8MiB\", stats = true. The environment and the command line "
               "have precedence. No file is read unless --config or GPUHIST_CONFIG names it.",
               "gpuhist --config job.toml access.log",
               on_command([](options& o, value v) { o.config = parse_text(v, "give a path"); })},
    option_row{
        general,
        "-h,--help",
        "[TOPIC]",
        value_kind::inquiry,
        "",
        every_command,
        common,
        "this text, or about an option, a command, 'all'",
        "Prints the short help, or the help on TOPIC: an option, with or without its dashes; a command; one of "
        "conditions, measures, windows, units, texts, formats, damage, presets and events; a preset; or 'all' for "
        "everything.",
        "gpuhist --help buckets",
        {}},
    option_row{general,
               "--version",
               "",
               value_kind::inquiry,
               "",
               every_command,
               rare,
               "print the version",
               "Prints the version.",
               "gpuhist --version",
               {}},
    option_row{general,
               "--generate",
               "WHAT",
               value_kind::inquiry,
               "man bash zsh fish options",
               every_command,
               rare,
               "print the manual page or a shell's completions",
               "Prints the manual page (man), the completions of a shell (bash, zsh, fish), or the table of options "
               "for programs (options): a line of JSON for each.",
               "gpuhist --generate man | man -l -",
               {}},
};

}  // namespace

std::span<const option_row> option_table() { return rows; }

const option_row* find_run_option(std::string_view key) {
  const auto* const found =
      std::ranges::find_if(rows, [&](const option_row& each) { return each.key() == key && each.is_of_run(); });
  return found == rows.end() ? nullptr : found;
}

std::vector<decided_option> decided_options(const file_options& run) {
  std::vector<decided_option> made;
  for (const option_row& row : rows) {
    if (row.rules.decides < decision::counts || row.effect.text == nullptr) continue;
    std::string text = row.effect.text(run);
    if (!text.empty() && text != "auto") made.push_back({.row = &row, .text = std::move(text)});
  }
  return made;
}

void check_range(std::string_view key, std::uint64_t value) {
  const number_range allowed = find_run_option(key)->rules.range;
  if (allowed.has(value)) return;
  throw option_error(key, std::to_string(value) + " is not a number from " + std::to_string(allowed.lowest) + " to " +
                              std::to_string(allowed.highest));
}

void check_ranges(const file_options& run) {
  for (const option_row& row : rows) {
    if (row.effect.text == nullptr || (row.kind != value_kind::number && row.kind != value_kind::size)) continue;
    const std::string text = row.effect.text(run);
    if (!text.empty()) check_range(row.key(), std::stoull(text));
  }
}

void option_row::apply(options& to, given_values values) const {
  if (effect.on_command != nullptr) return effect.on_command(to, *this, values);
  if (effect.on_run != nullptr) return effect.on_run(to.run, *this, values);
  if (effect.on_counting != nullptr) effect.on_counting(to.run.counting, *this, values);
}

std::string option_row::remedy() const {
  if (choices.empty()) return kind == value_kind::file ? "give the path of a file" : "give a name";
  std::string text;
  for (const std::string_view each : choice_names()) text += (text.empty() ? "give one of " : ", ") + std::string(each);
  return text;
}

const option_row* find_option(std::string_view name) {
  if (!name.starts_with('-')) return nullptr;
  const auto* const found = std::find_if(rows.begin(), rows.end(), [&](const option_row& each) {
    return name == each.long_name() || name == each.short_name() || name == each.off_name();
  });
  return found == rows.end() ? nullptr : found;
}

const option_row* find_option(std::string_view name, command taker) {
  const option_row* const first = find_option(name);
  if (first == nullptr || first->taken_by(taker)) return first;
  const auto* const found = std::find_if(rows.begin(), rows.end(), [&](const option_row& each) {
    return each.long_name() == first->long_name() && each.taken_by(taker);
  });
  return found == rows.end() ? first : found;
}

std::string option_row::variable() const {
  std::string text = "GPUHIST_";
  for (const char c : key()) {
    text += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c == '-' ? '_' : c;
  }
  return text;
}

std::vector<std::string_view> option_row::choice_names() const {
  std::vector<std::string_view> made;
  for (std::string_view rest = choices; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    made.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return made;
}

}  // namespace gpuhist::config
