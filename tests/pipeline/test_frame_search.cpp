// The search for the magic number of a frame in text that arrives in pieces.
#include "pipeline/flow/decoding/frame_search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <span>
#include <string>

using gpuhist::pipeline::frame_search;

TEST_CASE("a magic number is found where it first ends, however the bytes before and around it are cut") {
  std::mt19937 random(5);
  const std::string magic = "abac";
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& each : bytes) each = static_cast<char>('a' + random() % 3);
    const std::size_t skipped = random() % (bytes.size() + 1);
    const std::string front = bytes.substr(0, skipped);
    frame_search search(magic, std::as_bytes(std::span(front)).last(std::min<std::size_t>(skipped, random() % 5)));
    std::size_t begin = skipped;
    while (begin < bytes.size()) {
      const std::string piece = bytes.substr(begin, 1 + random() % 6);
      const auto hit = search.find(std::as_bytes(std::span(piece)));
      if (hit) {
        const std::size_t at = begin + hit->at - hit->before;
        CHECK(bytes.compare(at, magic.size(), magic) == 0);
        break;
      }
      begin += piece.size();
      CHECK(bytes.substr(skipped, begin - skipped).find(magic) == std::string::npos);
    }
  }
}

TEST_CASE("a magic number that began before the first piece is found only if its beginning was given") {
  const std::string before = "xab";
  const std::string piece = "ac..";
  frame_search search("abac", std::as_bytes(std::span(before)));
  const auto hit = search.find(std::as_bytes(std::span(piece)));
  REQUIRE(hit);
  CHECK(hit->before == 2);
  CHECK(hit->at == 0);
  CHECK_FALSE(frame_search("abac", {}).find(std::as_bytes(std::span(piece))));
}

TEST_CASE("in a piece that is passed over no magic number is found, but one may begin in it") {
  const std::string whole = "abacab";
  const std::string rest = "ac";
  frame_search search("abac", {});
  search.pass(std::as_bytes(std::span(whole)));
  const auto hit = search.find(std::as_bytes(std::span(rest)));
  REQUIRE(hit);
  CHECK(hit->before == 2);
  CHECK(hit->at == 0);
}

TEST_CASE("no frame is found in a format without a magic number, whatever the bytes") {
  const std::string bytes(1000, '\0');
  frame_search search("", std::as_bytes(std::span(bytes)));
  for (int pieces = 0; pieces < 3; ++pieces) CHECK_FALSE(search.find(std::as_bytes(std::span(bytes))));
}
