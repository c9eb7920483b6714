#include "io/failure.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace gpuhist::io {
namespace {

struct kind_row {
  failure_kind kind;
  std::string_view name;
};

constexpr std::array kinds{kind_row{failure_kind::none, ""},
                           kind_row{failure_kind::not_read, "not_read"},
                           kind_row{failure_kind::stopped, "stopped"},
                           kind_row{failure_kind::unreadable, "unreadable"},
                           kind_row{failure_kind::damaged, "damaged"},
                           kind_row{failure_kind::refused, "refused"},
                           kind_row{failure_kind::out_of_memory, "out_of_memory"},
                           kind_row{failure_kind::not_counted, "not_counted"},
                           kind_row{failure_kind::unknown, "unknown"}};

}  // namespace

std::string_view name_of(failure_kind kind) {
  const auto* const found = std::ranges::find(kinds, kind, &kind_row::kind);
  return found == kinds.end() ? "unknown" : found->name;
}

std::optional<failure_kind> failure_kind_named(std::string_view name) {
  const auto* const found = std::ranges::find(kinds, name, &kind_row::name);
  if (found == kinds.end()) return std::nullopt;
  return found->kind;
}

failure_kind kind_of_errno(int error) {
  const bool is_shortage = error == EMFILE || error == ENFILE || error == ENOMEM;
  return is_shortage ? failure_kind::out_of_memory : failure_kind::unreadable;
}

std::string size_text(std::uint64_t bytes) {
  if (bytes == 0) return "0 bytes";
  if (bytes % (1U << 30U) == 0) return std::to_string(bytes >> 30U) + " GiB";
  if (bytes % (1U << 20U) == 0) return std::to_string(bytes >> 20U) + " MiB";
  if (bytes % (1U << 10U) == 0) return std::to_string(bytes >> 10U) + " KiB";
  return bytes_text(bytes);
}

std::string bytes_text(std::uint64_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

}  // namespace gpuhist::io
