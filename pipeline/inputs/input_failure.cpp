#include "pipeline/inputs/input_failure.hpp"

#include "io/input_error.hpp"

#include <new>
#include <stdexcept>

namespace gpuhist::pipeline {

namespace {

constexpr std::string_view left_words = "stopped at offset ";

}  // namespace

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

std::string left_at(std::uint64_t offset) { return std::string(left_words) + std::to_string(offset); }

std::string not_read() { return "not read"; }

bool is_left(std::string_view error) { return error == not_read() || error.starts_with(left_words); }

}  // namespace gpuhist::pipeline
