#include "pipeline/flow/decoding/held_members.hpp"

#include "async/task_group.hpp"

#include <algorithm>
#include <string>

namespace gpuhist::pipeline {

std::uint64_t held_members::begin() {
  if (waiting_ == 0) text_.cut_back(0);
  ++waiting_;
  return text_.size();
}

void held_members::add(std::span<const std::byte> text) {
  text_.append({reinterpret_cast<const char*>(text.data()), text.size()});
}

void held_members::conclude(const member& ended, verdict found) {
  --waiting_;
  const text_owner owner{.input = ended.input, .group = 1, .frame = 1};
  for (std::uint64_t done = 0; done < ended.bytes;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(ended.bytes - done, text_taps::piece_bytes));
    const std::string piece = text_.read(ended.begin + done, size);
    async::run_here(taps_.observe(owner, std::as_bytes(std::span(piece)), found == verdict::verified));
    done += piece.size();
  }
  using ending = input_observer::ending;
  if (found == verdict::damaged) async::run_here(taps_.note_gap(owner));
  async::run_here(taps_.end(ended.input, found == verdict::unread ? ending::early : ending::whole));
}

}  // namespace gpuhist::pipeline
