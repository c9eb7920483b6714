#include "batch/input_survey.hpp"

#include "batch/parallel_work.hpp"
#include "io/archive/archive_format.hpp"
#include "io/byte_reader.hpp"
#include "io/descriptor.hpp"
#include "io/failure.hpp"
#include "io/format.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

namespace gpuhist::batch {
namespace {

constexpr std::uint64_t small_file_bytes = std::uint64_t{256} << 10U;  // that of the feeder
constexpr std::size_t examined_inputs = 4;                             // of each format
constexpr std::size_t examined_bytes = std::size_t{16} << 20U;
constexpr std::string_view unreadable = "unreadable";

// A file that is read from any offset. An error of reading is its end: the run reports it.
class surveyed_file : public io::byte_reader {
 public:
  explicit surveyed_file(const manifest_entry& entry)
      : fd_(::open(entry.name.c_str(),
                   O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (entry.follow_links ? 0 : O_NOFOLLOW))),
        size_(entry.size) {}

  [[nodiscard]] bool is_open() const { return static_cast<bool>(fd_); }

  std::size_t read(std::span<std::byte> out) override {
    ssize_t got = 0;
    do got = ::pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(at_));
    while (got < 0 && errno == EINTR);
    at_ += static_cast<std::uint64_t>(std::max<ssize_t>(got, 0));
    return static_cast<std::size_t>(std::max<ssize_t>(got, 0));
  }

  [[nodiscard]] std::optional<std::uint64_t> seekable_bytes() const override { return size_; }
  void seek(std::uint64_t offset) override { at_ = offset; }

 private:
  io::descriptor fd_;
  std::uint64_t size_;
  std::uint64_t at_ = 0;
};

std::vector<std::byte> front_of(surveyed_file& file, std::size_t bytes) {
  std::vector<std::byte> front(bytes);
  front.resize(io::read_at(file, 0, front));
  return front;
}

// The first bytes of the text, as far as a small window and `front` allow.
std::vector<std::byte> text_of_front(const library::counting_plan& planned, const io::format& format,
                                     std::span<const std::byte> front) {
  constexpr std::uint64_t window = std::uint64_t{8} << 20U;
  const std::unique_ptr<io::decoder> decoder =
      format.make_decoder({.window_bytes = window, .granted_bytes = window, .dictionary = planned.dictionary});
  decoder->restart({});
  std::vector<std::byte> text(io::archive_head_bytes);
  std::size_t have = 0;
  while (!front.empty() && have < text.size()) {
    const io::fill_result result = decoder->fill(front, std::span(text).subspan(have));
    front = front.subspan(result.consumed);
    have += result.produced;
    if (result.status != io::fill_status::needs_input && result.status != io::fill_status::frame_verified) break;
  }
  text.resize(have);
  return text;
}

struct surveyed_format {
  std::string name{unreadable};
  const io::format* outer = nullptr;  // null: it is not read
  bool has_members = false;
};

surveyed_format settle(const library::counting_plan& planned, const std::string& name,
                       std::span<const std::byte> front) {
  const io::identity found = io::identify(name, front, planned.forced_format, pipeline::rules_of(planned));
  const io::format& outer = found.format;
  const bool is_compressed = outer.make_decoder != nullptr;
  surveyed_format made{.name = std::string(outer.name), .outer = &outer};
  io::archive_kind kind = found.archive.value_or(io::archive_kind::none);
  if (!found.archive) {
    std::vector<std::byte> text;
    if (is_compressed) text = text_of_front(planned, outer, front);
    const io::content_rules rules = pipeline::rules_of(planned);
    const io::settled_archive settled_as =
        io::identify_text(name, is_compressed ? text : front, is_compressed ? &outer : nullptr, rules);
    kind = settled_as.kind;
    if (settled_as.encoding != io::text_encoding::utf8) {
      made.outer = &io::encoded_format(settled_as.encoding, &outer);
      made.name = made.outer->name;
    }
  }
  if (kind == io::archive_kind::none) return made;
  made.has_members = true;
  made.name = std::string(io::name_of(kind)) + (is_compressed ? "." + std::string(outer.name) : "");
  return made;
}

surveyed_format format_of(const library::counting_plan& planned, const manifest_entry& entry) {
  constexpr std::size_t front_bytes = std::size_t{64} << 10U;
  if (!entry.error.is_none()) return {};
  surveyed_file file(entry);
  if (!file.is_open()) return {};
  try {
    return settle(planned, entry.name, front_of(file, front_bytes));
  } catch (const io::input_error&) {
    return {};  // the run reports the cause
  }
}

// Whether a frame ends before the last bytes of the input; otherwise, whether the splitter finds parts of it.
reading_manner manner_of_frames(const io::format& format, std::span<const std::byte> front, std::uint64_t size) {
  const std::unique_ptr<io::splitter> splitter = format.make_splitter();
  std::uint64_t taken = 0;
  bool has_parts = false;
  while (!front.empty()) {
    const io::split_step step = splitter->advance(front);
    front = front.subspan(step.taken);
    taken += step.taken;
    if (step.frame_ends && splitter->counts_frame() && taken - step.beyond < size) {
      return reading_manner::many_frames;
    }
    has_parts |= step.part_ends;
    if (step.taken == 0 && !step.frame_ends) break;
  }
  return has_parts ? reading_manner::frame_parts : reading_manner::one_frame;
}

reading_manner manner_of(const library::counting_plan& planned, const manifest_entry& entry,
                         const surveyed_format& format) {
  if (format.outer == nullptr) return reading_manner::not_read;
  if (format.has_members) return reading_manner::members;
  if (format.outer->make_decoder == nullptr) {
    return entry.size <= small_file_bytes ? reading_manner::whole_file : reading_manner::ranges;
  }
  surveyed_file file(entry);
  if (!file.is_open()) return reading_manner::not_read;
  const auto front = front_of(file, static_cast<std::size_t>(std::min<std::uint64_t>(examined_bytes, entry.size)));
  const reading_manner found = manner_of_frames(*format.outer, front, entry.size);
  if (found == reading_manner::many_frames) return found;
  const io::part_format parts =
      format.outer->read_parts != nullptr ? format.outer->read_parts(file) : format.outer->parts;
  if (!parts.make || planned.threads < 2) return reading_manner::one_frame;
  if (entry.size < parts.least_bytes) return reading_manner::one_frame;
  return parts.splitter_divides ? found : reading_manner::frame_parts;
}

// Evenly spread.
std::vector<std::size_t> some_of(const std::vector<std::size_t>& all, std::size_t number) {
  if (all.size() <= number) return all;
  std::vector<std::size_t> made;
  for (std::size_t i = 0; i < number; ++i) made.push_back(all[i * all.size() / number]);
  return made;
}

void examine(format_group& group, const library::counting_plan& planned, const manifest& inputs,
             const surveyed_format& format) {
  const bool is_compressed = format.outer != nullptr && !format.has_members && format.outer->make_decoder != nullptr;
  for (const std::size_t each : is_compressed ? some_of(group.entries, examined_inputs) : group.entries) {
    const manifest_entry& entry = inputs.entries[each];
    const auto manner = static_cast<std::size_t>(manner_of(planned, entry, format));
    ++group.examined;
    ++group.manners[manner];
    group.manner_bytes[manner] += entry.stored_bytes();
  }
}

}  // namespace

