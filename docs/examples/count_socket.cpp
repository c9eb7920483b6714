// Counts what it receives over TCP connections, each as an input of its own. The bytes are read straight into a buffer
// of the counter. Arguments: a port of this host (0: any free one), and the number of connections to wait for.
//
//     $ ./count_socket 7007 2 & sleep 1; echo 'hello' >/dev/tcp/localhost/7007; echo 'you' >/dev/tcp/localhost/7007
//     listening on port 7007
//     connection 1: bytes 6, lines 1
//     connection 2: bytes 4, lines 1
//     a-d 0, e-h 2, i-l 2, m-p 2, q-t 0, u-x 1, y-z 1, other 2
#include <gpuhist/gpuhist.hpp>

#include <boost/asio.hpp>

#include <iostream>
#include <string>

namespace asio = boost::asio;
using asio::ip::tcp;

asio::awaitable<void> count(tcp::socket connection, gpuhist::input input) {
  for (boost::system::error_code end; !end;) {
    // A buffer is lent when there is something to read: connections that wait hold none.
    co_await connection.async_wait(tcp::socket::wait_read, asio::use_awaitable);
    gpuhist::lent_buffer buffer = input.lend(65536);
    const auto bytes = buffer.bytes();
    buffer.commit(connection.read_some(asio::buffer(bytes.data(), bytes.size()), end));
    if (end && end != asio::error::eof) co_return input.fail(end.message());
  }
  input.finish();
}

asio::awaitable<void> accept(tcp::acceptor& acceptor, gpuhist::counter& counter, int connections) {
  for (int number = 1; number <= connections; ++number) {
    tcp::socket connection = co_await acceptor.async_accept(asio::use_awaitable);
    gpuhist::input input = counter.open_input("connection " + std::to_string(number));
    co_spawn(acceptor.get_executor(), count(std::move(connection), std::move(input)), asio::detached);
  }
}

void print(const gpuhist::results& result) {
  for (std::size_t i = 0; i < result.inputs(); ++i) {
    const gpuhist::input_result input = result.input(i);
    std::cout << input.name << ": bytes " << input.bytes << ", lines " << input.lines;
    std::cout << (input.complete ? "" : ", incomplete: ") << input.error << '\n';
  }
  const auto names = result.buckets("letters");
  const auto counts = result.counts("letters");
  for (std::size_t i = 0; i < names.size(); ++i) std::cout << (i ? ", " : "") << names[i] << ' ' << counts[i];
  std::cout << '\n';
}

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: count_socket PORT CONNECTIONS\n", 2;
  asio::io_context context;
  const auto port = static_cast<asio::ip::port_type>(std::stoi(argv[1]));
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), port});
  std::cout << "listening on port " << acceptor.local_endpoint().port() << std::endl;

  gpuhist::counter counter({.schemes = {"letters"}});
  co_spawn(context, accept(acceptor, counter, std::stoi(argv[2])), asio::detached);
  context.run();
  print(counter.finish());
}
