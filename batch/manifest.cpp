#include "batch/manifest.hpp"

#include "io/checksum.hpp"
#include "io/format.hpp"
#include "report/formats/bounded_lines.hpp"
#include "report/formats/report.hpp"
#include "report/formats/report_json.hpp"
#include "report/formats/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <unordered_set>
#include <utility>

namespace gpuhist::batch {
namespace {

using json = nlohmann::ordered_json;

json log_as_json(const io::log_identity& log) {
  json out{{"plain", log.is_plain}, {"head", report::base64(log.head)}};
  if (!log.tail.empty()) out["tail"] = report::base64(log.tail);
  if (log.born != 0) {
    out["inode"] = log.inode;
    out["born"] = log.born;
  }
  return out;
}

std::string log_hash_from(const json& text) {
  constexpr std::size_t hash_bytes = 16;
  std::optional<std::string> hash = report::from_base64(text.get<std::string>());
  if (!hash || hash->size() != hash_bytes) throw std::runtime_error("the hash of a log is not one");
  return *std::move(hash);
}

// `bytes`: the size of the file. Only a longer one has two ends.
io::log_identity log_from(const json& object, std::uint64_t bytes) {
  const auto tail = object.find("tail");
  if ((tail != object.end()) != (bytes > io::log_edge_bytes)) {
    throw std::runtime_error("the hashes of a log are not those of a file of its size");
  }
  return {.bytes = bytes,
          .is_plain = object.at("plain").get<bool>(),
          .head = log_hash_from(object.at("head")),
          .tail = tail != object.end() ? log_hash_from(*tail) : std::string(),
          .inode = object.value("inode", std::uint64_t{0}),
          .born = object.value("born", std::int64_t{0})};
}

json entry_as_json(const manifest_entry& entry) {
  json out{{"kind", "input"}, {"name", entry.name}};
  if (!config::is_utf8(entry.name)) out["name_base64"] = report::base64(entry.name);
  if (!entry.error.is_none()) {
    out["error"] = entry.error.text;
    out["error_kind"] = io::name_of(entry.error.kind);
    return out;
  }
  out["size"] = entry.size;
  out["modified"] = entry.modified;
  if (!entry.fingerprint.empty()) out["fingerprint"] = entry.fingerprint;
  if (!entry.follow_links) out["follow_links"] = false;
  if (entry.has_changed) out["has_changed"] = true;
  if (entry.is_retired) out["retired"] = true;
  if (entry.log) out["log"] = log_as_json(*entry.log);
  if (entry.splits.empty()) return out;
  out["format"] = entry.split_format;
  for (const io::split_point& each : entry.splits) {
    json point{each.stored_bytes, each.frames};
    if (each.text_bytes) point.push_back(*each.text_bytes);
    out["splits"].push_back(std::move(point));
  }
  return out;
}

// Negative numbers and those that no file can have are refused.
std::uint64_t size_in(const json& value) {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) {
    throw std::runtime_error("a number is not one from 0 to 2^63 - 1");
  }
  return value.get<std::uint64_t>();
}

io::split_point split_from(const json& point) {
  io::split_point made{.stored_bytes = size_in(point.at(0)), .frames = size_in(point.at(1))};
  if (point.size() > 2) made.text_bytes = size_in(point.at(2));
  return made;
}

// The offsets of plain text are those of the file; those of frames ascend together.
bool follows(const io::split_point& next, const io::split_point& last, bool is_plain, bool is_first) {
  if (next.stored_bytes <= last.stored_bytes) return false;
  if (is_plain) return next.frames == 0 && next.text_bytes.value_or(next.stored_bytes) == next.stored_bytes;
  const bool know_both = next.text_bytes && last.text_bytes;
  return next.frames > last.frames && (is_first || next.text_bytes.has_value() == last.text_bytes.has_value()) &&
         (!know_both || *next.text_bytes >= *last.text_bytes);
}

void check_splits(const manifest_entry& entry) {
  const io::format* const format = io::format_named(entry.split_format);
  if (format == nullptr || !(format->is_plain || format->has_split_points)) {
    throw std::runtime_error("a format cannot be divided");
  }
  io::split_point last{.text_bytes = 0};
  for (const io::split_point& each : entry.splits) {
    if (!follows(each, last, format->is_plain, &each == &entry.splits.front()) || each.stored_bytes >= entry.size) {
      throw std::runtime_error("the places at which an input can be divided contradict each other");
    }
    last = each;
  }
}

std::string name_in(const json& line) {
  auto made = line.at("name").get<std::string>();
  if (const auto raw = line.find("name_base64"); raw != line.end()) {
    const std::optional<std::string> bytes = report::from_base64(raw->get<std::string>());
    if (!bytes) throw std::runtime_error("a name is not base64");
    made = *bytes;
  }
  if (made.empty() || made.find('\0') != std::string::npos) {
    throw std::runtime_error("a name is empty, or has a zero byte, which no name of a file has");
  }
  return made;
}

manifest_entry entry_from(const json& line) {
  manifest_entry made;
  made.name = name_in(line);
  if (const auto error = line.find("error"); error != line.end()) {
    made.error.text = error->get<std::string>();
    made.error.kind =
        io::failure_kind_named(line.at("error_kind").get<std::string>()).value_or(io::failure_kind::unknown);
    if (made.error.is_none()) made.error.kind = io::failure_kind::unknown;
    return made;
  }
  made.size = size_in(line.at("size"));
  if (!line.at("modified").is_number_integer()) throw std::runtime_error("a time is not a whole number");
  made.modified = line.at("modified").get<std::int64_t>();
  made.fingerprint = line.value("fingerprint", std::string());
  made.follow_links = line.value("follow_links", true);
  made.has_changed = line.value("has_changed", false);
  made.is_retired = line.value("retired", false);
  if (const auto log = line.find("log"); log != line.end()) made.log = log_from(*log, made.size);
  if (const auto splits = line.find("splits"); splits != line.end()) {
    made.split_format = line.at("format").get<std::string>();
    for (const json& each : *splits) made.splits.push_back(split_from(each));
    check_splits(made);
  }
  return made;
}

// A job counts each name once, and adds the sizes.
void check_entries(const std::vector<manifest_entry>& entries) {
  std::unordered_set<std::string_view> names(entries.size());
  std::uint64_t bytes = 0;
  for (const manifest_entry& each : entries) {
    if (!names.insert(each.name).second)
      throw std::runtime_error("has the input " + report::printable(each.name) + " twice");
    bytes += each.size;
    if (bytes > std::numeric_limits<std::int64_t>::max()) throw std::runtime_error("has more than 2^63 bytes");
  }
}

void check_header(const json& line, std::size_t entries) {
  if (line.at("schema") != manifest_schema) throw std::runtime_error("not a manifest of this version");
  if (size_in(line.at("inputs")) != entries) {
    throw std::runtime_error("the manifest has " + config::number_of(entries, "input") + " instead of " +
                             std::to_string(line.at("inputs").get<std::size_t>()));
  }
}

config::fingerprint_kind kind_in(const json& header) {
  using enum config::fingerprint_kind;
  const auto name = header.value("fingerprint", std::string(name_of(ends)));
  if (name != name_of(ends) && name != name_of(full)) throw std::runtime_error("not a manifest of this version");
  return name == name_of(full) ? full : ends;
}

}  // namespace

