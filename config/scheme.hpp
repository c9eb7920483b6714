// Schemes: named maps from the 256 byte values to named buckets. Bytes outside every bucket are in `other`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuhist::config {

/// A name that a bucket had in an older version.
struct former_name {
  std::string name;
  std::uint16_t bucket = 0;  ///< index into the buckets of its scheme

  bool operator==(const former_name&) const = default;
};

/// A plain value. `bucket_of[b]` is an index into `buckets`. If some bytes are in none of the named buckets, the last
/// bucket is "other".
struct scheme {
  std::string name;
  std::vector<std::string> buckets;
  std::array<std::uint16_t, 256> bucket_of{};
  std::vector<former_name> former_names{};  ///< accepted where a bucket is named, never written

  bool operator==(const scheme&) const = default;
};

/// The built-in scheme of that name. Throws usage_error that lists the names, and suggests the nearest one if it is
/// similar.
///   letters   a-d e-h i-l m-p q-t u-x y-z, lower case only; other
///   alphabet  a ... z, lower case only; other
///   bytes     0x00 ... 0xff (buckets named "0x0a")
///   classes   upper lower digit space punctuation control non-ascii (C locale: space is \t \n \v \f \r and ' ')
///   utf8      ascii continuation lead-2 lead-3 lead-4 never-utf8 (c0 c1 f5-ff, which never occur in UTF-8;
///             formerly named "invalid")
scheme find_scheme(std::string_view name);

/// The index of the bucket of that name. Nothing: the scheme has no such bucket. Former names are not considered.
std::optional<std::size_t> find_bucket(const scheme& among, std::string_view name);

/// The index of the bucket that had this name in an older version. Nothing: there is none, or another bucket has the
/// name now.
std::optional<std::size_t> find_formerly_named(const scheme& among, std::string_view name);

/// Whether these are the names of all buckets in their order. Each may be a former name: older results have those.
bool are_buckets_of(const scheme& of, std::span<const std::string> names);

/// The schemes in the order given: names of built-in schemes (a repeated name counts once), and definitions, which
/// contain '='. Definitions without a name are named custom, custom-2, ... . With `ignore_case` the bytes A-Z are in
/// the buckets of a-z. Throws usage_error without the name of an option.
std::vector<scheme> make_schemes(const std::vector<std::string>& typed, bool ignore_case);

/// The names of the built-in schemes, in the order of the help.
std::vector<std::string_view> scheme_names();

// Schemes that the user defines: `[NAME:]bucket=characters;bucket=characters...`.

/// Whether the text is a definition; if not, it is the name of a scheme.
bool is_custom_scheme(std::string_view typed);

/// Characters are bytes: single ones, ranges (a-z), and the escapes \n \t \r \0 \\ \- \; \= \: \, \xNN. A '-' that is
/// first or last is the character. Bytes outside every bucket are in a last one, `other`. The name of the scheme is
/// empty if the definition has none. Throws usage_error with the position of the error and a remedy, without an
/// option's name.
scheme parse_custom_scheme(std::string_view typed);

}  // namespace gpuhist::config
