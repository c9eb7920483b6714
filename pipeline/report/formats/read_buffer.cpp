#include "pipeline/report/formats/read_buffer.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace gpuhist::pipeline {

read_buffer::read_buffer(int fd) : fd_(fd), buffer_(std::size_t{64} << 10U) {}

std::string_view read_buffer::ahead() {
  if (begin_ == end_ && !fill()) return {};
  return {buffer_.data() + begin_, end_ - begin_};
}

bool read_buffer::fill() {
  while (!over_) {
    const ssize_t got = ::read(fd_, buffer_.data(), buffer_.size());
    begin_ = 0;
    end_ = got > 0 ? static_cast<std::size_t>(got) : 0;
    over_ = got == 0;
    if (got >= 0) return got > 0;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      // somebody made the shared descriptor non-blocking; its flags are not ours to change
      pollfd some{fd_, POLLIN, 0};
      if (::poll(&some, 1, -1) >= 0 || errno == EINTR) continue;
    }
    if (errno != EINTR) throw std::system_error(errno, std::system_category());
  }
  return false;
}

}  // namespace gpuhist::pipeline
