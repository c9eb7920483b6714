// The counts behind gpuhist::results.
#pragma once

#include "gpuhist/errors.hpp"
#include "gpuhist/results.hpp"
#include "report/formats/report.hpp"

#include <exception>
#include <optional>
#include <string>

namespace gpuhist {

/// Why counting failed.
struct counting_failure {
  std::string text{};          ///< empty: it did not
  std::optional<errc> kind{};  ///< nothing: it did not
};

/// The failure with this text, which an exception caused. An empty text: there is no failure.
counting_failure failure_of(std::string text, const std::exception_ptr& cause);

struct [[gnu::visibility("hidden")]] results::state {
  pipeline::report content;
  counting_failure failed;
};

}  // namespace gpuhist
