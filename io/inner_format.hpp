// What a compression holds: gpuhist decodes one compression around a text.
#pragma once

#include "io/notice.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace gpuhist::io {

/// The notice for decompressed content that is not text but of a format of the table. `outer`: the name of the format
/// around it; `name`: of the input, with the suffix of that format or without. Throws input_error if the rules refuse
/// it.
std::optional<notice> notice_of_inner(std::string_view outer, std::string_view name, std::span<const std::byte> head,
                                      const content_rules& rules);

}  // namespace gpuhist::io
