#include "pipeline/resolve.hpp"

#include "config/quote.hpp"
#include "config/suggest.hpp"
#include "config/usage_error.hpp"

namespace gpuhist::pipeline {
namespace {

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

}  // namespace

void unknown_name(const std::string& option, std::string_view name, const std::vector<std::string_view>& known) {
  std::string message = option + ": there is no " + config::quote(name) + "; known are " + joined(known);
  if (const auto meant = config::likely_name(name, known)) message += "; did you mean " + std::string(*meant) + "?";
  throw config::usage_error(message);
}

const report_format* resolve_report_format(const config::options& typed) {
  if (const report_format* found = find_report_format(typed.format)) return found;
  std::vector<std::string_view> known;
  for (const report_format& each : report_formats()) known.push_back(each.name);
  unknown_name(typed.where("--format"), typed.format, known);
}

std::vector<config::scheme> resolve_schemes(const config::options& typed) {
  try {
    return config::make_schemes(typed.buckets, typed.ignore_case);
  } catch (const config::usage_error& error) {
    throw config::usage_error(typed.where("--buckets") + ": " + error.what());
  }
}

writing resolve_writing(const config::options& typed, const report_format& format) {
  if (typed.append) {
    const std::string option = typed.where("--append");
    if (!typed.output) throw config::usage_error(option + ": there is no file to append to; give --output FILE");
    if (format.whole) {
      throw config::usage_error(option + ": a report of format " + std::string(format.name) +
                                " stands alone in its file; leave --append out, or take jsonl or csv");
    }
    return writing::append;
  }
  if (!typed.snapshot_every) return writing::whole;
  if (!format.whole) return writing::live;
  if (!typed.output) {
    throw config::usage_error(typed.where("--snapshot-every") + ": every snapshot of format " +
                              std::string(format.name) +
                              " replaces the one before, which a stream cannot; give --output FILE, or take jsonl");
  }
  return writing::replacing;
}

}  // namespace gpuhist::pipeline
