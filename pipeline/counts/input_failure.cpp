#include "pipeline/counts/input_failure.hpp"

#include <new>
#include <stdexcept>

namespace gpuhist::pipeline {

std::string failure_text(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const io::input_error& e) {
    std::string text = e.what();
    if (e.offset() > 0) text += " at offset " + std::to_string(e.offset());
    return text;
  } catch (const std::bad_alloc&) {
    return "not enough memory";
  } catch (const std::exception& e) {
    return e.what();
  }
}

input_failure failure_from(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const io::input_error& e) {
    return {.kind = e.kind(), .text = failure_text(error), .origin = e.origin()};
  } catch (const std::bad_alloc&) {
    return {.kind = failure_kind::out_of_memory, .text = "not enough memory to decode it"};
  } catch (...) {
    return {.kind = failure_kind::unreadable, .text = failure_text(error)};
  }
}

bool is_of_input(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const io::input_error&) {
    return true;
  } catch (const std::bad_alloc&) {
    return true;
  } catch (...) {
    return false;
  }
}

input_failure left_at(std::uint64_t offset) {
  return {.kind = failure_kind::stopped, .text = "stopped at offset " + std::to_string(offset)};
}

input_failure not_verified_in_archive() {
  return {.kind = failure_kind::damaged,
          .text = "not verified: the surrounding archive or frame is damaged",
          .origin = failure_origin::archive_after_end};
}

input_failure not_read() { return {.kind = failure_kind::not_read, .text = "not read"}; }

io::input_error as_error(const input_failure& failure) { return {failure.text, 0, failure.kind, failure.origin}; }

}  // namespace gpuhist::pipeline
