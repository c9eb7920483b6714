// Prints the rate of gpuhist::input::feed for buffers of 1 MiB, in GB/s: what bench/python_rates.py compares with.
//
//     feed_rate SCHEME ROUNDS < TEXT
#include <gpuhist/gpuhist.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const auto rounds = std::strtoul(arguments[2], nullptr, 10);
  gpuhist::counter counter({.schemes = {arguments[1]}, .counting_engine = gpuhist::engine::host, .threads = 1});
  gpuhist::input input = counter.open_input("bench");
  input.feed(text);  // allocates
  const auto begin = std::chrono::steady_clock::now();
  for (unsigned long round = 0; round < rounds; ++round) input.feed(text);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  input.finish();
  if (counter.finish().bytes() != (rounds + 1) * text.size()) return 1;
  std::cout << static_cast<double>(rounds * text.size()) / elapsed.count() / 1e9 << '\n';
}
