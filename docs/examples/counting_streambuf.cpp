// A stream buffer that counts what is written through it. Here it stands before the standard output.
//
//     $ printf 'hello, world\n' | ./counting_streambuf
//     hello, world
//     lower 10
//     space 2
//     punctuation 1
#include <gpuhist/gpuhist.hpp>

#include <array>
#include <cstdint>
#include <iostream>
#include <streambuf>
#include <string>
#include <vector>

// Forwards text to `target` and feeds it to `counted`, 16 KiB at a time.
class counting_streambuf : public std::streambuf {
 public:
  counting_streambuf(std::streambuf& target, gpuhist::input& counted) : target_(target), counted_(counted) {
    setp(text_.data(), text_.data() + text_.size());
  }

 protected:
  int_type overflow(int_type character) override {
    if (!forward()) return traits_type::eof();
    if (!traits_type::eq_int_type(character, traits_type::eof())) sputc(traits_type::to_char_type(character));
    return traits_type::not_eof(character);
  }

  int sync() override { return forward() && target_.pubsync() == 0 ? 0 : -1; }

 private:
  bool forward() {
    const std::string_view text(pbase(), pptr());
    counted_.feed(text);
    setp(text_.data(), text_.data() + text_.size());
    const auto size = static_cast<std::streamsize>(text.size());
    return target_.sputn(text.data(), size) == size;
  }

  std::streambuf& target_;
  gpuhist::input& counted_;
  std::array<char, 16384> text_{};
};

int main() {
  gpuhist::counter counter({.schemes = {"classes"}});
  gpuhist::input output = counter.open_input("standard output");
  counting_streambuf buffer(*std::cout.rdbuf(), output);
  std::ostream counted(&buffer);
  for (std::string line; std::getline(std::cin, line);) counted << line << '\n';
  counted.flush();

  const gpuhist::results result = counter.finish();
  const std::vector<std::string> names = result.buckets("classes");
  const std::vector<std::uint64_t> counts = result.counts("classes");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (counts[i] > 0) std::cout << names[i] << ' ' << counts[i] << '\n';
  }
}