std::string_view name_of(config::fingerprint_kind kind) {
  return kind == config::fingerprint_kind::full ? "full" : "ends";
}

std::uint64_t manifest::bytes() const {
  std::uint64_t sum = 0;
  for (const manifest_entry& each : entries) sum += each.stored_bytes();
  return sum;
}

std::string text_of_manifest(const std::vector<manifest_entry>& entries, config::fingerprint_kind kind) {
  std::string text = report::as_line(
      {{"kind", "manifest"}, {"schema", manifest_schema}, {"fingerprint", name_of(kind)}, {"inputs", entries.size()}});
  for (const manifest_entry& each : entries) text += report::as_line(entry_as_json(each));
  return text;
}

std::string identity_of_text(const std::string& text) { return io::hash_text(text); }

std::string text_of_manifest_file(const std::string& path) {
  std::string text;
  report::bounded_lines lines(path);
  for (std::string line; lines.next(line);) text.append(line).append(lines.is_whole() ? "\n" : "");
  return text;
}

manifest manifest_from(const std::string& text, const std::string& path, std::string_view remedy) {
  const auto fail = [&](std::size_t number, const std::string& cause) {
    throw std::runtime_error(report::printable(path) + ":" + std::to_string(number) + ": " + cause + "; " +
                             std::string(remedy));
  };
  manifest made;
  made.identity = io::hash_text(text);
  constexpr std::size_t shortest_line = 32;  // of an entry
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  made.entries.reserve(std::min(lines, text.size() / shortest_line));
  json header;
  std::size_t number = 0;
  try {
    for (std::string_view rest = text; !rest.empty();) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      if (++number == 1) {
        header = json::parse(line);
      } else {
        made.entries.push_back(entry_from(json::parse(line)));
      }
    }
    if (number == 0) throw std::runtime_error("the manifest is empty");
    check_header(header, made.entries.size());
    made.fingerprint = kind_in(header);
    check_entries(made.entries);
  } catch (const json::exception&) {
    fail(number, "not a line of a manifest");
  } catch (const std::runtime_error& damage) {
    fail(number, damage.what());
  }
  return made;
}

manifest read_manifest(const std::string& path) {
  return manifest_from(text_of_manifest_file(path), path,
                       "restore the file from a copy (shards have the same one); a new manifest would be of another "
                       "job, so without a copy, count again in another --output-dir");
}

io::fingerprinted fingerprinted_by(config::fingerprint_kind kind) {
  return kind == config::fingerprint_kind::full ? io::fingerprinted::all : io::fingerprinted::ends;
}

io::file_state state_in(const manifest_entry& entry) {
  return {.bytes = entry.size, .modified = entry.modified, .fingerprint = entry.fingerprint};
}

std::string difference(const manifest_entry& planned, const io::file_state& now, bool trusts_names) {
  if (planned.size == 0 && now.bytes == 0) return {};  // an empty file has no other content
  if (planned.size != now.bytes) {
    return "its size is " + config::number_of(now.bytes, "byte") + ", and was " + config::grouped(planned.size) +
           " when the job was planned";
  }
  if (!trusts_names && planned.modified != now.modified) {
    return "its time of modification is not that of the plan; --trust-names ignores it";
  }
  if (planned.fingerprint != now.fingerprint) return "its content is not that of the plan (the fingerprint differs)";
  return {};
}

}  // namespace gpuhist::batch
