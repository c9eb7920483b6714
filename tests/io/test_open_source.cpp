// Opening files and standard input, and reading files at offsets.
#include "tests/io/source_fixture.hpp"
#include "tests/support/socket_file.hpp"

#include <sys/resource.h>

#include <iterator>
#include <limits>
#include <thread>

using namespace gpuhist;
using namespace gpuhist::test;

namespace {

std::string text_at(const io::file_source& file, std::size_t length, std::uint64_t offset) {
  std::string text(length, '?');
  text.resize(file.read_at(std::as_writable_bytes(std::span(text)), offset));
  return text;
}

class opening : public source_fixture {
 public:
  io::source open(const std::string& path) { return io::open_source(path, executor(), 1U << 20U); }

  std::string refusal(const std::string& path) {
    try {
      (void)open(path);
    } catch (const io::input_error& error) {
      CHECK(error.offset() == 0);
      return error.what();
    }
    return "opened";
  }
};

}  // namespace

TEST_CASE_FIXTURE(opening,
                  "a file that has become shorter since it was opened is an error at its end, one that grew is none") {
  const temporary_folder folder;
  const std::string path = folder / "file";
  std::ofstream(path) << std::string(1000, 'x');
  const io::source opened = open(path);
  const auto& file = std::get<io::file_source>(opened);
  std::filesystem::resize_file(path, 2000);
  CHECK(text_at(file, 4000, 0).size() == 2000);
  for (const std::size_t size : {999U, 500U, 0U}) {
    std::filesystem::resize_file(path, size);
    CAPTURE(size);
    try {
      (void)text_at(file, 4000, 0);
      FAIL("no error");
    } catch (const io::input_error& error) {
      CHECK(error.offset() == size);
      CHECK(std::string(error.what()).starts_with("it was truncated while it was read: it had 1000 bytes, and has "));
    }
    CHECK(text_at(file, size, 0).size() == size);  // what is left can be read
  }
}

TEST_CASE_FIXTURE(opening, "a file is read at any offset up to its end") {
  const temporary_folder folder;
  const io::source source = open(folder.file("f", "0123456789"));
  const auto& file = std::get<io::file_source>(source);
  CHECK(file.size_hint() == 10);
  CHECK(text_at(file, 10, 0) == "0123456789");
  CHECK(text_at(file, 4, 3) == "3456");
  CHECK(text_at(file, 100, 8) == "89");
  CHECK(text_at(file, 0, 0).empty());
  CHECK(text_at(file, 5, 10).empty());
  CHECK(text_at(file, 5, std::numeric_limits<std::uint64_t>::max()).empty());
  CHECK(text_at(file, 5, std::uint64_t{1} << 63U).empty());
}

// The sanitizer examines memory with a pipe of its own, and reports valid memory as invalid without descriptors.
#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE_FIXTURE(opening, "a file that cannot be opened for lack of descriptors is not unreadable") {
  const temporary_folder folder;
  const std::string path = folder.file("f", "text");
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  io::failure_kind kind = io::failure_kind::none;
  try {
    (void)open(path);
  } catch (const io::input_error& error) {
    kind = error.kind();
  }
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(kind == io::failure_kind::out_of_memory);
}
#endif

TEST_CASE_FIXTURE(opening, "a file that has grown is read beyond its size hint") {
  const temporary_folder folder;
  const std::string path = folder.file("f", "old");
  const io::source source = open(path);
  std::ofstream(path, std::ios::app) << " and new";
  const auto& file = std::get<io::file_source>(source);
  CHECK(file.size_hint() == 3);
  CHECK(text_at(file, 100, 0) == "old and new");
}

TEST_CASE_FIXTURE(opening, "a file of /proc is read completely although its reported size is 0") {
  std::ifstream stream("/proc/version");
  const std::string expected{std::istreambuf_iterator<char>(stream), {}};
  const io::source source = open("/proc/version");
  const auto& file = std::get<io::file_source>(source);
  CHECK(file.size_hint() == 0);
  CHECK_FALSE(expected.empty());
  CHECK(text_at(file, 4096, 0) == expected);
  const io::source status = open("/proc/self/status");
  CHECK(text_at(std::get<io::file_source>(status), 5, 0) == "Name:");
}

TEST_CASE_FIXTURE(opening, "threads read one file at the same time, each at its own offset") {
  const temporary_folder folder;
  std::string content(1U << 20U, ' ');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 / 7);
  const io::source source = open(folder.file("f", content));
  const auto& file = std::get<io::file_source>(source);
  std::array<int, 4> wrong{};
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < wrong.size(); ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t at = t * 1000; at < content.size(); at += 4000) {
          if (text_at(file, 1000, at) != content.substr(at, 1000)) ++wrong[t];
        }
      });
    }
  }
  CHECK(wrong == std::array<int, 4>{});
}

TEST_CASE_FIXTURE(opening,
                  "redirected standard input is read from its offset, which is left after the last byte read") {
  const temporary_folder folder;
  const io::descriptor fd(::open(folder.file("f", "0123456789").c_str(), O_RDONLY | O_CLOEXEC));
  ::lseek(fd.get(), 4, SEEK_SET);
  const replaced_descriptor standard_input(STDIN_FILENO, fd.get());
  const io::source source = open("-");
  const auto& file = std::get<io::file_source>(source);
  CHECK(file.size_hint() == 6);
  CHECK(text_at(file, 100, 0) == "456789");
  CHECK(text_at(file, 2, 3) == "78");
  CHECK(::lseek(fd.get(), 0, SEEK_CUR) == 4);
  file.leave_offset_at(5);
  CHECK(::lseek(fd.get(), 0, SEEK_CUR) == 9);
}

