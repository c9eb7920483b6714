// Counts an endless text until another thread cancels: here, as soon as a line can be read from the standard input.
//
//     $ (sleep 1; echo) | ./cancel
//     cancelled after 74962698240 bytes, 37481349120 of them a-d
#include <gpuhist/gpuhist.hpp>

#include <iostream>
#include <string>
#include <thread>

int main() {
  gpuhist::counter counter({.schemes = {"letters"}});
  gpuhist::input input = counter.open_input("endless");

  const std::jthread canceller([&] {
    std::string line;
    std::getline(std::cin, line);
    counter.cancel();  // any thread may call it, at any time
  });

  std::string text;
  while (text.size() < 1 << 20) text += "abcdefgh";
  try {
    for (;;) input.feed(text);
  } catch (const gpuhist::error& error) {
    if (error.kind() != gpuhist::errc::closed) throw;  // closed: the counter was cancelled
  }

  const gpuhist::results result = counter.finish();  // what was counted until then
  std::cout << (result.complete() ? "complete" : "cancelled") << " after " << result.bytes() << " bytes, "
            << result.counts("letters").front() << " of them a-d\n";
}
