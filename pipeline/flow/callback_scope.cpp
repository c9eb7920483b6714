#include "pipeline/flow/callback_scope.hpp"

namespace gpuhist::pipeline {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): of the thread
thread_local const callback_scope* innermost = nullptr;

}  // namespace

callback_scope::callback_scope(const void* run) noexcept : run_(run), outer_(innermost) { innermost = this; }

callback_scope::~callback_scope() { innermost = outer_; }

bool callback_scope::is_within(const void* run) noexcept {
  for (const callback_scope* each = innermost; each != nullptr; each = each->outer_) {
    if (each->run_ == run) return true;
  }
  return false;
}

}  // namespace gpuhist::pipeline
