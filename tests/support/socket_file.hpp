// A socket with a name in the file system, whatever the length of its folder's path.
#pragma once

#include "io/descriptor.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace gpuhist::test {

/// A stream socket bound to this path. A socket address has room for about 100 characters only, so the folder is named
/// by its descriptor.
inline io::descriptor socket_file(const std::filesystem::path& path) {
  const io::descriptor folder(::open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  io::descriptor bound(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::string name = "/proc/self/fd/" + std::to_string(folder.get()) + "/" + path.filename().string();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() >= sizeof address.sun_path) throw std::length_error("the name of the socket is too long");
  std::ranges::copy(name, address.sun_path);
  if (::bind(bound.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error("the socket cannot be bound");
  }
  return bound;
}

}  // namespace gpuhist::test
