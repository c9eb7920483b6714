// An owned file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace gpuhist::io {

/// Closes its descriptor when destroyed, unless it is borrowed (standard input).
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  descriptor(descriptor&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), owned_(std::exchange(other.owned_, true)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
      owned_ = std::exchange(other.owned_, true);
    }
    return *this;
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() { close(); }

  /// A descriptor that this object does not close.
  static descriptor borrowed(int fd) noexcept {
    descriptor result(fd);
    result.owned_ = false;
    return result;
  }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool owned() const noexcept { return owned_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  void close() noexcept {
    if (fd_ >= 0 && owned_) ::close(fd_);
    fd_ = -1;
  }

  int fd_ = -1;
  bool owned_ = true;
};

}  // namespace gpuhist::io
