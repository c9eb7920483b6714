// For a build without libcurl.
#include "io/http/client.hpp"

#include <utility>

namespace gpuhist::io::http {

class transfer {};
class transfers {};

client::client(settings options) : options_(std::move(options)) {}
client::~client() = default;

source client::open(const std::string& /*url*/, const boost::asio::any_io_executor& /*executor*/, bool /*as_stream*/) {
  throw input_error(
      "URLs are not read, because this gpuhist was built without libcurl; pipe the content (curl -sSfL URL | gpuhist)",
      0, failure_kind::refused);
}

void client::expect(const std::string& /*url*/) {}

traffic client::measured() const { return {}; }

}  // namespace gpuhist::io::http