std::string_view name_of(reading_manner manner) {
  constexpr std::array<std::string_view, reading_manners> names = {
      "ranges", "whole_file", "many_frames", "frame_parts", "one_frame", "members", "not_read"};
  return names[static_cast<std::size_t>(manner)];
}

std::string_view description_of(reading_manner manner) {
  constexpr std::array<std::string_view, reading_manners> texts = {
      "in ranges, by all threads",
      "small files whole, several at once",
      "many frames, decoded in groups by all threads",
      "one frame, whose parts are decoded by several threads",
      "one frame, decoded by one thread, several inputs at once",
      "archive, each member is an input",
      "cannot be read"};
  return texts[static_cast<std::size_t>(manner)];
}

double format_group::share_of(reading_manner manner) const {
  std::uint64_t all = 0;
  for (const std::uint64_t each : manner_bytes) all += each;
  return all == 0 ? 0 : static_cast<double>(manner_bytes[static_cast<std::size_t>(manner)]) / static_cast<double>(all);
}

std::string format_without_members(const library::counting_plan& planned, const manifest_entry& entry) {
  const surveyed_format found = format_of(planned, entry);
  return found.outer == nullptr || found.has_members ? std::string() : found.name;
}

std::vector<format_group> survey(const library::counting_plan& planned, const manifest& inputs,
                                 const std::vector<std::size_t>& chosen) {
  std::vector<surveyed_format> formats(chosen.size());
  in_parallel(chosen.size(), planned.threads,
              [&](std::size_t i) { formats[i] = format_of(planned, inputs.entries[chosen[i]]); });
  std::map<std::string, std::pair<format_group, surveyed_format>> groups;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    auto& [group, format] = groups[formats[i].name];
    format = formats[i];
    group.format = formats[i].name;
    ++group.inputs;
    group.bytes += inputs.entries[chosen[i]].stored_bytes();
    group.entries.push_back(chosen[i]);
  }
  std::vector<format_group> made;
  for (auto& [name, found] : groups) {
    examine(found.first, planned, inputs, found.second);
    made.push_back(std::move(found.first));
  }
  std::ranges::sort(made, [](const format_group& a, const format_group& b) {
    return std::tie(b.bytes, a.format) < std::tie(a.bytes, b.format);
  });
  return made;
}

}  // namespace gpuhist::batch
