// Ends the reading of a stream from any thread: the stream itself is only for the thread of its loop.
#pragma once

#include "async/event_loop.hpp"
#include "io/source.hpp"

#include <memory>
#include <utility>
#include <variant>

namespace gpuhist::pipeline {

/// What to post for it; it keeps the source open. Does nothing to a file. Throws std::bad_alloc.
inline std::shared_ptr<async::deferred_call> make_stream_cancel(async::event_loop& loop,
                                                                std::shared_ptr<io::source> source) {
  return std::make_shared<async::deferred_call>(loop, [kept = std::move(source)] {
    if (auto* const stream = std::get_if<io::stream_source>(kept.get())) stream->cancel();
  });
}

}  // namespace gpuhist::pipeline
