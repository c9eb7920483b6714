#include "config/option_table.hpp"

#include "config/option_values.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace gpuhist::config {
namespace {

constexpr command_set counting_runs = set_of(command::count);
constexpr command_set with_buckets = counting_runs | set_of(command::report);
constexpr command_set repacking_runs = set_of(command::repack);
constexpr command_set reading_runs = counting_runs | repacking_runs;
constexpr command_set reporting = with_buckets | set_of(command::devices);
constexpr command_set every_command = reporting | repacking_runs;

constexpr bool rare = true;
constexpr bool common = false;

constexpr std::string_view inputs = "Inputs";
constexpr std::string_view counting = "Counting";
constexpr std::string_view measuring = "Measures";
constexpr std::string_view output = "Output";
constexpr std::string_view engines = "Engines";
constexpr std::string_view tuning = "Tuning";
constexpr std::string_view repacking = "Repacking";
constexpr std::string_view general = "General";

using value = const std::string&;

template <bool options::* Flag>
void turn(options& into, value v) {
  into.*Flag = v == "true";
}

// group, names, value, kind, choices, commands, rare, help, detail, example, effect
constexpr std::array rows = {
    option_row{
        inputs, "-r,--recursive", "", value_kind::flag, "", counting_runs, common,
        "count the files below directories as well",
        "Counts what is in the directories among the inputs: every regular file below them, depth first, in the order "
        "of the bytes of their names. Without it a directory is an error. What is neither file nor directory (symbolic "
        "links, FIFOs, sockets, devices) is skipped, and the result says how many; a directory or file that cannot be "
        "read is an error, "
        "and the rest is counted.",
        "gpuhist -r --include '*.log' /var/log", turn<&options::recursive>},
    option_row{
        inputs, "--files-from", "FILE", value_kind::file, "", counting_runs, rare,
        "read more names of inputs from FILE, one a line",
        "Reads names of inputs from FILE, one a line ('-': standard input), and counts those behind the ones of the "
        "command line. Empty lines are passed over. Names are taken as they come, so a long list costs no memory. "
        "Where the list is standard input, '-' cannot be an input. Default: none.",
        "find . -name '*.log' -print0 | gpuhist -0 --files-from -",
        [](options& o, value v) { o.files_from = parse_text(v, "give a path, or - for standard input"); }},
    option_row{
        inputs, "-0,--null", "", value_kind::flag, "", counting_runs, rare, "names of --files-from end in NUL",
        "The names in the list of --files-from end in a NUL byte instead of a line feed, as 'find -print0' writes "
        "them: they may hold any other byte.",
        "find . -type f -print0 | gpuhist --null --files-from -", turn<&options::null>},
    option_row{
        inputs, "--include", "GLOB", value_kind::list, "", counting_runs, rare,
        "with -r: only files that match (repeatable)",
        "Of the files below directories (-r), counts only those that match one of the patterns. *, ?, [...] and \\ are "
        "as in the shell, byte by byte; a leading dot is nothing special. A pattern without a slash is held against "
        "the last component of the name, one with a slash against the whole path below the directory that was named: "
        "there * crosses no slash, and ** as a component matches any number of components. Default: all files.",
        "gpuhist -r --include '*.log' --include '*.txt' /srv",
        [](options& o, value v) { o.include.push_back(parse_text(v, "give a pattern such as '*.log'")); }},
    option_row{
        inputs, "--exclude", "GLOB", value_kind::list, "", counting_runs, rare,
        "with -r: no files or directories that match",
        "Of what is below directories (-r), leaves out the files that match one of the patterns, and the directories "
        "that do, with all that is in them. Patterns are those of --include; one that ends in a slash matches "
        "directories only. It goes before --include. Default: nothing.",
        "gpuhist -r --exclude .git/ --exclude 'build/**/*.o' src",
        [](options& o, value v) { o.exclude.push_back(parse_text(v, "give a pattern such as '*.log'")); }},
    option_row{
        inputs, "--follow-symlinks", "", value_kind::flag, "", counting_runs, rare,
        "with -r: follow symbolic links as well",
        "Follows symbolic links that are found below directories (-r): what they lead to is counted under their "
        "name, also if it is counted under another. A link to a directory that it lies in is skipped. Links among "
        "the inputs themselves are followed in any case.",
        "gpuhist -r --follow-symlinks /srv/logs", turn<&options::follow_symlinks>},
    option_row{inputs, "--input-format", "FORMAT", value_kind::choice,
               "auto raw zstd gzip xz lzma lzip bzip2 lz4 compress tar zip 7z cpio", reading_runs, common,
               "auto, raw, zstd, gzip, xz, ..., tar, zip, 7z, cpio",
               "What the bytes of the inputs are: auto, raw, zstd, gzip, xz, lzma, lzip, bzip2, lz4, compress, tar, "
               "zip, 7z or cpio. 'auto' finds out by content, input by input; a name that promises a "
               "format the content does not have (.zst) is an error of that input. 'raw' counts the bytes as they are, "
               "also those of archives; 'zstd', 'gzip', 'xz', 'lzip', 'bzip2', 'lz4' and 'compress' insist on what "
               "they say, and "
               "count what is in it as it is; so does 'lzma', the format before xz, which has no mark to find it by: "
               "'auto' takes files named .lzma for it. 'tar', 'zip', '7z' and 'cpio' count the members of such "
               "archives, compressed or not. Default: auto.",
               "gpuhist --input-format raw backup.zst",
               [](options& o, value v) {
                 o.input_format = parse_text(
                     v, "give auto, raw, zstd, gzip, xz, lzma, lzip, bzip2, lz4, compress, tar, zip, 7z or cpio");
               }},
    option_row{
        inputs, "--zstd-dictionary", "FILE", value_kind::file, "", reading_runs, rare,
        "what zstd archives were compressed with the help of",
        "The dictionary that zstd archives were compressed with ('zstd -D', 'zstd --train'). Frames name theirs by "
        "number; one that needs another is an error of its input. Default: none.",
        "gpuhist --zstd-dictionary logs.dict small/*.zst",
        [](options& o, value v) { o.zstd_dictionary = parse_text(v, "give the path of a dictionary"); }},
    option_row{inputs, "--max-output", "SIZE", value_kind::size, "", counting_runs, rare,
               "give up an archive that decompresses to more",
               "How much text a compressed input may hold: one that decompresses to more is given up, and is an error. "
               "Default: no limit.",
               "gpuhist --max-output 100GiB upload.zst", [](options& o, value v) { o.max_output = parse_amount(v); }},
    option_row{
        inputs, "--skip-damage", "", value_kind::flag, "", counting_runs, rare,
        "go on behind damaged frames of archives",
        "Goes on behind what is damaged in a compressed input, at the next frame (or member) that can be found, "
        "instead of ending it there. What was lost is listed in the result, with its place in the archive and in "
        "the text; the input stays incomplete, and so does the exit status tell.",
        "gpuhist --skip-damage --format json broken.zst", turn<&options::skip_damage>},
    option_row{
        inputs, "--follow", "", value_kind::flag, "", counting_runs, rare,
        "read on what is written to files, until a signal",
        "Counts what is in the files and then what comes to them, by their names: through rotation (renamed and made "
        "anew), truncation, and while they are not there. A signal ends it, with the report: what the files held by "
        "then is counted. With --snapshot-every it is a live meter. Conditions (--fail-if, --alert-if) are held "
        "against "
        "what was counted so far at every snapshot, or once a second. Plain text only. What is written between the "
        "last "
        "reading of a file and its truncation (logrotate's copytruncate) cannot be known; a truncation is told.",
        "gpuhist --follow --snapshot-every 10s /var/log/syslog", turn<&options::follow>},
    option_row{
        inputs, "--pass-through", "[=WHAT]", value_kind::choice, "raw text", counting_runs, common,
        "what is read goes on to standard output (raw, text)",
        "Hands on what it reads, at once, byte by byte and in order, to standard output, and counts it: a stage of a "
        "pipeline. 'raw', or the option alone, hands on the bytes of the inputs as they are, one input after the other "
        "as cat does, also those that cannot be decoded; 'text' what they decompress to, the members of archives one "
        "after the other. The report goes to --output, or else to standard error. Bytes are handed on before their "
        "frame is verified. A consumer that is slow slows the producer; one that leaves ends the run by SIGPIPE, after "
        "the report. Default: nothing is handed on.",
        "producer | gpuhist --pass-through -o counts.txt | consumer",
        [](options& o, value v) { o.pass_through = parse_pass_through_mode(v); }},
    option_row{inputs, "--label", "NAME", value_kind::text, "", counting_runs, rare,
               "what standard input is called in the result",
               "What standard input is called in the result. Default: (standard input).",
               "cat *.log | gpuhist --label 'all logs' --format json",
               [](options& o, value v) { o.label = parse_text(v, "give a name for standard input"); }},

    option_row{
        counting, "-b,--buckets", "SCHEMES", value_kind::list, "letters alphabet bytes classes utf8", with_buckets,
        common, "classes (default), letters, alphabet, bytes, utf8",
        "How bytes are put into buckets. letters: a-d e-h i-l m-p q-t u-x y-z, lower case; alphabet: the 26 lower "
        "case letters; bytes: all 256 values; classes: upper, lower, digit, space, punctuation, control, "
        "non-ascii; utf8: ASCII, continuation bytes, lead bytes of 2, 3 and 4, and bytes that never occur in "
        "UTF-8. Several are separated by commas, and the option may be repeated; all are counted in one pass. A "
        "value that contains '=' is one scheme of your own: [NAME:]bucket=characters;bucket=characters, with "
        "ranges a-z and the escapes \\n \\t \\r \\0 \\\\ \\- \\; \\= \\: \\, \\xNN. What is in no bucket is 'other'. "
        "Default: classes.",
        "gpuhist -b letters,bytes -b 'vowels=aeiou;digits=0-9' access.log", add_buckets},
    option_row{counting, "--ignore-case", "", value_kind::flag, "", with_buckets, common, "count A-Z as a-z",
               "Folds A-Z onto a-z before bytes are put into buckets. Kept byte counts stay as they were read.",
               "gpuhist --ignore-case --buckets alphabet book.txt", turn<&options::ignore_case>},
    option_row{counting, "--byte-counts", "", value_kind::flag, "", counting_runs, common,
               "keep all 256 counts, for 'gpuhist report' (json)",
               "Keeps the counts of all 256 byte values in the result, so that 'gpuhist report' can show it by any "
               "scheme later. Of use with --format json or jsonl.",
               "gpuhist --byte-counts --format json --output counts.json *.log", turn<&options::byte_counts>},
    option_row{
        counting, "--count-unverified", "", value_kind::flag, "", counting_runs, rare,
        "add what damaged input held before the fault",
        "Adds to the totals what was decoded of a damaged input before the fault. Without it the totals hold only "
        "what was verified, and the rest is reported beside them as unverified. A result that holds more says so.",
        "gpuhist --count-unverified damaged.log.zst", turn<&options::count_unverified>},

    option_row{
        measuring, "--measures", "NAMES", value_kind::list,
        "all entropy entropy_corrected chi2 chi2_p mean distinct ascii_share printable_share code_points lines "
        "mean_line_length jsd kl chi2_baseline chi2_baseline_p icd icd_p",
        with_buckets, rare, "all, or entropy, chi2, mean, jsd, ... (repeatable)",
        "Adds to the totals and to each input what is computed from the counts of all byte values. entropy (bits a "
        "byte) and entropy_corrected (for few bytes); chi2 and chi2_p, against equally frequent values; mean; "
        "distinct; ascii_share, printable_share; code_points; lines, mean_line_length. Against the counts of "
        "--baseline: jsd (Jensen-Shannon divergence, bits), kl, chi2_baseline and chi2_baseline_p, icd and icd_p (the "
        "idealized character distribution of Kruegel and Vigna). 'all': all of them that can be had. Each comes with "
        "the size of its sample; what that cannot support has no value, and the reason is told. Default: none.",
        "gpuhist --measures entropy,chi2_p,mean --format json random.bin",
        [](options& o, value v) { add_names(o.measures, v); }},
    option_row{measuring, "--baseline", "RESULT", value_kind::file, "", with_buckets, rare,
               "an earlier result that measures compare with",
               "The result of an earlier run, as json or jsonl with --byte-counts: what --measures, --fail-if and "
               "--alert-if compare with. Several results in the file are added. previous:N is for --window: the N "
               "windows before the one that is compared, added. Default: none.",
               "gpuhist --baseline good.json --measures jsd,icd_p access.log",
               [](options& o, value v) { o.baseline = parse_baseline(v); }},
    option_row{
        measuring, "--fail-if", "CONDITION", value_kind::list, "", with_buckets, rare,
        "exit status 3 where this holds, as 'jsd > 0.05'",
        "Tells on standard error where the condition holds, of the totals and of each input (see --watch), and makes "
        "the "
        "exit status 3. Names are bytes, lines, those of --measures, and buckets of --buckets: digit is the share of "
        "that bucket, count(digit) its count, classes.digit says whose it is, and odd names stand in quotes. With "
        "numbers (0.15, 2e-3, 64KiB), + - * /, < <= > >= == !=, ! && || and parentheses. Where something has no value, "
        "neither a comparison with it nor its opposite holds. May be repeated. Default: none.",
        "gpuhist --fail-if 'digit > 0.2 || entropy > 7 && bytes > 4K' *.log",
        [](options& o, value v) { o.fail_if.push_back(parse_expression(v)); }},
    option_row{
        measuring, "--alert-if", "CONDITION", value_kind::list, "", with_buckets, rare,
        "tell where this holds, and go on",
        "Tells on standard error where the condition holds, as --fail-if does, and leaves the exit status as it is. "
        "With --format jsonl each is a line of kind alert as well. May be repeated. Default: none.",
        "gpuhist --alert-if 'entropy > 7.5' --format jsonl access.log",
        [](options& o, value v) { o.alert_if.push_back(parse_expression(v)); }},
    option_row{measuring, "--watch", "WHAT", value_kind::list, "totals inputs windows", with_buckets, rare,
               "what conditions are held against",
               "What the conditions of --fail-if and --alert-if are held against: some of totals, inputs and windows, "
               "separated by commas. A single input is not told of twice. Default: all that there is.",
               "gpuhist --watch inputs --fail-if 'entropy > 7' *.log",
               [](options& o, value v) { add_names(o.watch, v); }},
    option_row{measuring, "--fail-fast", "", value_kind::flag, "", counting_runs, rare,
               "a condition of --fail-if that holds ends the run",
               "Ends the run as soon as a condition of --fail-if holds for an input that is over, in the order of the "
               "inputs, or with --follow for what was counted so far; what was counted until then is reported, as "
               "incomplete. The exit status is 3.",
               "gpuhist --fail-fast --fail-if 'ascii_share < 1' *.txt", turn<&options::fail_fast>},

    option_row{
        output, "--format", "FORMAT", value_kind::choice, "table json jsonl csv prometheus", reporting, common,
        "table (for people), json, jsonl, csv, prometheus",
        "How the result is written. table: for people; json: one object; jsonl: a line an input, then the result; "
        "csv: the columns kind, input, scheme, bucket, count, share (an error of an input is a row); prometheus: "
        "metrics for a textfile "
        "collector. Default: table, or jsonl with --window.",
        "gpuhist --format json access.log",
        [](options& o, value v) { o.format = parse_text(v, "give table, json, jsonl, csv or prometheus"); }},
    option_row{output, "-o,--output", "FILE", value_kind::file, "", every_command, common,
               "instead of standard output; fd:N: a descriptor",
               "Where the result is written. A regular file appears whole: a run that fails half-way leaves what was "
               "there. A device, a FIFO or fd:N (a descriptor that the caller opened) is written in place. '-' is "
               "standard output, the default. 'gpuhist repack' writes its archive there, into a regular file.",
               "gpuhist --format csv --output counts.csv access.log",
               [](options& o, value v) { o.output = parse_destination(v); }},
    option_row{output, "--append", "", value_kind::flag, "", with_buckets, common, "add to the end of --output",
               "Adds to the end of the file that --output names, instead of replacing it.",
               "gpuhist --format jsonl --output history.jsonl --append access.log", turn<&options::append>},
    option_row{output, "--totals-only", "", value_kind::flag, "", with_buckets, rare,
               "no row for each input in the table",
               "Leaves the rows of single inputs out of the table; the totals of all of them stay.",
               "gpuhist --totals-only *.log", turn<&options::totals_only>},
    option_row{output, "--snapshot-every", "WHEN", value_kind::interval, "", counting_runs, common,
               "rolling counts: every 500ms, 1s, 5m, 64MiB of text",
               "Writes a snapshot of the counts while the run lasts, by time (500ms, 1s, 5m, 1h) or by amount of text "
               "(64MiB). The counts of a snapshot are those of exactly a prefix of each input, whose length it tells. "
               "Default: none.",
               "producer | gpuhist --snapshot-every 1s --format jsonl",
               [](options& o, value v) { o.snapshot_every = parse_interval(v); }},
    option_row{
        output, "--window", "EXTENT", value_kind::interval, "", counting_runs, rare,
        "a line a window: 64MiB of text, 10s, 100000lines",
        "Writes a line of JSON for every window of the text that closes, with its counts: one behind the other, or "
        "overlapping with --step. A window is so many bytes (64MiB), so many lines (100000lines), or a time (10s, "
        "by the arrival of the text; also where none came), for which one of the inputs must be a stream or "
        "followed. The windows go on from one input to the next (--per-input: do not). The lines are written as "
        "soon as their text was counted, before the result, which comes as ever. Text of archives is told before "
        "it is verified, and a verdict follows; their frames are then decoded one after the other. The format is "
        "jsonl, also with --format json; other formats cannot hold windows. Default: none.",
        "producer | gpuhist --window 10s --format jsonl", [](options& o, value v) { o.window = parse_window(v); }},
    option_row{output, "--step", "EXTENT", value_kind::interval, "", counting_runs, rare,
               "with --window: from one window to the next",
               "How far a window begins behind the one before, in the unit of --window, at most a window: with less, "
               "windows overlap. The greatest length that both are whole multiples of may be in a window 4096 times at "
               "the most. Default: as long as a window.",
               "producer | gpuhist --window 60s --step 1s --format jsonl",
               [](options& o, value v) { o.step = parse_window(v); }},
    option_row{output, "--per-input", "", value_kind::flag, "", counting_runs, rare,
               "with --window: every input has its own",
               "Every input, also every file in an archive, has windows of its own, the last of which ends with it. "
               "Without it the text of all inputs, one behind the other, is divided.",
               "gpuhist --window 1MiB --per-input --format jsonl *.log", turn<&options::per_input>},
    option_row{
        output, "--stats", "", value_kind::flag, "", counting_runs, common,
        "what each stage did, and which one limited the run",
        "Tells stage by stage the bytes, the busy and the waiting time, which engine was taken and why, and which "
        "stage limited the run: inside the result for json and jsonl, else as text on standard error.",
        "gpuhist --stats access.log.zst", turn<&options::stats>},
    option_row{output, "--progress", "", value_kind::flag, "", counting_runs, rare,
               "show progress even if standard error is no terminal",
               "Shows progress on standard error also where that is no terminal; --no-progress shows none anywhere. "
               "Default: on a terminal only. SIGUSR1 asks for a line of status at any time.",
               "gpuhist --progress access.log 2>progress.txt", [](options& o, value v) { o.progress = v == "true"; }},
    option_row{output, "--verbose", "", value_kind::flag, "", set_of(command::devices), rare,
               "with the kernels' tuning and all that fit a scheme",
               "Lists of each device what the shape of the counting kernel depends on, and which one it has there; of "
               "each built-in scheme all host kernels that could count it.",
               "gpuhist devices --verbose", turn<&options::verbose>},
    option_row{output, "-q,--quiet", "", value_kind::flag, "", with_buckets | repacking_runs, common,
               "no progress, no hints: errors only", "Neither progress nor hints on standard error, only errors.",
               "gpuhist --quiet --format json access.log", turn<&options::quiet>},

    option_row{
        engines, "--engine", "NAME", value_kind::choice, "auto cuda host gpu cpu", counting_runs, common,
        "auto, cuda (or gpu), host (or cpu)",
        "What counts. 'auto' counts on the host at once, and wakes a usable GPU where the cores fall short; "
        "--stats tells what it took and why. 'cuda' (or 'gpu') and 'host' (or 'cpu') are forced: they never fall "
        "back to another. All give the same counts. Default: auto.",
        "gpuhist --engine host --stats access.log",
        [](options& o, value v) { o.engine = parse_text(v, "give auto, cuda or host"); }},
    option_row{
        engines, "--devices", "LIST", value_kind::numbers, "all", counting_runs, rare,
        "all, or numbers such as 0,1 ('gpuhist devices')",
        "Which CUDA devices count: all, or their numbers separated by commas, each once; 'gpuhist devices' lists "
        "them. Default: the engine's choice.",
        "gpuhist --engine cuda --devices 0,1 access.log", set_devices},
    option_row{
        engines, "--streams", "N", value_kind::number, "", counting_runs, rare,
        "CUDA streams a device, each with its own buffers",
        "CUDA streams a device, each with buffers of its own: 1 to 64. With two or more, copies overlap kernels. "
        "Default: the engine's choice.",
        "gpuhist --engine cuda --streams 4 access.log",
        [](options& o, value v) { o.streams = parse_number(v, {.least = 1, .most = 64}); }},
    option_row{engines, "--kernel", "NAME", value_kind::text, "", counting_runs, rare,
               "force a counting kernel ('gpuhist devices')",
               "Which kernel counts, by its name; 'gpuhist devices' lists those of the host and of CUDA. With --engine "
               "auto it is the host's. One that the engine does not have, or that cannot count as many classes as the "
               "schemes need, is an error. All give the same counts; --stats tells which one ran. Default: the best "
               "one.",
               "gpuhist --engine host --kernel scalar --stats access.log",
               [](options& o, value v) { o.kernel = parse_text(v, "give a name that 'gpuhist devices' lists"); }},

    option_row{
        tuning, "-T,--threads", "N", value_kind::number, "", reading_runs, common,
        "threads on the host (default: the cores)",
        "Threads that read, decompress and, with the host engine, count: 1 to 1024. Default: as many as cores, at "
        "most 64.",
        "gpuhist --threads 4 *.log.zst",
        [](options& o, value v) { o.threads = parse_number(v, {.least = 1, .most = 1024}); }},
    option_row{tuning, "--chunk-size", "SIZE", value_kind::size, "", counting_runs, rare, "bytes counted at a time",
               "How many bytes are counted at a time: 1 byte to 1GiB. Default: 8MiB for CUDA, 256KiB for the host "
               "(2MiB from 8 threads on), where "
               "a chunk is to fit a core's cache.",
               "gpuhist --chunk-size 16MiB access.log",
               [](options& o, value v) { o.chunk_size = parse_chunk_size(v); }},
    option_row{tuning, "--slots", "N", value_kind::number, "", counting_runs, rare, "chunks in flight at most, from 2",
               "How many chunks are in flight at most: 2 to 65536. Each takes a buffer of --chunk-size. Default: from "
               "threads and streams, within --memory-limit.",
               "gpuhist --slots 32 access.log",
               [](options& o, value v) { o.slots = parse_number(v, {.least = 2, .most = 65536}); }},
    option_row{tuning, "--memory-limit", "SIZE", value_kind::size, "", reading_runs, common,
               "of the whole process (default: 1GiB, or less)",
               "How much memory the whole process may take, whatever the size of the inputs. Default: 1GiB, or "
               "three quarters of the limit of the control group (cgroup) where that is less.",
               "gpuhist --memory-limit 256MiB *.log.zst",
               [](options& o, value v) { o.memory_limit = parse_memory_limit(v); }},

    option_row{repacking, "--frame-size", "SIZE", value_kind::size, "", repacking_runs, rare,
               "text in a frame (default: 8MiB)",
               "How much text is in each frame of the archive that 'gpuhist repack' writes: 1 byte to 1GiB. Smaller "
               "frames split better and compress worse. Default: 8MiB.",
               "gpuhist repack --frame-size 2MiB access.log -o access.zst",
               [](options& o, value v) { o.frame_size = parse_chunk_size(v); }},
    option_row{repacking, "--level", "N", value_kind::number, "", repacking_runs, rare, "of zstd: 1 to 22 (default: 3)",
               "How hard 'gpuhist repack' compresses: zstd's levels, 1 (fast) to 22 (small). Default: 3.",
               "gpuhist repack --level 19 access.log -o access.zst",
               [](options& o, value v) { o.level = static_cast<int>(parse_number(v, {.least = 1, .most = 22})); }},
    option_row{repacking, "--force", "", value_kind::flag, "", repacking_runs, rare, "replace the file at --output",
               "Replaces the file that --output names, once what takes its place is written and verified.",
               "gpuhist repack --force access.zst -o access.zst", turn<&options::force>},

    option_row{general, "--config", "FILE", value_kind::file, "", every_command, common,
               "take options from a TOML file",
               "Takes options from a TOML file: its keys are the long names without their dashes, as in buckets = "
               "[\"letters\", \"bytes\"], chunk-size = \"8MiB\", stats = true. The environment and the command line go "
               "before it. No file is read unless --config or GPUHIST_CONFIG names it.",
               "gpuhist --config job.toml access.log", [](options&, value v) { parse_text(v, "give a path"); }},
    option_row{general, "-h,--help", "[TOPIC]", value_kind::inquiry, "", every_command, common,
               "this text, or about an option, a command, 'all'",
               "Prints a short help, or what there is to say about TOPIC: an option, with or without its dashes, a "
               "command, or 'all' for everything.",
               "gpuhist --help buckets", nullptr},
    option_row{general, "--version", "", value_kind::inquiry, "", every_command, rare, "print the version",
               "Prints the version.", "gpuhist --version", nullptr},
    option_row{general, "--generate", "WHAT", value_kind::inquiry, "man bash zsh fish", every_command, rare,
               "print the manual page or a shell's completions",
               "Prints the manual page (man) or the completions of a shell (bash, zsh, fish), made from the same table "
               "as this text.",
               "gpuhist --generate man | man -l -", nullptr},
};

}  // namespace

std::span<const option_row> option_table() { return rows; }

const option_row* find_option(std::string_view name) {
  if (!name.starts_with('-')) return nullptr;
  const auto* const found = std::find_if(rows.begin(), rows.end(), [&](const option_row& each) {
    return name == each.long_name() || name == each.short_name() || name == each.off_name();
  });
  return found == rows.end() ? nullptr : found;
}

std::string option_row::variable() const {
  std::string text = "GPUHIST_";
  for (const char c : key()) {
    text += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : '_';
  }
  return text;
}

std::vector<std::string_view> option_row::choice_names() const {
  std::vector<std::string_view> names;
  for (std::string_view rest = choices; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    names.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

}  // namespace gpuhist::config
