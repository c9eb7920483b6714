// Searches for literals: the occurrences are those that a simple search finds, on every instruction set of this
// machine.
#include "gpu/host/literal_search.hpp"

#include <doctest/doctest.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::gpu::host {
namespace {

using generator = std::mt19937;
using strings = std::vector<std::string>;
using occurrences = std::set<std::pair<std::size_t, std::size_t>>;

void on_every_target(const std::function<void()>& check) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
    CAPTURE(hwy::TargetName(target));
    CHECK(literals_instruction_set() == hwy::TargetName(target));
    check();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

literal_set set_of(const strings& texts, literal::letters are = literal::letters::either_case) {
  std::vector<literal> all;
  for (const std::string& each : texts) all.emplace_back(each, are);
  return literal_set(std::move(all));
}

occurrences simple_search(std::string_view text, const strings& literals, literal::letters are) {
  occurrences all;
  const auto equal = [&](char a, char b) { return are == literal::letters::exact ? a == b : lower(a) == lower(b); };
  for (std::size_t i = 0; i < literals.size(); ++i) {
    for (auto at = text.begin(); at != text.end(); ++at) {
      at = std::search(at, text.end(), literals[i].begin(), literals[i].end(), equal);
      if (at == text.end()) break;
      all.emplace(i, static_cast<std::size_t>(at - text.begin()));
    }
  }
  return all;
}

// In memory of its own, so that a sanitizer reports reads outside the text.
occurrences search(std::string_view text, const literal_set& literals) {
  const std::vector<char> copy(text.begin(), text.end());
  occurrences all;
  literals.search(std::string_view(copy.data(), copy.size()), [&](std::size_t i, std::size_t at) {
    const bool is_new = all.emplace(i, at).second;
    CHECK(is_new);
    return at + 1;
  });
  return all;
}

// Few letters, so that there are many occurrences; bytes that differ from others in the bit of the case only.
std::string random_text(generator& numbers, std::size_t size) {
  constexpr std::string_view bytes = "aAbB@`[{ \n\0\xc3\xe3kK1Q";
  const std::size_t used = 3 + numbers() % (bytes.size() - 2);
  std::string text(size, ' ');
  for (char& each : text) each = bytes[numbers() % used];
  return text;
}

strings random_literals(generator& numbers, std::size_t count, std::size_t min_size, std::size_t max_size) {
  strings all(count);
  for (std::string& each : all) each = random_text(numbers, min_size + numbers() % (max_size - min_size + 1));
  return all;
}

}  // namespace

TEST_CASE("a literal is found at each offset of texts of each size") {
  on_every_target([] {
    for (const std::string_view sought : {"xy", "x1y", "literal", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab"}) {
      const literal one(sought);
      for (std::size_t size = 0; size < 200; size += size < 140 ? 1 : 7) {
        const std::string empty(size, 'a');
        CHECK(one.find(empty) == std::string_view::npos);
        for (std::size_t at = 0; at + sought.size() <= size; at += 1 + size / 40) {
          std::string text = empty;
          text.replace(at, sought.size(), sought);
          const std::vector<char> copy(text.begin(), text.end());
          const std::string_view view(copy.data(), copy.size());
          const std::size_t found = one.find(view);
          CHECK(found == at);
          CHECK(one.find(view, at) == at);
          CHECK(one.find(view, at + 1) == std::string_view::npos);
        }
      }
      CHECK(one.find(sought, sought.size()) == std::string_view::npos);
      CHECK(one.find(sought, 1000) == std::string_view::npos);
    }
  });
}

TEST_CASE("letters are found in both cases, other bytes as they are") {
  on_every_target([] {
    const literal letters("aBc");
    CHECK(letters.find(std::string(70, '-') + "AbC") == 70);
    CHECK(letters.is_at("ABC", 0));
    const literal others("@[\r1");
    CHECK(others.find(std::string(70, '-') + "`[\r1@{\r1@[-1@[\r\x11@[\r1") == 86);
    CHECK(!others.is_at("`{\r1", 0));
    CHECK(!others.is_at("@[\r", 0));
    const literal high("\xc3\xa9");
    CHECK(high.find("\xc3\x89 \xe3\xa9 \xc3\xa9") == 6);
  });
}

TEST_CASE("all occurrences of all literals are found, as a simple search finds them") {
  on_every_target([] {
    generator numbers(3);
    for (int i = 0; i < 150; ++i) {
      constexpr std::array<std::size_t, 6> counts = {0, 1, 3, 10, 30, 200};
      const std::size_t min_size = 2 + numbers() % 8;
      const std::size_t max_size = numbers() % 2 == 0 ? min_size : min_size + numbers() % 20;
      strings literals = random_literals(numbers, counts[numbers() % counts.size()], min_size, max_size);
      std::string text = random_text(numbers, numbers() % 700);
      for (const std::string& each : literals) {
        if (numbers() % 4 == 0) text.insert(numbers() % (text.size() + 1), each);
      }
      for (const auto are : {literal::letters::either_case, literal::letters::exact}) {
        const literal_set set = set_of(literals, are);
        CHECK(set.size() == literals.size());
        const bool is_equal = search(text, set) == simple_search(text, literals, are);
        CHECK_MESSAGE(is_equal, literals.size(), " literals of ", min_size, " to ", max_size, " bytes");
      }
    }
  });
}

TEST_CASE("many literals are found at both ends of a text") {
  for (const std::size_t size : {3U, 4U, 5U, 6U, 7U, 8U, 9U, 12U, 20U}) {
    strings literals;
    for (int i = 10; i < 60; ++i) literals.push_back(std::to_string(i) + std::string(size - 2, 'x'));
    const literal_set set = set_of(literals);
    for (std::size_t between = 0; between < 20; ++between) {
      const std::string text = literals[3] + std::string(between, '-') + literals[44];
      CHECK(search(text, set) == occurrences{{3, 0}, {44, size + between}});
      CHECK(search(text.substr(1, text.size() - 2), set).empty());
    }
  }
}

TEST_CASE("a search of few literals resumes where it is asked to") {
  const literal_set set = set_of({"ab"});
  std::vector<std::size_t> found;
  set.search("ab ab ab ab", [&](std::size_t, std::size_t at) {
    found.push_back(at);
    return at + 4;
  });
  CHECK(found == std::vector<std::size_t>{0, 6});
}

TEST_CASE("a literal has two bytes or more") {
  CHECK_THROWS_AS(literal("a"), std::invalid_argument);
  CHECK_THROWS_AS(literal("", literal::letters::exact), std::invalid_argument);
}

}  // namespace gpuhist::gpu::host
