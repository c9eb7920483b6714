// library_rates [MIB [ROUNDS [SCHEME [CONTEST]]]]: the rate at which a counter takes text from memory, as a share of
// the rate of the host kernel alone on the same text, with as many threads. Each round measures the kernel and then the
// counter, so that both meet the same load of the machine; the table has the medians of the rounds.
#include "bench/generator.hpp"
#include "bench/log_lines.hpp"
#include "gpu/host/host_engine.hpp"
#include "gpuhist/counter.hpp"
#include "io/descriptor.hpp"
#include "library/counting_plan.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using gpuhist::library::counting_plan;

constexpr std::size_t span_bytes = std::size_t{1} << 20U;
constexpr std::size_t buffer_bytes = std::size_t{256} << 10U;  // as those that a counter lends
constexpr unsigned threads = 2;

gpuhist::counting_options options_for(const std::string& scheme) {
  return {.schemes = {scheme}, .counting_engine = gpuhist::engine::host, .threads = threads};
}

std::string log_of(std::size_t bytes) {
  gpuhist::bench::generator random(1);
  std::uint64_t clock = 0;
  std::string text;
  text.reserve(bytes + 4096);
  while (text.size() < bytes) append_log_line(text, random, clock);
  text.resize(bytes);
  return text;
}

// Calls a function on every thread with its part of the text.
void on_threads(std::span<const std::byte> text, const std::function<void(std::span<const std::byte>)>& work) {
  const std::size_t part = text.size() / threads;
  std::vector<std::jthread> running;
  for (unsigned i = 0; i < threads; ++i)
    running.emplace_back([&work, text, part, i] { work(text.subspan(i * part, part)); });
}

void by_parts(std::span<const std::byte> text, std::size_t most,
              const std::function<void(std::span<const std::byte>)>& work) {
  for (; !text.empty(); text = text.subspan(std::min(most, text.size()))) work(text.first(std::min(most, text.size())));
}

// The kernel that the counter uses, without a counter.
class kernel {
 public:
  explicit kernel(const counting_plan& plan)
      : engine_({.counted = plan.partition, .run = {}, .threads = threads}), classes_(plan.partition.classes) {}

  void count(std::span<const std::byte> text) {
    const std::array<gpuhist::gpu::extent, 1> extents{{{0, static_cast<std::uint32_t>(text.size())}}};
    std::vector<std::uint32_t> rows(classes_);
    engine_.count({.bytes = text, .extents = extents, .rows = rows, .on_complete = {}});
  }

 private:
  gpuhist::gpu::host::host_engine engine_;
  std::size_t classes_;
};

void count_in_memory(kernel& used, std::span<const std::byte> text) {
  on_threads(text, [&](auto part) { by_parts(part, span_bytes, [&](auto span) { used.count(span); }); });
}

// Fills a buffer with a part of the text: from memory, or as a program reads a file in the page cache.
using filling = std::function<void(std::span<const std::byte> part, std::byte* buffer)>;

void copy(std::span<const std::byte> part, std::byte* buffer) { std::memcpy(buffer, part.data(), part.size()); }

class text_file {
 public:
  explicit text_file(std::span<const std::byte> text) : text_(text), file_(::memfd_create("text", MFD_CLOEXEC)) {
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t written = ::write(file_.get(), text.data() + at, text.size() - at);
      if (written <= 0) std::abort();
      at += static_cast<std::size_t>(written);
    }
  }

  void read(std::span<const std::byte> part, std::byte* buffer) const {
    const auto offset = static_cast<off_t>(part.data() - text_.data());
    if (::pread(file_.get(), buffer, part.size(), offset) != std::ssize(part)) std::abort();
  }

 private:
  std::span<const std::byte> text_;
  gpuhist::io::descriptor file_;
};

