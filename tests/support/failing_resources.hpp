// Memory and threads that cannot be had: the n-th allocation of operator new, or the n-th creation of a thread, fails.
// Only for programs that failing_resources.cpp is part of: it replaces operator new and pthread_create.
#pragma once

namespace gpuhist::test {

enum class resource { memory, thread };

/// Counts what is asked for while a `failing_resource::scope` lives, on all threads, and lets the n-th request fail.
/// One at a time.
class failing_resource {
 public:
  enum class extent { once, from_then_on };

  /// `nth` counts from 1.
  failing_resource(resource what, unsigned nth, extent how_long = extent::once);
  failing_resource(const failing_resource&) = delete;
  failing_resource& operator=(const failing_resource&) = delete;
  ~failing_resource();

  /// While it lives, requests count.
  class scope {
   public:
    explicit scope(failing_resource& of);
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    ~scope();
  };

  /// Whether the n-th was asked for.
  [[nodiscard]] bool was_reached() const;

  /// How many were asked for so far.
  [[nodiscard]] unsigned requested() const;
};

/// While it lives, nothing that the calling thread asks for counts: for the parts of a test.
class spared {
 public:
  spared();
  spared(const spared&) = delete;
  spared& operator=(const spared&) = delete;
  ~spared();
};

}  // namespace gpuhist::test
