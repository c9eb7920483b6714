#include "pipeline/inputs/line_reader.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <system_error>

namespace gpuhist::pipeline {

line_reader::line_reader(int fd) : fd_(fd), buffer_(std::size_t{64} << 10U) {}

bool line_reader::next(std::string& line) {
  line.clear();
  bool some = false;
  while (begin_ < end_ || fill()) {
    some = true;
    const auto from = buffer_.begin() + static_cast<std::ptrdiff_t>(begin_);
    const auto to = buffer_.begin() + static_cast<std::ptrdiff_t>(end_);
    const auto found = std::find(from, to, '\n');
    line.append(from, found);
    begin_ += static_cast<std::size_t>(found - from) + (found == to ? 0 : 1);
    if (line.size() > longest_line) throw std::length_error("a line is longer than 256 MiB");
    if (found != to) return true;
  }
  return some;
}

bool line_reader::fill() {
  while (true) {
    const ssize_t got = ::read(fd_, buffer_.data(), buffer_.size());
    begin_ = 0;
    end_ = got > 0 ? static_cast<std::size_t>(got) : 0;
    if (got >= 0) return got > 0;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      // somebody made the shared descriptor non-blocking; its flags are not ours to change
      pollfd some{fd_, POLLIN, 0};
      if (::poll(&some, 1, -1) >= 0 || errno == EINTR) continue;
    }
    if (errno != EINTR) throw std::system_error(errno, std::system_category());
  }
}

}  // namespace gpuhist::pipeline
