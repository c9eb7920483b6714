#include "command/result_schemes.hpp"

#include "config/text.hpp"
#include "config/usage_error.hpp"
#include "io/descriptor.hpp"
#include "report/formats/document_reader.hpp"
#include "report/formats/report.hpp"
#include "report/formats/report_json.hpp"
#include "report/formats/result_document.hpp"

#include <nlohmann/json.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <ranges>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace gpuhist::command {
namespace {

using nlohmann::json;

std::optional<scheme_names> schemes_of_document(const std::string& path, const json& document) {
  const auto buckets = document.find("buckets");
  if (document.value("kind", "") != "result" || buckets == document.end() || !buckets->is_object()) return std::nullopt;
  scheme_names made{.result = path,
                    .lists_byte_counts = document.contains("byte_counts"),
                    .has_byte_counts = document.contains("byte_counts") || buckets->contains("bytes"),
                    .ignore_case = document.value("ignore_case", false),
                    .reading = report::reading_options::in(document)};
  for (const auto& [name, counts] : buckets->items()) {
    if (!counts.is_object()) return std::nullopt;
    for (const auto& each : counts.items()) made.buckets[name].push_back(each.key());
  }
  if (const auto members = document.find("scheme_members"); members != document.end()) {
    made.members = members->get<std::map<std::string, std::string>>();
  }
  return made;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& each : names) text += (text.empty() ? "" : ", ") + each;
  return text;
}

// A scheme that has other members in the other result; null: there is none. Older results have no hashes.
const std::string* other_members(const scheme_names& a, const scheme_names& b) {
  for (const auto& [name, hash] : a.members) {
    const auto found = b.members.find(name);
    if (found != b.members.end() && found->second != hash) return &name;
  }
  return nullptr;
}

bool have_equal_names(const scheme_names& a, const scheme_names& b) {
  return a.buckets == b.buckets && a.ignore_case == b.ignore_case;
}

bool are_equal(const scheme_names& a, const scheme_names& b) {
  return have_equal_names(a, b) && other_members(a, b) == nullptr;
}

bool has_names_of(const scheme_names& result, const config::scheme& scheme) {
  const auto found = result.buckets.find(scheme.name);
  return found != result.buckets.end() && std::ranges::is_permutation(found->second, scheme.buckets);
}

[[noreturn]] void refuse_different(const scheme_names& a, const scheme_names& b, bool have_byte_counts) {
  if (const std::string* const scheme = other_members(a, b); scheme != nullptr && have_equal_names(a, b)) {
    throw config::usage_error("the buckets of the scheme " + config::quote(*scheme) + " have other bytes in " +
                              report::printable(a.result) + " than in " + report::printable(b.result) +
                              ", and cannot be added; " +
                              (have_byte_counts ? "all have byte counts: give the schemes of the sum with --buckets"
                                                : "count again with the same --buckets, or with --byte-counts"));
  }
  throw config::usage_error(
      "the results have different schemes, which cannot be added: " + report::printable(a.result) + " has " + a.text() +
      ", " + report::printable(b.result) + " has " + b.text() + "; " +
      (have_byte_counts ? "all have byte counts: give the schemes of the sum with --buckets"
                        : "count again with the same --buckets, or with --byte-counts"));
}

}  // namespace

std::string scheme_names::text() const {
  std::string names;
  for (const auto& [name, of_scheme] : buckets) {
    constexpr std::size_t listed = 8;
    std::vector<std::string> first(of_scheme.begin(),
                                   of_scheme.begin() + static_cast<std::ptrdiff_t>(std::min(listed, of_scheme.size())));
    if (of_scheme.size() > listed) first.emplace_back("...");
    names += (names.empty() ? "" : ", ") + config::quote(name) + " (" + joined(first) + ")";
  }
  return names + (ignore_case ? " with --ignore-case" : "");
}

std::vector<scheme_names> schemes_in(const std::string& path) {
  const io::descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!opened) throw std::system_error(errno, std::system_category(), "cannot read " + report::printable(path));
  std::vector<scheme_names> found;
  report::document_reader documents(opened.get());
  while (documents.next_line()) {
    try {
      if (documents.at_line_end()) continue;
      const json document = documents.read({.begin = [] {}, .take = [](const json&) {}});
      if (!document.is_object()) continue;
      if (auto made = schemes_of_document(path, document)) found.push_back(*std::move(made));
    } catch (const report::result_damage&) {
      continue;  // it is reported when the counts are read
    } catch (const json::exception&) {
      continue;
    } catch (const std::length_error&) {
      break;
    }
  }
  return found;
}

shared_schemes common_schemes(const std::vector<scheme_names>& results, const std::vector<std::string>& typed) {
  const bool have_byte_counts = std::ranges::all_of(results, &scheme_names::has_byte_counts);
  const auto other =
      std::ranges::find_if(results, [&](const scheme_names& each) { return !are_equal(each, results.front()); });
  const bool must_be_equal = !have_byte_counts || typed.empty();
  if (other != results.end() && (must_be_equal || other->ignore_case != results.front().ignore_case)) {
    refuse_different(results.front(), *other, have_byte_counts);
  }
  const bool ignore_case = !results.empty() && results.front().ignore_case;
  std::vector<std::string> names = typed;
  if (names.empty() && !results.empty()) {
    for (const std::string& each : results.front().buckets | std::views::keys) {
      const std::vector<std::string_view> known = config::scheme_names();
      if (std::ranges::find(known, each) == known.end()) {
        throw config::usage_error(report::printable(results.front().result) + " has the scheme " + config::quote(each) +
                                  ", whose definition is not in the result; give it with --buckets");
      }
      names.push_back(each);
    }
  }
  shared_schemes made{.schemes = config::make_schemes(names, ignore_case),
                      .have_byte_counts = have_byte_counts && !results.empty(),
                      .ignore_case = ignore_case};
  if (!made.have_byte_counts) refuse_other_members(results, made.schemes);
  return made;
}

void refuse_other_reading(const std::vector<scheme_names>& results) {
  if (results.empty()) return;
  report::reading_options common = results.front().reading;
  for (const scheme_names& each : results) {
    if (const std::string difference = each.reading.difference_from(common); !difference.empty()) {
      throw config::usage_error("the lines of " + report::printable(each.result) +
                                " were read with other options than those of " +
                                report::printable(results.front().result) + ", and cannot be added: " + difference +
                                "; count again with the same options");
    }
    common.add(each.reading);
  }
}

void refuse_other_members(const std::vector<scheme_names>& results, const std::vector<config::scheme>& schemes) {
  for (const scheme_names& result : results) {
    for (const config::scheme& each : schemes) {
      const auto found = result.members.find(each.name);
      if (found == result.members.end() || found->second == report::hash_of_members(each)) continue;
      if (!has_names_of(result, each)) continue;  // which is reported when the counts are read
      throw config::usage_error(report::printable(result.result) + ": the buckets of the scheme " +
                                config::quote(each.name) +
                                " have other bytes there than in --buckets; give the definition that it was counted "
                                "with");
    }
  }
}

}  // namespace gpuhist::command
