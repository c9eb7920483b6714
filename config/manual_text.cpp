#include "config/manual_text.hpp"

#include <array>

namespace gpuhist::config {
namespace {

constexpr std::array<std::string_view, 4> examples = {
    "cat access.log | gpuhist --buckets letters,bytes",
    "gpuhist --buckets 'vowels=aeiouAEIOU;digits=0-9' book.txt",
    "gpuhist --format json -o counts.json january.log february.log.zst",
    "producer | gpuhist --pass-through -o counts.txt | consumer",
};

constexpr std::array all = {
    section{"Sizes and durations",
            "Sizes: 65536, 64K (= 64KiB), 16MiB, 1GB (decimal). Durations: 500ms, 10s, 5m, 1h, up to 100 years. An "
            "interval is a duration "
            "or a size, told apart by its unit: 5m is five minutes, 5M is 5 MiB."},
    section{
        "Configuration",
        "An option may be given in a file, in the environment and on the command line; the later of these replaces "
        "the earlier, with all its values where an option may be repeated. What a lower level says is undone "
        "by a --no- form: --no-stats turns a flag off, and --no-output, --no-threads and so on take a value back, so "
        "that the default holds. --no-config reads no file.\n\n"
        "A file is read only where --config or GPUHIST_CONFIG names one. It is TOML; its keys are the long names "
        "without their dashes. A flag is true or false, a number an integer, a size an integer or a string, buckets "
        "a string or an array of strings. An unknown key, also one that would be overridden, is an error.\n\n"
        "In the environment, the option --chunk-size is GPUHIST_CHUNK_SIZE, and so on. A flag is 1, true, yes or on, "
        "or 0, false, no or off. A variable that is empty is as if unset; a GPUHIST_ variable that names no option "
        "is an error."},
    section{
        "Other variables of the environment",
        "NO_COLOR, if it is not empty: no colours, also on a terminal. TERM: where it is dumb, neither colours nor, "
        "where it is dumb or unset, a line of progress. LC_ALL, LC_CTYPE, LANG: bars are of block characters where "
        "the locale takes UTF-8, else of ASCII. TMPDIR: the folder of the file that what is known of inputs waits "
        "in when there are very many (default: /tmp)."},
    section{"Exit status",
            "0: everything was counted.\n"
            "1: an input (of report: a result) failed or is incomplete, and the rest is reported; or the result could "
            "not be "
            "written.\n"
            "2: wrong usage or configuration, or a forced engine or kernel that cannot be had; nothing is written.\n"
            "3: a condition of --fail-if holds, and nothing else went wrong."},
    section{
        "Signals",
        "Ended by SIGINT, SIGTERM or SIGHUP, the program writes its report and then ends by that signal, so that a "
        "shell sees 128+n. A repeat within a second belongs to the same request; a later one ends it at once, without "
        "a report. A reader of the output that leaves ends "
        "it by SIGPIPE; "
        "with --pass-through, after the report.\n\n"
        "SIGUSR1 ends nothing: it asks for a line of status on standard error, as in kill -USR1 $(pidof gpuhist), "
        "and for a snapshot where the "
        "output is a live one (--snapshot-every, --window, or jsonl with --pass-through)."},
};

}  // namespace

std::string_view summary() { return "gpuhist counts what text is made of, as fast as the hardware delivers it."; }

std::span<const std::string_view> short_examples() { return examples; }

std::span<const section> sections() { return all; }

}  // namespace gpuhist::config
