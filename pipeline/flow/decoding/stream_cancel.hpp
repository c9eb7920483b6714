// Cancels the reading of a stream from any thread. The stream itself may be used only on the thread of its loop.
#pragma once

#include "async/event_loop.hpp"
#include "io/source.hpp"

#include <memory>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {

/// A call that cancels the reading when it is posted. It keeps the source open. Does nothing for a file. Throws
/// std::bad_alloc.
inline std::shared_ptr<async::deferred_call> make_stream_cancel(async::event_loop& loop,
                                                                std::shared_ptr<io::source> source) {
  return std::make_shared<async::deferred_call>(loop, [kept = std::move(source)] {
    if (auto* const stream = std::get_if<io::stream_source>(kept.get())) stream->cancel();
  });
}

}  // namespace gpuhist::pipeline
