#include "report/formats/read_buffer.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace gpuhist::pipeline {

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

}  // namespace gpuhist::pipeline
