#include "config/command_table.hpp"

#include <algorithm>
#include <array>

namespace gpuhist::config {
namespace {

constexpr std::array rows = {
    command_row{.kind = command::count,
                .name = "",
                .usage = "[OPTIONS] [FILE...]",
                .help = "no FILE, or '-': standard input",
                .detail = "Counts the bytes of all inputs and reports them by bucket. '--' ends the options; a file "
                          "with the name of a command is written ./report.",
                .example = "zstdcat access.log.zst | gpuhist --buckets letters"},
    command_row{.kind = command::changes,
                .name = "changes",
                .usage = "[OPTIONS] [FILE...]",
                .help = "finds what changed in logs",
                .detail =
                    "Compares the kinds of lines, their number, length and bytes in windows of the times that are "
                    "written in the lines, for each log by itself, and lists the changes, strongest evidence first, "
                    "with the first line of each. Rotated files are one log. It needs no rule. The exit status is 3 "
                    "if there is a change. Times and formats: gpuhist --help events.",
                .example = "gpuhist changes -r /var/log",
                .note = {.key = "window", .help = "length of the windows: 5m, 1h, or 1000lines"}},
    command_row{.kind = command::diff,
                .name = "diff",
                .usage = "[OPTIONS] A B",
                .help = "compares two results, logs or trees",
                .detail =
                    "Compares the logs of A with those of B: the kinds of lines, their number, length and bytes, and "
                    "lists the logs that differ, strongest evidence first, with the first line of B that differs. A "
                    "and B are files, folders, archives, or '-' for standard input; logs with the same name in two "
                    "folders are compared, and those on one side only are listed. Or both are results with kinds of "
                    "lines, written with --group-by kind --format json. The exit status is 3 if there is a "
                    "difference.",
                .example = "gpuhist diff yesterday today",
                .note = {.key = "window", .help = "length of the windows: 5m, 1h, or 1000lines"}},
    command_row{.kind = command::sample,
                .name = "sample",
                .usage = "[OPTIONS] FILE...",
                .help = "estimates shares in much text",
                .detail =
                    "Reads randomly chosen parts of plain files and of zstd files with a seek table, and reports the "
                    "share of each bucket in all of their text, with bounds. All shares are within their bounds at the "
                    "same time with a probability of 99.9 %, whatever the text is. Other inputs are listed.",
                .example = "gpuhist sample --size 256MiB --buckets letters -r /srv/archive",
                .note = {.key = "format", .help = "table (for people) or json"}},
    command_row{.kind = command::report,
                .name = "report",
                .usage = "[OPTIONS] [RESULT...]",
                .help = "shows saved counts in other buckets",
                .detail =
                    "Shows results by other schemes, or in another format; the text itself is not needed. A RESULT is "
                    "a file that was written as json or jsonl, with the counts of all 256 byte values: "
                    "count with --byte-counts, or with the scheme bytes. Or it is the folder of a finished job, "
                    "which is also shown by its own schemes without these counts. Several results are added up. No "
                    "RESULT, or '-': standard input. A damaged result is reported, the others are shown, and the "
                    "exit status is 1.",
                .example = "gpuhist report --buckets letters,utf8 --format csv counts.json"},
    command_row{.kind = command::devices,
                .name = "devices",
                .usage = "[OPTIONS]",
                .help = "lists engines and devices",
                .detail = "Lists every engine and device, whether it can be used and why not, the choice of "
                          "--engine auto, and the kernels that --kernel accepts.",
                .example = "gpuhist devices --format json",
                .note = {.key = "format", .help = "table (for people) or json"}},
    command_row{
        .kind = command::repack,
        .name = "repack",
        .usage = "[OPTIONS] [FILE...]",
        .help = "writes an archive of many frames",
        .detail =
            "Writes the text of all inputs, in sequence, to --output as a zstd archive of independent frames with "
            "checksums and a seek table. Every zstd reads the archive, and many cores can decompress it in parallel. "
            "The archive is decompressed and compared with the text before the file gets its name. An existing file is "
            "replaced only with --force, and a damaged input leaves no archive.",
        .example = "gpuhist repack access.log.zst -o access.split.zst",
        .note = {.key = "output", .help = "the archive, a regular file; must be given"}},
    command_row{
        .kind = command::filter,
        .name = "filter",
        .usage = "[OPTIONS] [FILE...]",
        .help = "writes lines that a condition keeps",
        .detail =
            "Writes the text of the units (--each: line, record or SIZE; default: line) that --keep-if or --drop-if "
            "keeps, in their order, to --output or standard output. Inputs are decompressed. Units are exact: they do "
            "not depend on how the text is read. A file of --output appears at the end, and only if all inputs "
            "were complete; to standard output, text is written before its frame is verified, and a damaged input "
            "makes the exit status 1. --skip-damage drops only the units with damaged text. --output-dir writes one "
            "output "
            "for each input.",
        .example = "gpuhist filter --drop-if 'digit > 0.5' --result dropped.jsonl access.log.zst -o clean.log",
        .note = {.key = "output", .help = "write the text to FILE; fd:N: descriptor N"}},
    command_row{
        .kind = command::batch,
        .name = "batch",
        .usage = "[OPTIONS] JOB",
        .help = "counts files as a job with state",
        .detail =
            "'gpuhist batch [plan] [JOB.toml] [INPUT...]' counts many files as one job with a folder (--output-dir). A "
            "run that was killed is continued by the same "
            "command: what was finished is not read again. JOB.toml has the options as keys, without their dashes, and "
            "the "
            "inputs: names, patterns and directories, as inputs = [\"/srv/*.zst\"]. Options of the command line have "
            "precedence. 'gpuhist batch plan' writes the manifest, the list of all inputs with sizes, times and "
            "fingerprints, to --output. An input that differs from the manifest when it is read is an error of that "
            "input.",
        .example = "gpuhist batch job.toml --output-dir counts",
        .note = {.key = "output", .help = "batch plan: write the manifest to FILE"}},
    command_row{.kind = command::merge,
                .name = "merge",
                .usage = "[OPTIONS] RESULT...",
                .help = "adds results, and parts of a job",
                .detail =
                    "Adds results: files that were written with --format json or jsonl, and folders of finished "
                    "jobs. The sum is written to --output, in any --format; it is complete only if all results "
                    "are. The schemes must be the same. An input that is in several results is an error. Folders "
                    "with parts that 'gpuhist batch --shard' has published are merged to files.jsonl, "
                    "errors.jsonl, total.json and job.json, as one run over all inputs writes them: all parts must "
                    "be of one manifest, with the same options, and each must exist once; others are listed, and "
                    "nothing is written.",
                .example = "gpuhist merge counts"},
};

}  // namespace

std::span<const command_row> command_table() { return rows; }

const command_row& row_of(command kind) {
  return *std::find_if(rows.begin(), rows.end(), [&](const command_row& each) { return each.kind == kind; });
}

const command_row* find_command(std::string_view name) {
  const auto* const found = std::find_if(
      rows.begin(), rows.end(), [&](const command_row& each) { return !each.name.empty() && each.name == name; });
  return found == rows.end() ? nullptr : found;
}

}  // namespace gpuhist::config
