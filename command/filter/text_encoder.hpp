// Compresses the kept text of one input on its way to an output. The output depends on the text only, not on how it is
// divided among calls.
#pragma once

#include "config/options.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

namespace gpuhist::command {

/// Used by one thread at a time. Members throw std::bad_alloc, std::runtime_error, and what the sink throws.
class text_encoder {
 public:
  /// Receives the bytes of the output, in order.
  using sink = std::function<void(std::string_view)>;

  text_encoder() = default;
  text_encoder(const text_encoder&) = delete;
  text_encoder& operator=(const text_encoder&) = delete;
  virtual ~text_encoder() = default;

  virtual void add(std::span<const std::byte> text) = 0;

  /// No more text follows.
  virtual void end() = 0;
};

/// Precondition: not output_compression::kind::same.
std::unique_ptr<text_encoder> make_text_encoder(const config::output_compression& how, text_encoder::sink out);

/// Most bytes of memory of an encoder; of `same`, of the largest that it may be.
std::size_t memory_of_encoder(const config::output_compression& how);

}  // namespace gpuhist::command