TEST_CASE_FIXTURE(opening, "standard input beyond the end of its file has no bytes") {
  const temporary_folder folder;
  const io::descriptor fd(::open(folder.file("f", "0123").c_str(), O_RDONLY | O_CLOEXEC));
  ::lseek(fd.get(), 40, SEEK_SET);
  const replaced_descriptor standard_input(STDIN_FILENO, fd.get());
  const io::source source = open("-");
  CHECK(std::get<io::file_source>(source).size_hint() == 0);
  CHECK(text_at(std::get<io::file_source>(source), 10, 0).empty());
}

TEST_CASE_FIXTURE(opening, "a file that is not open for reading fails at the requested offset") {
  const temporary_folder folder;
  const io::descriptor fd(::open(folder.file("f", "0123").c_str(), O_WRONLY | O_CLOEXEC));
  const replaced_descriptor standard_input(STDIN_FILENO, fd.get());
  const io::source source = open("-");
  try {
    (void)text_at(std::get<io::file_source>(source), 1, 2);
    FAIL("read what is not open for reading");
  } catch (const io::input_error& error) {
    CHECK(error.offset() == 2);
    CHECK(std::string(error.what()) == "reading failed: Bad file descriptor");
  }
}

TEST_CASE_FIXTURE(opening, "standard input can be a pipe or a device, and is an error if closed") {
  {
    channel way = make_pipe();
    const replaced_descriptor standard_input(STDIN_FILENO, way.read.get());
    put(way.write, "piped");
    way.write = {};
    io::stream_source source = std::get<io::stream_source>(open("-"));
    CHECK(read_all(source) == "piped");
  }
  {
    const io::descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const replaced_descriptor standard_input(STDIN_FILENO, null.get());
    io::stream_source source = std::get<io::stream_source>(open("-"));
    CHECK(read_all(source).empty());
  }
  const replaced_descriptor standard_input(STDIN_FILENO, -1);
  CHECK(refusal("-") == "standard input is closed");
}

TEST_CASE_FIXTURE(opening, "a path that cannot be opened is an error with the message of the system") {
  const temporary_folder folder;
  CHECK(refusal(folder / "missing") == "No such file or directory");
  CHECK(refusal("") == "No such file or directory");
  CHECK(refusal("/") == "is a directory");
  CHECK(refusal(folder.file("f", "x") + "/below") == "Not a directory");
  const io::descriptor root(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const replaced_descriptor standard_input(STDIN_FILENO, root.get());
  CHECK(refusal("-") == "is a directory");
}

TEST_CASE_FIXTURE(opening, "a file without permission is an error (skipped for root, who can read it)") {
  if (::geteuid() == 0) return;
  const temporary_folder folder;
  const std::string path = folder.file("f", "secret");
  REQUIRE(::chmod(path.c_str(), 0) == 0);
  CHECK(refusal(path) == "Permission denied");
}

TEST_CASE_FIXTURE(opening, "a socket by path is refused with a remedy") {
  const temporary_folder folder;
  const std::string path = folder / "s";
  const io::descriptor listener = gpuhist::test::socket_file(path);
  CHECK(refusal(path).starts_with("is a socket"));
}

TEST_CASE_FIXTURE(opening,
                  "a FIFO is opened at once and waits for its first writer, even for one that writes nothing") {
  const temporary_folder folder;
  const std::string path = folder / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  for (const std::string_view text : {"late", ""}) {
    io::stream_source source = std::get<io::stream_source>(open(path));
    CHECK(read_text(source, 10) == "(nothing)");
    std::optional<bool> ready;
    start_waiting(source, ready);
    run_ready_handlers();
    CHECK_FALSE(ready.has_value());
    {
      const io::descriptor write(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
      REQUIRE(static_cast<bool>(write));
      CHECK(read_text(source, 10) == "(nothing)");
      put(write, text);
    }
    CHECK(read_all(source) == text);
    CHECK(ready == true);
  }
}

TEST_CASE_FIXTURE(opening, "a process substitution whose writer has finished is read to its end") {
  channel way = make_pipe();
  put(way.write, "substituted");
  way.write = {};
  const std::string number = std::to_string(way.read.get());
  for (const std::string& folder : {std::string("/dev/fd/"), std::string("/proc/self/fd/")}) {
    io::stream_source source = std::get<io::stream_source>(open(folder + number));
    CHECK(read_all(source, 6) == (folder == "/dev/fd/" ? "substituted" : ""));
  }
}

TEST_CASE_FIXTURE(opening, "/dev/stdin is standard input, even for a FIFO without a writer or a socket") {
  channel sockets = make_sockets();
  const replaced_descriptor standard_input(STDIN_FILENO, sockets.read.get());
  put(sockets.write, "by socket");
  sockets.write = {};
  io::stream_source source = std::get<io::stream_source>(open("/dev/stdin"));
  CHECK(read_all(source) == "by socket");
}
