#include "io/http/url.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>

namespace gpuhist::io::http {
namespace {

bool begins_with(std::string_view name, std::string_view scheme) {
  return name.size() > scheme.size() && std::ranges::equal(name.substr(0, scheme.size()), scheme, {}, [](char each) {
           return static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
         });
}

}  // namespace

bool is_url(std::string_view name) { return begins_with(name, "http://") || begins_with(name, "https://"); }

bool is_remote(const std::string& name) { return is_url(name) && ::access(name.c_str(), F_OK) != 0; }

std::string shown_url(std::string_view name) {
  const std::size_t query = is_url(name) ? name.find('?') : std::string_view::npos;
  if (query == std::string_view::npos || query + 1 == name.size()) return std::string(name);
  return std::string(name.substr(0, query)) + "?...";
}

std::string refusal_of(std::string_view url) {
  const std::size_t host = url.find("//") + 2;
  const std::string_view authority = url.substr(host, url.find_first_of("/?#", host) - host);
  if (authority.find('@') != std::string_view::npos) {
    return "contains the name of a user or a password, which would be printed with the name of the input; pipe the "
           "content (curl -sSfL URL | gpuhist)";
  }
  const auto is_unusual = [](char each) { return each <= ' ' || each == '\x7f'; };
  if (std::ranges::any_of(url, is_unusual,
                          [](char each) { return static_cast<unsigned char>(each) > '\x7f' ? 'x' : each; })) {
    return "contains a space or control character; write it as %20";
  }
  return {};
}

}  // namespace gpuhist::io::http
