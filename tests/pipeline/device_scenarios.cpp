#include "tests/pipeline/device_scenarios.hpp"

#include "tests/io/archive_samples.hpp"
#include "tests/io/gzip_samples.hpp"
#include "tests/io/tar_samples.hpp"
#include "tests/io/zstd_samples.hpp"
#include "tests/support/byte_strings.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace gpuhist::test {
namespace {

std::string sample(std::size_t bytes, std::uint32_t seed = 1) { return string_of(sample_text(bytes, seed)); }

std::string zstd_frame(std::string_view text) { return string_of(zstd_frame_of(bytes_of(text))); }

std::string zstd_frames(std::string_view text, std::size_t size) {
  std::string all;
  for (std::size_t at = 0; at < text.size(); at += size) all += zstd_frame(text.substr(at, size));
  return all;
}

config::options options_for(std::vector<std::string> inputs) {
  config::options typed;
  typed.inputs = std::move(inputs);
  typed.run.counting.schemes = {"bytes"};
  typed.run.counting.counting_engine = gpuhist::engine::host;  // no effect: the hooks make the engine
  typed.run.counting.threads = 2;
  typed.run.chunk_size = scenario_chunk_bytes;
  typed.run.slots = 5;
  typed.stats = true;
  return typed;
}

device_scenario several_inputs(const temporary_folder& folder) {
  std::vector<std::string> names;
  std::vector<std::string> texts;
  const auto add = [&](const std::string& content, std::string text) {
    names.push_back(folder.file("input" + std::to_string(names.size()), content));
    texts.push_back(std::move(text));
  };
  for (unsigned i = 0; i < 6; ++i) add(sample(700 * i, i), sample(700 * i, i));
  const std::string text = sample(20'000, 9);
  add(zstd_frames(text, 6000), text);
  add(text, text);
  add(string_of(gzip_member_of(bytes_of(text))), text);
  return {.name = "several inputs",
          .planned = command::make_plan(options_for(names)),
          .texts = texts,
          .is_for_the_device = false};
}

device_scenario windows(const temporary_folder& folder, const std::string& text) {
  config::options typed = options_for({folder.file("windows", text)});
  typed.format = "jsonl";
  typed.run.counting.windows = window_options{.length = 3000};
  return {.name = "windows", .planned = command::make_plan(typed), .texts = {text}};
}

device_scenario snapshots(const temporary_folder& folder, const std::string& text) {
  config::options typed = options_for({folder.file("snapshots", text)});
  typed.run.snapshot_every = std::uint64_t{10'000};
  return {.name = "snapshots", .planned = command::make_plan(typed), .texts = {text}};
}

// So many chunks that queues of pointers allocate repeatedly.
device_scenario small_chunks(const temporary_folder& folder, const std::string& text) {
  config::options typed = options_for({folder.file("small chunks", text)});
  typed.run.chunk_size = 300;
  return {.name = "small chunks", .planned = command::make_plan(typed), .texts = {text}};
}

device_scenario stage(const temporary_folder& folder, const std::string& text) {
  config::options typed = options_for({folder.file("stage", text)});
  typed.run.pass_through = pass_through_options{};
  return {.name = "pass-through", .planned = command::make_plan(typed), .texts = {text}, .raw = text};
}

// Groups of one to three frames. Devices decode those that are not larger than two slots.
device_scenario decoded_on_device(const temporary_folder& folder, const std::string& text) {
  const std::string content = zstd_frames(text.substr(0, 20'000), 5000) + zstd_frame(text.substr(20'000));
  device_scenario made{.name = "frames on the device",
                       .planned = command::make_plan(options_for({folder.file("on the device", content)})),
                       .texts = {text}};
  made.planned.decodes_on_device = true;
  made.planned.device_memory = std::uint64_t{1} << 20U;
  pipeline::buffer_plan& buffers = made.planned.buffers;
  buffers.device_slot_bytes = 2048;
  buffers.device_slots = 64;
  buffers.more_device_slots = 2;
  buffers.device_group_bytes = 1500;
  return made;
}

// A pipe whose writing end is closed. Each run reads a new one, under the same number.
device_scenario piped(const std::string& text) {
  const int descriptor = ::memfd_create("the pipe's number", MFD_CLOEXEC);
  const auto fill = [descriptor, text] {
    std::array<int, 2> ends{};
    REQUIRE(::pipe(ends.data()) == 0);
    REQUIRE(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));  // it holds 64 KiB
    REQUIRE(::dup2(ends[0], descriptor) == descriptor);
    for (const int end : ends) ::close(end);
  };
  fill();
  return {.name = "pipe",
          .planned = command::make_plan(options_for({"/dev/fd/" + std::to_string(descriptor)})),
          .texts = {text},
          .prepare = fill};
}

}  // namespace

std::vector<device_scenario> device_scenarios(const temporary_folder& folder) {
  const std::string text = sample(40'000);
  const auto with_content = [&](const std::string& name, const std::string& content) {
    return device_scenario{
        .name = name, .planned = command::make_plan(options_for({folder.file(name, content)})), .texts = {text}};
  };
  std::vector<device_scenario> all{with_content("plain", text), with_content("one zstd frame", zstd_frame(text)),
                                   with_content("many zstd frames", zstd_frames(text, 5000)),
                                   with_content("gzip", string_of(gzip_member_of(bytes_of(text))))};
  all.front().is_for_the_device = false;
  all.push_back(decoded_on_device(folder, text));
  all.push_back(several_inputs(folder));
  const std::string second = sample(9000, 2);
  all.push_back(with_content("tar", tar_member("first", text) + tar_member("second", second) + tar_end()));
  all.back().texts.push_back(second);
  all.push_back(with_content("zip", archive_of({{"first", text}, {"second", second}}, archive_write_set_format_zip)));
  all.back().texts.push_back(second);
  all.push_back(piped(text));
  all.push_back(small_chunks(folder, text));
  all.push_back(windows(folder, text));
  all.push_back(snapshots(folder, text));
  all.push_back(stage(folder, text));
  return all;
}

}  // namespace gpuhist::test
