#include "pipeline/flow/decoding/archive_windows.hpp"

#include "async/task_group.hpp"

#include <utility>

namespace gpuhist::pipeline {

void archive_windows::grant_outer(io::decoder& of) {
  if (!has_first_ && !reserve_) return async::run_blocking(pool_, context_.grant_window(of));
  hold_reserve();
  outer_needs_reserve_ = !context_.grant_window_at_once(of);
  release_reserve();
}

std::string archive_windows::member::grant(io::decoder& of, const io::decoder_limits& limits) {
  of.grant_window(0);  // frees the memory
  free();
  const std::uint64_t wanted = of.window_wanted();
  if (!archive_.has_first_) {
    if (!archive_.reserve_) first_ = archive_.shared_.first_.acquire_blocking({}, wanted);
    archive_.has_first_ = is_first_ = true;
  } else {
    archive_.hold_reserve();
    io::decoder_limits here = limits;
    here.window_bytes = archive_.shared_.largest() - archive_.reserve_used_;
    here.besides.bytes += member_windows::share * archive_.reserve_used_;
    if (wanted > here.window_bytes) return io::window_refusal(wanted, here);
    archive_.reserve_used_ += of_reserve_ = wanted;
  }
  of.grant_window(wanted);
  return {};
}

archive_windows::member::~member() {
  free();
  archive_.release_reserve();
}

void archive_windows::member::free() noexcept {
  if (std::exchange(is_first_, false)) archive_.has_first_ = false;
  first_.release();
  archive_.reserve_used_ -= std::exchange(of_reserve_, 0);
}

void archive_windows::hold_reserve() {
  if (!reserve_) reserve_ = shared_.reserve_.acquire_blocking({});
}

void archive_windows::release_reserve() noexcept {
  if (reserve_used_ == 0 && !outer_needs_reserve_) reserve_.release();
}

}  // namespace gpuhist::pipeline
