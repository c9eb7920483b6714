"""The options of a count as keyword arguments. Written by scripts/options.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

from gpuhist._results import Path, Results

NUMBERS = {"top", "devices"}
INTERVALS = {"allowed_lateness", "snapshot_every", "window", "step"}


class CountingOptions(TypedDict, total=False):
    """What is counted, and by what."""

    buckets: str | Sequence[str]
    """classes (default), letters, alphabet, bytes, utf8.

    Selects the schemes that put bytes into buckets. letters: a-d e-h i-l m-p q-t u-x y-z, lower case; alphabet: the 26
    lower case letters; bytes: all 256 values; classes: upper, lower, digit, space, punctuation, control, non-ascii;
    utf8: ascii, continuation, lead-2, lead-3, lead-4 (first bytes of 2, 3 and 4), never-utf8 (byte values that never
    occur in UTF-8). Several are separated by commas, and the option may be repeated; all are counted in one pass. A
    value that contains '=' defines one scheme: [NAME:]bucket=characters;bucket=characters, with ranges a-z and the
    escapes \\n \\t \\r \\0 \\\\ \\- \\; \\= \\: \\, \\xNN. Bytes outside every bucket are 'other'. Default: classes.
    """
    ignore_case: bool
    """count A-Z as a-z.

    Counts A-Z as a-z in all buckets. The byte counts of --byte-counts do not change.
    """
    byte_counts: bool
    """keep all 256 counts, for 'gpuhist report' (json).

    Adds the counts of all 256 byte values to the result, so that 'gpuhist report' can show it by any scheme later.
    Useful with --format json or jsonl.
    """
    pairs: bool
    """count how often each bucket follows each bucket.

    Counts pairs of neighbouring bytes: how often a byte of bucket A is followed by a byte of bucket B, for every scheme
    of --buckets. The schemes may divide the byte values into at most 32 classes together. No pair spans two inputs, or
    a damaged or lost part. A pair belongs to the window of its second byte. The result has the matrix of counts, the
    conditional entropy, and the pairs that are much more frequent than in independent bytes. 'gpuhist report' shows the
    pairs that results contain: those of the same schemes.
    """
    measures: str | Sequence[str]
    """all, or entropy, chi2, mean, jsd, ... (repeatable).

    Adds statistics of the counts of all byte values to the totals and to each input. entropy (bits a byte) and
    entropy_corrected (for small samples); chi2 and chi2_p, for equally frequent values; mean; distinct; ascii_share,
    printable_share; code_points; lines, mean_line_length. Compared with --baseline: jsd (Jensen-Shannon divergence,
    bits), kl, chi2_baseline and chi2_baseline_p, icd and icd_p (the idealized character distribution of Kruegel and
    Vigna). 'all' selects all that are possible. Each measure states the size of its sample; if the sample is too small,
    a reason replaces the value. A line for each: gpuhist --help measures. Default: none.
    """
    baseline: Path | Results
    """an earlier result that measures compare with.

    Compares with an earlier result, written as json or jsonl with --byte-counts. --measures, --fail-if, --alert-if,
    --columns and --sort use it. Several results in the file are added. previous:N is for --window: the sum of the N
    windows before the current one. Default: none.
    """
    fail_if: str | Sequence[str]
    """exit status 3 if it holds, as 'entropy > 7'.

    Prints a message and makes the exit status 3 if the condition holds. It is checked for each input, each window and
    the totals (see --watch). Names are bytes, lines, measures, and buckets of --buckets: digit is the share of that
    bucket, count(digit) its count, classes.digit names its scheme. Numbers are 0.15, 2e-3 or 64KiB; operators are + - *
    /, < <= > >= == !=, ! && || and parentheses. If an operand has no value, neither a comparison nor its negation
    holds. May be repeated. Names and examples: gpuhist --help conditions. Default: none.
    """
    alert_if: str | Sequence[str]
    """print a message if this holds.

    Prints a message on standard error if the condition holds, as --fail-if does, and does not change the exit status.
    With --format jsonl, each message is also a line of kind alert. May be repeated. Default: none.
    """
    watch: str | Sequence[str]
    """what conditions are checked for.

    Selects what the conditions of --fail-if and --alert-if are checked for: totals, inputs and windows, separated by
    commas. For a single input, the totals are not checked again. Default: all of them.
    """
    each: str | int
    """measure each line, record, 4KiB, input or window.

    Divides the text into units and measures each: 'line' (with its line feed), 'record' (ends with --delimiter), 4KiB
    (parts of this size), 'input', 'window' (of --window), 'value' (programs). No unit spans two inputs. --where selects
    units, --top N:FORMULA lists those with the highest values, --distribution-of counts units by their values. The
    totals stay those of all bytes. Lines and records of several frames of an input are measured at the same time, parts
    of a size in sequence. Fields and examples: gpuhist --help units. Default: none.
    """
    delimiter: str | bytes
    """with --each record: the byte that ends a record.

    Sets the byte that ends a record, and is a part of it: a character, or \\0, \\n, \\t, \\r, \\xNN. Default: \\0.
    """
    preset: str | Sequence[str]
    """published rules for corpora: gopher-quality, nemo.

    Adds the conditions of published rules for the quality of text corpora, and the buckets that they need: c4-quality,
    fineweb-quality, gopher-quality, gopher-repetition (datatrove), nemo-quality and nemo-repetition (NeMo Curator), or
    the parts of rules that counts of bytes, words and lines can express: fineweb (1 of 4 rules, and parts of 2), gopher
    (3 of 8) and nemo (4 of 17 filters); see gpuhist --help presets. The units of --each for which one of the conditions
    holds, which the rules would remove, too, are selected as by --where; 'gpuhist filter' drops them, and the result
    counts those of each condition. May be repeated, and combined with other conditions. Default: none.
    """
    where: str | Sequence[str]
    """with --each: report the units for which it holds.

    Reports each unit of --each for which the condition holds, as soon as it is read: its input, number, line, offset
    and length, and the values of the names in the condition. The syntax is that of --fail-if; 'words' is the number of
    words of a line, record or part. The format is table or jsonl (json is written as jsonl). With --group-by or
    --event-time, these units are not reported, but only they are grouped. May be repeated: units for which one of the
    conditions holds. Each may have a name before =, as 'short=words < 5'; the result counts the units of each. Default:
    none.
    """
    jsonl_field: str
    """with --each line: measure this field of JSONL.

    Measures the decoded string in the field FIELD of each line, which is a JSON object (JSONL), instead of the line:
    its measures, counts, bytes and words. The unit is still the line: its number, offset and bytes are reported, and
    'gpuhist filter' writes it as it is. A line that is not such an object is without field: it has no values, so it is
    not selected; 'units' of the result counts these lines, and a message names the first one of each input. Blank lines
    have no values, either, and are not counted so. The totals stay those of all bytes. Rules and limits: gpuhist --help
    units. Default: lines are measured.
    """
    without_field: Literal["drop", "keep", "fail"]
    """lines without --jsonl-field: drop, keep or fail.

    Selects what happens to lines without the field of --jsonl-field: 'gpuhist filter' drops or keeps them, whatever the
    conditions, or drops them and ends with exit status 1 (fail); -o FILE is not written then. A run that only counts
    can fail; it selects no such line. Blank lines are not among them. Default: drop with --preset; otherwise --keep-if
    drops them, and --drop-if keeps them.
    """
    rewrite: str | Sequence[str]
    """steps that rewrite the text of --jsonl-field.

    Rewrites the text of --jsonl-field before it is measured, in the order of the steps. 'drop CONDITION' removes the
    lines of the text for which the condition holds, 'cut EXPRESSION' removes what the regular expression (RE2) matches
    in each line, 'strip' removes white space at the ends of each line. The lines that are left are joined with line
    feeds. 'gpuhist filter' writes the units with the rewritten text in their field, and changes nothing else in them.
    Each step may have a name before =, as 'short=drop words < 3'; the result has what each removed. The names of
    conditions: gpuhist --help texts. Default: none, or the steps of --preset.
    """
    duplicates: Literal["count", "drop"]
    """units with the text of an earlier one: count, drop.

    Finds units of --each whose text is that of an earlier unit, in all inputs: without the line feed or delimiter, and
    with --jsonl-field the value of the field. count: the result has their number and bytes, and those of the different
    texts. drop: the same, and 'gpuhist filter' keeps the first of equal units, in the order of inputs, and reads one
    input after the other. Only units that are selected, or kept, are compared. A hash of 128 bits is kept of each text,
    in memory and beyond a part of --memory-limit in the temporary folder. Default: not looked for.
    """
    minhash: str
    """with --jsonl-field: write MinHash signatures.

    Writes MinHash signatures of the field of --jsonl-field to files in DIR, which MinhashDedupBuckets of datatrove
    reads: bucket_BBB/NNNNN.minhash.sig for each band and input. They are those of datatrove's defaults (sequences of 5
    words, 14 bands of 8 hashes, XXH64), with words that white space divides. An input that is not complete has no
    files. Existing files are replaced. Default: none.
    """
    distribution_of: str
    """with --each: how many units have which value.

    Adds to the result how many units of --each have which value of the formula: a histogram, and the lowest and the
    highest value, the mean, the sum and quantiles. The upper bound of a bin exceeds its lower bound by at most 1/8.
    Groups of --group-by and windows of --event-time have the sum, the mean and the quantiles of their lines, too.
    Default: none.
    """
    show_text: bool
    """the text of lines: selected, ranked, of alerts.

    Reports the first 400 bytes of each line, record or part that --where selects (of gpuhist filter --result: that is
    dropped) or that --top N:FORMULA ranks, and of the first line in which an expression of a condition matches
    (--alert-if 'match(error) > 9'); --no-show-text never does. Default: in a table on a terminal only.
    """
    quantiles: str | Sequence[str]
    """with --distribution-of: percents such as 50,99.9.

    Sets the quantiles that are reported with --distribution-of: the least values that are not below those of so many
    percent of the units. They are exact for whole numbers to 256, and otherwise less than 0.4 % too low. Default:
    50,90,99,99.9.
    """
    match: str | Sequence[str]
    """count the lines in which a regex matches.

    Counts the lines, and their bytes, in which the regular expression REGEX matches, and those in which none matches.
    May be repeated: all expressions are searched in one pass. The syntax is that of RE2; a match is within a line. In
    formulas of lines, match(NAME) is 1 or 0, as in gpuhist filter --keep-if 'match(error)'. Details: gpuhist --help
    events. Default: none.
    """
    match_file: Path
    """a file with expressions of --match, one a line.

    Reads more expressions of --match from the lines of FILE: NAME=REGEX. Blank lines and lines that begin with # are
    skipped. Default: none.
    """
    match_ignore_case: bool
    """with --match: letters match in both cases.

    Expressions of --match match letters in upper and lower case. The option --ignore-case is about buckets.
    """
    match_first: bool
    """with --match: a line counts for the first regex.

    Of the expressions of --match that match in a line, only the first counts, in the order in which they are given. So
    the numbers of lines, with those in which none matches, add up to all lines.
    """
    group_by: str
    """count lines by a key: field:1, json:user, template.

    Counts lines, bytes and buckets by a part of the line: field:N (separated by blanks; -1 is the last), csv:N or
    csv:NAME, json:KEY or json:/a/b, regex:REGEX (its first group), template (the line without its numbers, names and
    times), kind (the same with its level and message), host, app, status or level (of usual logs), language or
    character (of the text), name (of the input), or family (its name without rotation). The groups with the most lines
    are reported, with the sum of all others. With --where, only lines count for which it holds; with --event-time,
    windows are divided by key, too. Details: gpuhist --help events. Default: none.
    """
    then_by: str
    """with --group-by: a second key, such as template.

    Counts lines by two keys: the groups are the pairs of keys that occur. A line without one of them has no key. The
    keys are those of --group-by. Default: none.
    """
    most_groups: int
    """with --group-by: report N groups.

    Reports the N groups of --group-by with the most lines (a table shows 20), and the sum of all others. Default: 1000.
    """
    approximate: bool
    """with --group-by: groups in bounded memory.

    If groups need more memory than a part of --memory-limit, those with the fewest lines are removed, instead of
    written to the temporary file. Numbers of lines have bounds then (lines_at_most), and the number of groups is an
    estimate. Sums of all lines and of windows are exact, and so are values of --distribution-of, which may need the
    temporary file. Details: docs/events.md.
    """
    changes: bool
    """find what changed in logs, as gpuhist changes.

    Compares each log with itself over time, as the command gpuhist changes does: a job writes what changed to
    changes.txt and total.json. Logs without times are not compared, unless --window is a number of lines.
    """
    field_separator: str
    """the byte between fields of field:N and csv:N.

    Sets the byte that separates the fields of field:N and the columns of csv: a character, or \\t, \\xNN. Default: runs
    of blanks and tabs for field:N, a comma for csv:N.
    """
    event_time: str
    """--window is a time that is written in the lines.

    With --window 1m, windows are those of the times in the lines, whatever the order of lines and inputs. A line
    without a time belongs to the line before it. The usual formats of logs are recognised; FORMAT is the name of one
    (iso, clf, syslog, ...), json:KEY, or a pattern such as '%Y-%m-%d %H:%M:%S'. Formats and details: gpuhist --help
    events. Default: windows are those of arrival.
    """
    allowed_lateness: str | int
    """with --event-time: when windows close (10s).

    Windows of --event-time close while the run lasts: when a line is so much later than their end, or would be by the
    clock if no line follows. --format jsonl has a line for each at once, and conditions are checked for it. Lines of
    windows that have closed are counted as late. Requires --follow, or one input, such as a pipe. Details: gpuhist
    --help events. Default: 10s with --follow; otherwise windows are reported at the end, whatever the order of lines.
    """
    time_zone: str
    """with --event-time: of times without a zone.

    Sets the time zone of times that are written without one, such as Europe/Berlin. Default: UTC.
    """
    fail_fast: bool
    """end the run when a condition of --fail-if holds.

    Ends the run as soon as a condition of --fail-if holds for a finished input (in the order of the inputs), for a
    window, or with --follow for the bytes counted so far. The bytes counted by then are reported, as incomplete. The
    exit status is 3.
    """
    top: str | int | Sequence[int]
    """list at most N inputs, groups; N:FORMULA: units.

    Lists at most N inputs (or all), the first ones of the order, and the number of the others. The totals are those of
    all inputs, and every input that failed is listed after them. Only for --format table. Default: all; on a terminal
    as many as fit below the buckets, at least ten. With --group-by, as many groups, too (default: 20). N:FORMULA, such
    as 10:entropy, requires --each: adds the N units (1 to 1000000, in a job 1 to 1000) with the highest values to the
    result, in every format.
    """
    window: str | int
    """a line per window: 64MiB of text, 10s, 100000lines.

    Writes a line of JSON with the counts of each window of the text; with --event-time, EXTENT is a time or auto.
    Windows follow each other, or overlap with --step. A window is a number of bytes (64MiB), a number of lines
    (100000lines), or a time (10s): the time of arrival, not one that the text contains. A window of time holds the text
    that arrived in it, and is also written if none arrived; one of the inputs must be a stream or followed. Windows
    continue from one input to the next, unless --per-input is given. A line is written as soon as its text is counted,
    before the result. Compressed text is reported before its verification; a verdict follows. Its frames are decoded in
    sequence. The format is jsonl, also with --format json; other formats cannot hold windows. Fields and examples:
    gpuhist --help windows. Default: none.
    """
    step: str | int
    """with --window: from one window to the next.

    Sets the distance between the starts of successive windows, in the unit of --window. It is at most as long as a
    window; if shorter, windows overlap. A window may be at most 4096 times as long as the greatest common divisor of
    window and step. Default: as long as a window.
    """
    per_input: bool
    """with --window: every input has its own.

    Divides every input into windows of its own, also every file in an archive. The last window of an input ends with
    it. Without it, the text of all inputs in sequence is divided.
    """
    engine: Literal["auto", "cuda", "host", "gpu", "cpu"]
    """auto, cuda (or gpu), host (or cpu).

    Selects the engine that counts. 'auto' starts on the host, and wakes a usable GPU if the cores are saturated;
    --stats reports the choice and the reason. 'cuda' (or 'gpu') and 'host' (or 'cpu') are forced: they never fall back
    to another engine. All give the same counts. Default: auto.
    """
    devices: str | int | Sequence[int]
    """all, or numbers such as 0,1 ('gpuhist devices').

    Selects the CUDA devices that count: all, or their numbers separated by commas, each once; 'gpuhist devices' lists
    them. Default: chosen by the engine.
    """
    streams: int
    """CUDA streams per device, each with its own buffers.

    Sets the number of CUDA streams per device, 1 to 64. Each has its own buffers. With two or more, copies overlap with
    kernels. Default: chosen by the engine.
    """
    device_decode: Literal["auto", "on", "off"]
    """auto, on or off: decode zstd or gzip on devices.

    Selects where zstd frames and gzip members are decoded. 'auto': with --engine cuda on the device, except files below
    64KiB and streams, which are counted as they arrive; with --engine auto also there, if enough is left to decode.
    'on': also small files and streams, which may take longer than on the host. 'off': on the host. Frames that the
    device rejects are decoded by the host, which has the final say on damage. With --pairs, --pass-through, --follow or
    --zstd-dictionary the host decodes; also with --window if windows or steps are of time or shorter than 16KiB or 128
    lines. All give the same results. Default: auto.
    """
    device_memory: int | str
    """memory of each device for decoding.

    Limits the memory of each device for decoding, from 64MiB. With less memory fewer frames are decoded at once.
    Default: half of the memory of the device, at most 70GiB.
    """
    kernel: str
    """force a counting kernel ('gpuhist devices').

    Selects the counting kernel by name; 'gpuhist devices' lists the kernels of the host and of CUDA. With --engine auto
    it is a kernel of the host. A kernel that the engine does not have, or that cannot count as many classes as the
    schemes need, is an error. All give the same counts; --stats reports which one ran. Default: the best one.
    """
    threads: int
    """threads on the host (default: the cores).

    Sets the number of threads that read, decompress and, with the host engine, count: 1 to 1024. Default: the cores
    that the process may use (its affinity, and the CPU limit of its control group), at most 64.
    """
    memory_limit: int | str
    """of the whole process (default: about 1GiB).

    Limits the memory of the whole process, whatever the size of the inputs. none: no limit, for archives with large
    windows (zstd --long=31). Default: 1GiB, or three quarters of the limit of the control group (cgroup) if that is
    less; for compressed bytes on their way to GPUs in addition a 16th of the memory of the machine or group, up to
    3584MiB. --no-memory-limit restores it, and lifts no limit.
    """
    temporary_folder: Path
    """for what memory cannot hold (default: $TMPDIR).

    Sets the folder of the unnamed temporary file for what memory cannot hold: the results of very many inputs, and text
    that is not verified yet. Default: $TMPDIR, or /tmp.
    """
    keep_if: str | Sequence[str]
    """write the units for which it holds.

    Writes the text of the units of --each (default: line) for which the condition holds, and drops the others, also
    those for which it has no value. The syntax is that of --where. May be repeated: units for which one of the
    conditions holds.
    """
    drop_if: str | Sequence[str]
    """drop the units for which it holds.

    Drops the units of --each (default: line) for which the condition holds, and writes the text of the others, also of
    those for which it has no value. The syntax is that of --where. May be repeated: units for which one of the
    conditions holds are dropped; the result counts those of each.
    """


class FileOptions(CountingOptions, total=False):
    """What is read, and how, besides what is counted."""

    recursive: bool
    """count the files below directories as well.

    Counts all regular files below the directories among the inputs, depth first, in the byte order of their names.
    Without it a directory is an error. Symbolic links, FIFOs, sockets and devices are skipped, and the result reports
    how many. A directory or file that cannot be read is an error; the rest is counted.
    """
    files_from: Path
    """read more names of inputs from FILE, one per line.

    Reads more names of inputs from FILE, one per line ('-': standard input). They are counted after the inputs of the
    command line. Empty lines are ignored. The list is read while the inputs are counted, so a long list costs no
    memory. If the list is standard input, '-' cannot be an input. Default: none.
    """
    null: bool
    """names of --files-from end in NUL.

    Reads names that end in a NUL byte from the list of --files-from, as 'find -print0' writes them. Such names may
    contain every other byte. Without it, names end in a line feed.
    """
    include: str | Sequence[str]
    """with -r: only files that match (repeatable).

    Counts only files below directories (-r) that match one of the patterns. The syntax is that of the shell: *, ?,
    [...] and \\, applied to bytes; a leading dot is matched like any other byte. A pattern without a slash is compared
    with the last component of the name. A pattern with a slash is compared with the whole path below the named
    directory: there * does not match a slash, and ** as a component matches any number of components. May be repeated.
    Default: all files.
    """
    exclude: str | Sequence[str]
    """with -r: no files or directories that match.

    Leaves out files and directories below directories (-r) that match one of the patterns; of a directory, everything
    in it. Patterns have the syntax of --include; a pattern that ends in a slash matches directories only. --exclude has
    precedence over --include. May be repeated. Default: nothing.
    """
    follow_symlinks: bool
    """with -r: follow symbolic links as well.

    Follows symbolic links below directories (-r). The target is counted under the name of the link, also if it is
    counted under another name. A link to a directory that contains the link is skipped. Links among the inputs
    themselves are always followed.
    """
    input_format: Literal["auto", "raw", "zstd", "gzip", "xz", "lzma", "lzip", "bzip2", "lz4", "compress", "snappy",
        "hadoop-snappy", "hadoop-lz4", "brotli", "zlib", "deflate", "tar", "zip", "7z", "cpio", "ar", "rpm"]
    """auto, raw, zstd, gzip, xz, ..., tar, zip, 7z, cpio.

    Sets the format of the inputs: auto, raw, zstd, gzip, xz, lzma, lzip, bzip2, lz4, compress, snappy, hadoop-snappy,
    hadoop-lz4, brotli, zlib, deflate, tar, zip, 7z, cpio, ar or rpm. 'auto' detects the format of each input by its
    content; a notice says where its name promises another one (--strict-names). 'raw' counts the bytes without
    decoding, also those of archives. The names of compressed formats require that format, and count the decompressed
    bytes, even if these are an archive. Some have no magic number, so 'auto' recognises them only by name: 'lzma' by
    .lzma and .tlz, 'brotli' by .br, 'hadoop-snappy' by .snappy; never 'hadoop-lz4' and 'deflate'. 'tar', 'zip', '7z',
    'cpio', 'ar' and 'rpm' count the members of such archives, compressed or not. Default: auto.
    """
    zstd_dictionary: Path
    """dictionary of the zstd archives.

    Decompresses zstd archives with this dictionary ('zstd -D', 'zstd --train'), or with that in the first frame of this
    .warc.zst file. Frames name their dictionary by a number; a frame that needs another one is an error of its input. A
    .warc.zst file with its own dictionary needs no option. Default: none.
    """
    max_output: int | str
    """stop at archives that decompress to more.

    Stops reading a compressed input that decompresses to more than SIZE, and reports it as an error. Frames that end
    before SIZE are counted. Frames of a pipe, and those whose text is passed through or measured in units, are then
    decoded one after the other. Default: no limit.
    """
    skip_damage: bool
    """continue after damage in a compressed input.

    Continues after a damaged part of a compressed input, at the next intact frame or member. An input of one frame has
    no next one: nothing more of it is read. The field 'lost' of the JSON result lists the lost parts, with their
    offsets in the compressed input and in the text. The input stays incomplete, and the exit status is 1. 'gpuhist
    filter' drops the units with text of a damaged part, holds the text of each frame or member until it is verified,
    and publishes the output.
    """
    strict_names: bool
    """refuse inputs whose content differs from the name.

    Refuses an input, or a member of an archive, whose content is not what the suffix of its name promises, such as text
    named .gz. Without this option the content decides, and a notice names the difference.
    """
    text_encoding: Literal["auto", "utf-8", "utf-16", "utf-16le", "utf-16be"]
    """encoding of the text: auto, utf-8, utf-16, ....

    Sets the encoding of the text of all inputs, after decompression. Text in UTF-16 is converted to UTF-8, which is
    counted: bytes, lines, words, units and their offsets are those of the text in UTF-8, without its byte order mark.
    Surrogates without a partner, and an incomplete character at the end, are counted as U+FFFD, with a notice. 'auto'
    takes a text with a byte order mark of UTF-16 as UTF-16, and others as they are. 'utf-8' counts all as they are.
    'utf-16' takes the byte order of the mark, or else little endian, as 'utf-16le'; 'utf-16be' is big endian. Default:
    auto.
    """
    fail_on_unknown: bool
    """refuse what looks compressed in no known format.

    Refuses an input, or a member of an archive, whose first bytes look compressed or encrypted, and are of no format
    that gpuhist knows. Without this option its bytes are counted as they are, with a notice. Known formats that gpuhist
    does not read (Parquet, rar, journals of systemd, ...) are always refused, unless --input-format raw is given.
    """
    follow: bool
    """count what is appended to files, until a signal.

    Counts the files and everything that is appended to them, until a signal. Files are followed by name: through
    rotation (rename and create), through truncation, and while they do not exist. With -r, files that appear below the
    directories are followed, too. At the signal, the bytes that the files contain by then are counted and reported.
    With --snapshot-every, counts are also written while the run lasts. Conditions (--fail-if, --alert-if) are checked
    for the bytes counted so far at every snapshot, or once a second. Windows of --event-time close 10s after their end
    (--allowed-lateness). Only plain text can be followed. Bytes that are written between the last read of a file and
    its truncation (copytruncate of logrotate) are missed; a truncation is reported.
    """
    label: str
    """name of standard input in the result.

    Sets the name of standard input in the result. Default: (standard input).
    """
    utf8: bool
    """validate UTF-8: malformed sequences, scripts.

    Validates the text of every input as UTF-8, besides counting it. The totals and each input then have the number of
    malformed sequences, their bytes, the offset and line of the first one (of an input), and the number of code points,
    by script. Unverified text is included. Conditions and formulas (--fail-if, --alert-if, --columns, --sort, --each
    input) may contain 'malformed'; for lines, records and parts of --each they may also without --utf8. Frames of one
    input are decoded at the same time, by the cores. Cannot be combined with --follow.
    """
    count_unverified: bool
    """add unverified bytes of damaged inputs to totals.

    Adds to the totals the bytes that were decoded from a damaged input before the error. Without it, the totals hold
    only verified bytes, and the other bytes are reported separately as unverified. A result that includes unverified
    bytes says so.
    """
    snapshot_every: str | int
    """print the counts so far: every 500ms, 1s, 64MiB.

    Writes a snapshot of the counts so far at intervals: of time (500ms, 1s, 5m, 1h) or of text (64MiB, at most that
    often). A snapshot is exact for a prefix of each input, and states its length. Default: none.
    """
    chunk_size: int | str
    """bytes counted at a time.

    Sets how many bytes are counted at a time: 1 byte to 1GiB. Default: 2MiB for CUDA and from 8 threads on, otherwise
    half of the L2 cache of a core, 256KiB to 1MiB and at most 1/1024 of --memory-limit.
    """
    slots: int
    """chunks in flight at most, from 2.

    Sets how many chunks are in flight at most: 2 to 65536. Each takes a buffer of --chunk-size. Default: derived from
    threads and streams, within --memory-limit.
    """
