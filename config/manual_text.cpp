#include "config/manual_text.hpp"

#include <array>

namespace gpuhist::config {
namespace {

constexpr std::array<std::string_view, 2> examples = {
    "cat access.log | gpuhist --buckets 'vowels=aeiouAEIOU;digits=0-9'",
    "producer | gpuhist --pass-through -o counts.txt | consumer",
};

constexpr std::array all = {
    section{"Sizes and durations",
            "Sizes: 65536, 64K (= 64KiB), 16MiB, 1GB (decimal). Durations: 500ms, 10s, 5m, 1h, up to 100 years. An "
            "interval is a duration or a size; the unit decides: 5m is five minutes, 5M is 5 MiB."},
    section{
        "Configuration",
        "An option may be given in a configuration file, in the environment and on the command line. The environment "
        "replaces the value of the file, and the command line replaces both, with all values of an option that may be "
        "repeated. A --no- form unsets a value from the file or the environment: --no-stats turns a flag off; "
        "--no-output, --no-threads and so on restore the default. --no-config reads no file.\n\n"
        "A file is read only if --config or GPUHIST_CONFIG names one. It is TOML; its keys are the long names without "
        "their dashes. A flag is true or false, a number an integer, a size an integer or a string, buckets a string "
        "or an array of strings. An unknown key is an error, even if a higher level sets that option.\n\n"
        "In the environment, the option --chunk-size is GPUHIST_CHUNK_SIZE, and so on. A flag is 1, true, yes or on, "
        "or 0, false, no or off. An empty variable is ignored; a GPUHIST_ variable that names no option is an error."},
    section{
        "Other variables of the environment",
        "NO_COLOR: if not empty, no colours are used, even on a terminal. TERM: if it is dumb, no colours are used; if "
        "it is dumb or unset, no progress line. LC_ALL, LC_CTYPE, LANG: bars are block characters if the locale is "
        "UTF-8, and ASCII otherwise. TMPDIR: the directory of the temporary file that stores results of inputs if "
        "there are very many, and long lines of 'gpuhist filter' (default: /tmp)."},
    section{"Exit status",
            "0: everything was counted.\n"
            "1: an input (of report: a result) failed or is incomplete, and the rest is reported; the result could not "
            "be written; or memory was insufficient.\n"
            "2: wrong usage or configuration, or a forced engine or kernel is not available; nothing is written.\n"
            "3: a condition of --fail-if holds, and nothing else failed."},
    section{
        "Signals",
        "After SIGINT, SIGTERM or SIGHUP, the program writes its report and then ends by that signal, so that a shell "
        "sees 128+n. Further signals within a second are ignored; a later one ends the program at once, without a "
        "report. If the reader of the output closes it, SIGPIPE ends the program; with --pass-through, after the "
        "report.\n\n"
        "SIGUSR1 does not end the program. It prints a status line on standard error, as in kill -USR1 $(pidof "
        "gpuhist), and writes a snapshot if the output is live (--snapshot-every, --window, or jsonl with "
        "--pass-through)."},
};

}  // namespace

std::string_view summary() { return "gpuhist counts byte values."; }

std::span<const std::string_view> short_examples() { return examples; }

std::span<const section> sections() { return all; }

}  // namespace gpuhist::config
