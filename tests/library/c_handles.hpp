// Handles and structures of the C interface, and callbacks for it.
#pragma once

#include <gpuhist/gpuhist.h>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuhist::testing {

inline constexpr std::array<const char*, 2> schemes_of_c = {"bytes", "vowels=aeiou"};

/// A handle and its owner. It is passed as the handle.
template <typename Handle, void (*Destroy)(Handle*)>
class owned {
 public:
  owned() = default;
  owned(owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  owned& operator=(owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~owned() { Destroy(handle_); }

  operator Handle*() const { return handle_; }  // NOLINT(google-explicit-constructor)
  Handle* get() const { return handle_; }

  /// For a call that makes a handle.
  Handle** out() {
    Destroy(std::exchange(handle_, nullptr));
    return &handle_;
  }

 private:
  Handle* handle_ = nullptr;
};

using owned_counter = owned<gpuhist_counter, gpuhist_counter_destroy>;
using owned_input = owned<gpuhist_input, gpuhist_input_destroy>;
using owned_results = owned<gpuhist_results, gpuhist_results_destroy>;

/// All other fields are zero.
template <typename Struct>
Struct sized() {
  Struct made{};
  made.size = sizeof(made);
  return made;
}

inline gpuhist_options host() {
  auto made = sized<gpuhist_options>();
  made.schemes = schemes_of_c.data();
  made.scheme_count = schemes_of_c.size();
  made.engine = GPUHIST_ENGINE_HOST;
  made.threads = 2;
  return made;
}

inline owned_counter make(const gpuhist_options& options) {
  owned_counter made;
  REQUIRE(gpuhist_counter_create(&options, made.out()) == GPUHIST_OK);
  REQUIRE(made.get() != nullptr);
  return made;
}

inline owned_input open(gpuhist_counter* counter, const char* name, const gpuhist_input_options* options = nullptr) {
  owned_input made;
  REQUIRE(gpuhist_input_open_with(counter, name, options, made.out()) == GPUHIST_OK);
  return made;
}

inline void feed(gpuhist_input* input, std::string_view text) {
  CHECK(gpuhist_input_feed(input, text.data(), text.size()) == GPUHIST_OK);
}

inline owned_results finish(gpuhist_counter* counter) {
  owned_results made;
  REQUIRE(gpuhist_counter_finish(counter, made.out()) == GPUHIST_OK);
  return made;
}

inline owned_results count_file(const std::string& path, const gpuhist_options& options) {
  owned_results made;
  REQUIRE(gpuhist_count_file(path.c_str(), &options, made.out()) == GPUHIST_OK);
  return made;
}

inline gpuhist_input_result input_of(const gpuhist_results* results, std::size_t number) {
  auto found = sized<gpuhist_input_result>();
  REQUIRE(gpuhist_results_input(results, number, &found) == GPUHIST_OK);
  return found;
}

// Callbacks. The context is a std::string, and a std::vector<std::string>.

inline std::int32_t append_text(void* context, const void* bytes, std::size_t size) {
  static_cast<std::string*>(context)->append(static_cast<const char*>(bytes), size);
  return 0;
}

inline std::int32_t add_notice(void* context, const char* text) {
  static_cast<std::vector<std::string>*>(context)->emplace_back(text);
  return 0;
}

inline bool error_names(std::string_view part) {
  return std::string_view(gpuhist_error_text()).find(part) != std::string_view::npos;
}

}  // namespace gpuhist::testing
