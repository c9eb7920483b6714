// The errors that the library throws.
#pragma once

#include <gpuhist/api.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace gpuhist {

/// Kinds of errors. New kinds may be added.
enum class errc : std::uint8_t {
  invalid_argument = 1,  ///< a value of an option: an unknown name, a size that exceeds the memory limit
  misuse,         ///< a call that the interface forbids: feeding an input that has ended, two threads on one input
  closed,         ///< the counter was finished, cancelled, or stopped by a failure
  engine,         ///< the requested engine cannot be used, or failed
  out_of_memory,  ///< memory could not be allocated
  system,         ///< the system refused a resource: a thread, a file
  internal,       ///< an exception that the library does not expect
  callback,       ///< a callback of the caller threw an exception: see results::error_kind()
};

/// Every error that the library throws, except exceptions of callbacks, which are passed on, and std::bad_alloc if
/// there is no memory for an error of kind out_of_memory.
class GPUHIST_API error : public std::runtime_error {
 public:
  error(errc kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  ~error() override;

  [[nodiscard]] errc kind() const noexcept { return kind_; }

 private:
  errc kind_;
};

/// Whether a CUDA device was lost: it failed and must not be called again. The exit handlers of CUDA may then hang, so
/// the process should end by std::_Exit(). Of the process, not of one counter. Thread-safe.
[[nodiscard]] GPUHIST_API bool must_end_at_once() noexcept;

}  // namespace gpuhist
