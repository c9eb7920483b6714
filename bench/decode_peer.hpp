// The decoders of nvCOMP as peers of the device's. The library is loaded at run time, and its headers are not
// needed.
#pragma once

#include "bench/encoded_batch.hpp"

#include <filesystem>

namespace gpuhist::bench {

/// Used by one thread.
class peer_decoder {
 public:
  /// Loads libnvcomp.so of version 5 or 6. Throws std::runtime_error with the name of the file.
  explicit peer_decoder(const std::filesystem::path& library);
  peer_decoder(const peer_decoder&) = delete;
  peer_decoder& operator=(const peer_decoder&) = delete;
  ~peer_decoder();

  /// The median of the seconds to decode the batch on the current device. Throws std::runtime_error if a call fails or
  /// the text is not the original.
  [[nodiscard]] double measure(const framed_text& from, const batch_plan& plan, const pipeline::encoded_frames& listed,
                               unsigned rounds) const;

 private:
  void* library_;
};

}  // namespace gpuhist::bench
