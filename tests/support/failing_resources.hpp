// A simulated shortage of memory or threads: the n-th allocation by operator new, or the n-th creation of a thread,
// fails. For programs that are built with failing_resources.cpp, which replaces operator new and pthread_create.
#pragma once

namespace gpuhist::test {

enum class resource { memory, thread };

/// Counts the requests of all threads while a `failing_resource::scope` exists, and makes the n-th request fail. At
/// most one object of this class may exist at a time.
class failing_resource {
 public:
  enum class extent { once, from_then_on };

  /// `nth` counts from 1.
  failing_resource(resource kind, unsigned nth, extent duration = extent::once);
  failing_resource(const failing_resource&) = delete;
  failing_resource& operator=(const failing_resource&) = delete;
  ~failing_resource();

  /// Requests are counted while this exists.
  class scope {
   public:
    explicit scope(failing_resource& failing);
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    ~scope();
  };

  /// Whether the n-th request was made.
  [[nodiscard]] bool was_reached() const;

  /// The number of requests so far.
  [[nodiscard]] unsigned requested() const;
};

/// While this exists, requests of the calling thread are not counted. For allocations that belong to the test itself.
class spared {
 public:
  spared();
  spared(const spared&) = delete;
  spared& operator=(const spared&) = delete;
  ~spared();
};

}  // namespace gpuhist::test