void fill_and_count(kernel& used, std::span<const std::byte> text, const filling& fill) {
  on_threads(text, [&](auto part) {
    std::vector<std::byte> buffer(buffer_bytes);
    by_parts(part, buffer_bytes, [&](auto span) {
      fill(span, buffer.data());
      used.count(std::span(buffer).first(span.size()));
    });
  });
}

void feed(gpuhist::counter& counts, std::span<const std::byte> text) {
  on_threads(text, [&](auto part) {
    gpuhist::input fed = counts.open_input("text");
    by_parts(part, span_bytes, [&](auto span) { fed.feed(span); });
    fed.finish();
  });
}

void feed_borrowed(gpuhist::counter& counts, std::span<const std::byte> text) {
  gpuhist::input fed = counts.open_input("text");
  by_parts(text, span_bytes, [&](auto span) { fed.feed_borrowed(span, [] {}); });
  fed.finish();
}

void lend_and_commit(gpuhist::counter& counts, std::span<const std::byte> text, const filling& fill) {
  on_threads(text, [&](auto part) {
    gpuhist::input fed = counts.open_input("text");
    while (!part.empty()) {
      gpuhist::lent_buffer buffer = fed.lend();
      const auto span = part.first(std::min(part.size(), buffer.bytes().size()));
      fill(span, buffer.bytes().data());
      buffer.commit(span.size());
      part = part.subspan(span.size());
    }
    fed.finish();
  });
}

double seconds_of(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

struct contest {
  std::string name;
  std::function<void(kernel&, std::span<const std::byte>)> base;
  std::function<void(gpuhist::counter&, std::span<const std::byte>)> measured;
};

contest lending(std::string name, const filling& fill) {
  return {.name = std::move(name),
          .base = [fill](kernel& used, auto text) { fill_and_count(used, text, fill); },
          .measured = [fill](gpuhist::counter& counts, auto text) { lend_and_commit(counts, text, fill); }};
}

// The time of the counter includes its construction and finish().
void run(const contest& tried, const gpuhist::counting_options& options, std::span<const std::byte> text, int rounds) {
  kernel used(gpuhist::library::make_plan(options));
  std::vector<double> base;
  std::vector<double> measured;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    const double alone = seconds_of([&] { tried.base(used, text); });
    const double counted = seconds_of([&] {
      gpuhist::counter counts(options);
      tried.measured(counts, text);
      if (counts.finish().bytes() != text.size()) std::abort();
    });
    base.push_back(static_cast<double>(text.size()) / alone * 1e-9);
    measured.push_back(static_cast<double>(text.size()) / counted * 1e-9);
    ratios.push_back(alone / counted);
  }
  std::printf("%-28s %8.2f %8.2f %8.3f\n", tried.name.c_str(), median(base), median(measured), median(ratios));
}

}  // namespace

int main(int count, char** arguments) {
  const std::span given(arguments, static_cast<std::size_t>(count));
  const auto value = [&](std::size_t index, const char* otherwise) {
    return std::string(index < given.size() ? given[index] : otherwise);
  };
  const std::size_t bytes = std::stoul(value(1, "512")) << 20U;
  const int rounds = std::stoi(value(2, "9"));
  const gpuhist::counting_options options = options_for(value(3, "letters"));
  const std::string text = log_of(bytes);
  std::printf("%-28s %8s %8s %8s\n", "GB/s", "kernel", "counter", "ratio");
  const text_file file(std::as_bytes(std::span(text)));
  const std::array contests{
      contest{.name = "feed, 1 MiB spans", .base = count_in_memory, .measured = feed},
      contest{.name = "feed_borrowed, 1 MiB spans", .base = count_in_memory, .measured = feed_borrowed},
      lending("lend and commit, copied", copy),
      lending("lend and commit, read", [&file](auto part, std::byte* buffer) { file.read(part, buffer); }),
  };
  for (const contest& each : contests) {
    if (each.name.starts_with(value(4, ""))) run(each, options, std::as_bytes(std::span(text)), rounds);
  }
}
