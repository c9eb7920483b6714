// Options as typed, resolved to the plan of `gpuhist repack`: its output, and as many threads as the memory limit
// allows.
#include "command/repack/repack.hpp"
#include "command/typed_options.hpp"
#include "config/size.hpp"
#include "config/usage_error.hpp"
#include "io/zstd/zstd_compressor.hpp"
#include "library/default_memory_limit.hpp"
#include "library/resolve.hpp"
#include "report/formats/report.hpp"
#include "report/output/destination.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace gpuhist::command {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

// Memory of the process without frames and windows: code, libraries, stacks, blocks that are read ahead. Measured: 10
// to 20 MiB.
constexpr std::uint64_t process_allowance = 24 * mib;

// Checks the output before any input is read, so that no work is lost.
std::string resolve_output(const config::options& typed) {
  constexpr std::string_view option = "output";
  if (!typed.output) throw config::option_error(option, "the name of the archive is missing; give --output FILE");
  std::error_code ignored;
  const fs::file_status status = fs::status(*typed.output, ignored);
  const std::string name = report::printable(*typed.output);
  const bool is_descriptor = report::names_descriptor(*typed.output);
  if (is_descriptor || (fs::exists(status) && !fs::is_regular_file(status))) {
    throw config::option_error(option,
                               name + (is_descriptor ? " names a descriptor" : " is not a regular file") +
                                   ", and the archive is read again before it gets its name; give the name of a file");
  }
  if (fs::exists(status) && !typed.force) {
    throw config::option_error(option, name + " already exists; give another name, or --force to replace it");
  }
  return *typed.output;
}

// Two frames, each as text and compressed, and one compressor.
std::uint64_t memory_of_a_thread(const repack_plan& planned) {
  return 2 * (planned.frame_bytes + io::zstd_compressor::bound(planned.frame_bytes)) +
         io::zstd_compressor::memory_for(planned.level, planned.frame_bytes);
}

// Threads get up to half of the limit, and at least enough for one. The window of the inputs gets the rest.
void fit_into(std::uint64_t limit, repack_plan& planned) {
  const std::uint64_t thread_bytes = memory_of_a_thread(planned);
  if (process_allowance + thread_bytes > limit) {
    throw config::option_error("memory-limit",
                               "one thread with frames of " + config::format_size(planned.frame_bytes) + " at level " +
                                   std::to_string(planned.level) + " and the other buffers need " +
                                   config::format_size(process_allowance + thread_bytes) + ", more than the limit of " +
                                   config::format_size(limit) +
                                   "; give a smaller --frame-size, a lower --level or a higher --memory-limit");
  }
  const std::uint64_t half = std::max(limit / 2, process_allowance) - process_allowance;
  planned.decoding.besides.bytes = process_allowance + planned.threads * thread_bytes;
  planned.threads = static_cast<unsigned>(std::clamp<std::uint64_t>(half / thread_bytes, 1, planned.threads));
  planned.decoding.window_bytes = limit - process_allowance - planned.threads * thread_bytes;
}

}  // namespace

repack_plan make_repack_plan(const config::options& typed) {
  repack_plan planned;
  planned.inputs = typed.inputs;
  if (planned.inputs.empty()) planned.inputs.emplace_back("-");
  planned.forced_format = library::resolve_input_format(typed.run.format);
  if (planned.forced_format != nullptr && planned.forced_format->archive != io::archive_kind::none) {
    throw config::option_error("input-format",
                               "repack does not unpack archives with members, but compresses them as they are; give "
                               "raw, zstd or gzip, or leave the option out");
  }
  planned.decoding.dictionary = library::resolve_dictionary(typed.run.dictionary);
  planned.output = resolve_output(typed);
  planned.replace = typed.force;
  planned.level = typed.level;
  planned.frame_bytes = static_cast<std::size_t>(typed.frame_size);
  planned.threads = library::resolve_threads(typed.run.counting.threads);
  fit_into(library::memory_limit_of(typed.run.counting), planned);
  return planned;
}

}  // namespace gpuhist::command
