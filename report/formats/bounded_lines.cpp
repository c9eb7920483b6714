#include "report/formats/bounded_lines.hpp"

#include "io/file_access.hpp"
#include "report/formats/report.hpp"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace gpuhist::report {

read_buffer::read_buffer(int fd) : fd_(fd), buffer_(std::size_t{64} << 10U), text_(buffer_.data(), buffer_.size()) {}

std::string_view read_buffer::ahead() {
  if (begin_ == end_ && !fill()) return {};
  return text_.substr(begin_, end_ - begin_);
}

bool read_buffer::fill() {
  while (!at_end_) {
    const ssize_t size = ::read(fd_, buffer_.data(), buffer_.size());
    begin_ = 0;
    end_ = size > 0 ? static_cast<std::size_t>(size) : 0;
    at_end_ = size == 0;
    if (size >= 0) return size > 0;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      // another process that shares the descriptor made it non-blocking; its flags are left as they are
      pollfd readable{fd_, POLLIN, 0};
      if (::poll(&readable, 1, -1) >= 0 || errno == EINTR) continue;
    }
    if (errno != EINTR) throw std::system_error(errno, std::system_category());
  }
  return false;
}

bounded_lines::bounded_lines(std::filesystem::path path) : path_(std::move(path)) {
  int opened = 0;
  do opened = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  while (opened < 0 && errno == EINTR);
  if (opened < 0) fail(errno);
  file_ = io::descriptor(opened);
  bytes_.emplace(opened);
}

bool bounded_lines::next(std::string& line) {
  line.clear();
  is_whole_ = false;
  ++number_;
  for (std::string_view found = ahead(); !found.empty(); found = ahead()) {
    const std::size_t end = found.find('\n');
    is_whole_ = end != std::string_view::npos;
    const std::string_view part = found.substr(0, end);
    if (line.size() + part.size() > longest) {
      throw std::runtime_error(place() + ": the line has more than 16 MiB, and was not written by gpuhist; remove it");
    }
    line += part;
    bytes_->take(part.size() + (is_whole_ ? 1 : 0));
    if (is_whole_) return true;
  }
  return !line.empty();
}

std::string bounded_lines::place() const { return printable(path_.string()) + ":" + std::to_string(number_); }

std::string_view bounded_lines::ahead() {
  try {
    return bytes_->ahead();
  } catch (const std::system_error& error) {
    fail(error.code().value());
  }
}

void bounded_lines::fail(int error) const {
  throw std::system_error(error, std::generic_category(), "cannot read " + printable(path_.string()));
}

void for_each_record(const std::filesystem::path& path, const std::function<void(const nlohmann::ordered_json&)>& use) {
  io::require_regular(path);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return;
  bounded_lines lines(path);
  for (std::string line; lines.next(line);) {
    try {
      use(nlohmann::ordered_json::parse(line));
    } catch (const nlohmann::json::exception&) {
      continue;
    }
  }
}

}  // namespace gpuhist::report
