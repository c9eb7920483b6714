#include "io/whole_splitter.hpp"

namespace gpuhist::io {
namespace {

class whole_splitter final : public splitter {
 public:
  split_step advance(std::span<const std::byte> bytes) override { return {.taken = bytes.size()}; }
  [[nodiscard]] bool counts_frame() const override { return true; }
  [[nodiscard]] bool is_lost() const override { return true; }
  [[nodiscard]] std::string_view manner() const override {
    return "streams of this format cannot be found without decoding them";
  }
};

}  // namespace

std::unique_ptr<splitter> make_whole_splitter() { return std::make_unique<whole_splitter>(); }

}  // namespace gpuhist::io
