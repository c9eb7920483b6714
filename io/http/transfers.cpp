#include "io/http/transfers.hpp"

#include "io/http/url.hpp"

#include <curl/curl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <new>
#include <random>
#include <string_view>
#include <system_error>
#include <utility>

namespace gpuhist::io::http {
namespace {

using namespace std::chrono_literals;

constexpr unsigned max_attempts = 12;
constexpr auto max_time_of_failures = 60s;  // from the first one of a request to the last attempt
constexpr auto first_delay = 100ms;
constexpr auto max_delay = 10s;
constexpr long max_redirects = 10;
constexpr long max_connections = 64;
constexpr long connect_seconds = 15;
constexpr long silent_seconds = 30;
constexpr std::size_t max_text = 4096;
constexpr long buffer_bytes = 256L << 10U;

constexpr long status_ok = 200;
constexpr long status_partial = 206;
constexpr long status_unauthorized = 401;
constexpr long status_forbidden = 403;
constexpr long status_missing = 404;
constexpr long status_gone = 410;
constexpr long status_changed = 412;
constexpr long status_no_such_range = 416;
constexpr long first_error = 400;

bool is_worth_repeating(long status) {
  constexpr std::array statuses = {408L, 429L, 500L, 502L, 503L, 504L};
  return std::ranges::find(statuses, status) != statuses.end();
}

// Failures of a network or server that may pass. A name or port that is wrong stays wrong.
bool is_worth_repeating(CURLcode code, bool has_answered) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
      return has_answered;
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_SSL_CONNECT_ERROR:
      return true;
    default:
      return false;
  }
}

// "Code: Message" of the XML that object stores send, if it is that.
std::string error_in(std::string_view body) {
  const auto element = [&](std::string_view name) -> std::string_view {
    const std::string begin = "<" + std::string(name) + ">";
    const std::size_t at = body.find(begin);
    const std::size_t end = at == std::string_view::npos ? at : body.find('<', at + begin.size());
    if (end == std::string_view::npos) return {};
    return body.substr(at + begin.size(), end - at - begin.size());
  };
  const std::string_view code = element("Code");
  if (code.empty()) return {};
  const std::string_view message = element("Message");
  return " (" + std::string(code) + (message.empty() ? "" : ": " + std::string(message)) + ")";
}

std::string_view remedy_of(long status) {
  switch (status) {
    case status_unauthorized:
    case status_forbidden:
      return "; the object is not public, or its signed address has expired: use a new address, or pipe the content";
    case status_missing:
    case status_gone:
      return ": there is no such object; check the address";
    default:
      return is_worth_repeating(status) ? "; try again later" : "";
  }
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct content_range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t size = 0;
};

// Of "bytes 0-4/5".
std::optional<content_range> content_range_in(std::string_view text) {
  constexpr std::string_view unit = "bytes ";
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  if (!text.starts_with(unit) || dash == std::string_view::npos || slash == std::string_view::npos || slash < dash)
    return std::nullopt;
  const auto begin = number_in(text.substr(unit.size(), dash - unit.size()));
  const auto last = number_in(text.substr(dash + 1, slash - dash - 1));
  const auto size = number_in(text.substr(slash + 1));
  if (!begin || !last || !size || *last < *begin || *last >= *size) return std::nullopt;
  return content_range{.begin = *begin, .end = *last + 1, .size = *size};
}

input_error changed(const std::string& how, std::uint64_t at) { return {"it changed while it was read: " + how, at}; }

void prepare_curl() {
  static const CURLcode result = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (result != CURLE_OK) throw input_error("libcurl cannot be used: " + std::string(curl_easy_strerror(result)), 0);
}

}  // namespace

// A weak ETag does not state that bytes are the same.
std::string object_version::condition() const {
  if (tag.starts_with('"')) return "If-Match: " + tag;
  return modified.empty() ? std::string() : "If-Unmodified-Since: " + modified;
}

transfers::transfers(std::stop_token stop) : stop_(std::move(stop)) {
  prepare_curl();
  multi_ = curl_multi_init();
  if (multi_ == nullptr) throw std::bad_alloc();
  curl_multi_setopt(multi_, CURLMOPT_MAX_TOTAL_CONNECTIONS, max_connections);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, max_connections);
  thread_ = std::jthread([this] { run(); });
}

transfers::~transfers() {
  close();
  for (void* each : idle_) curl_easy_cleanup(each);
  curl_multi_cleanup(multi_);
}

void transfers::close() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  curl_multi_wakeup(multi_);
  if (thread_.joinable()) thread_.join();
}

traffic transfers::measured() const {
  return {.objects = objects, .requests = requests_, .retries = retries_, .bytes = bytes_};
}

transfers::pointer transfers::start(transfer::wish asked) {
  auto made = std::make_shared<transfer>(std::move(asked));
  made->by_ = this;
  if (!made->asked_.in_full) {
    made->room_ = std::make_unique_for_overwrite<std::byte[]>(made->asked_.end - made->asked_.begin);
  }
  {
    const std::scoped_lock lock(mutex_);
    new_.push_back(made);
  }
  curl_multi_wakeup(multi_);
  return made;
}

void transfers::wait(transfer& of) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop_, [&] { return of.ended_ || of.streams_ || closing_; });
  if (of.streams_) return;
  if (!of.ended_) {
    const std::uint64_t at = of.asked_.begin;
    throw input_error("stopped at offset " + std::to_string(at), at, failure_kind::stopped);
  }
  if (of.error_) throw input_error(*of.error_);
}

void transfers::check_end(transfer& of, std::uint64_t position) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop_, [&] { return of.ended_ || closing_; });
  if (of.error_) throw input_error(of.error_->what(), position, of.error_->kind());
  if (!of.ended_) {
    throw input_error("stopped at offset " + std::to_string(position), position, failure_kind::stopped);
  }
}

// All that follows runs on the thread.

void transfers::run() {
  for (;;) {
    {
      const std::scoped_lock lock(mutex_);
      if (closing_) break;
    }
    try {
      take_new();
      start_due();
      int running = 0;
      curl_multi_perform(multi_, &running);
      finish_attempts();
      wait_for_traffic();
    } catch (const std::bad_alloc&) {
      const input_error error("out of memory", 0, failure_kind::out_of_memory);
      while (!delayed_.empty()) end(pointer(delayed_.back()), error);
      while (!active_.empty()) end(pointer(active_.back()), error);
    }
  }
  while (!active_.empty()) end(pointer(active_.back()), input_error("stopped", 0, failure_kind::stopped));
}

void transfers::take_new() {
  const std::scoped_lock lock(mutex_);
  delayed_.insert(delayed_.end(), new_.begin(), new_.end());
  new_.clear();
}

void transfers::start_due() {
  const auto now = clock::now();
  for (std::size_t i = 0; i < delayed_.size();) {
    const pointer each = delayed_[i];
    if (each->abandoned_) {
      end(each, input_error("abandoned", 0));
    } else if (each->due_ <= now) {
      active_.push_back(each);
      delayed_.erase(delayed_.begin() + static_cast<std::ptrdiff_t>(i));
      begin(each);
    } else {
      ++i;
    }
  }
}

void transfers::begin(const pointer& each) {
  const transfer::wish& asked = each->asked_;
  if (idle_.empty()) {
    each->easy_ = curl_easy_init();
    if (each->easy_ == nullptr) throw std::bad_alloc();
  } else {
    each->easy_ = std::exchange(idle_.back(), nullptr);
    idle_.pop_back();
  }
  CURL* const easy = each->easy_;
  if (!each->curl_text_) each->curl_text_ = std::make_unique<char[]>(CURL_ERROR_SIZE);
  each->curl_text_[0] = '\0';
  each->answer_ = {};
  ++each->attempts_;
  ++requests_;
  curl_easy_reset(easy);
  curl_easy_setopt(easy, CURLOPT_URL, asked.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PRIVATE, each.get());
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, each->curl_text_.get());
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "gpuhist");
  curl_easy_setopt(easy, CURLOPT_PROXY, "");  // nothing below `command` reads the environment
  // with HTTP/2 all requests would share one connection, and its bandwidth
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  const bool is_secure = asked.url.starts_with("https:") || asked.url.starts_with("HTTPS:");
  curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, is_secure ? "https" : "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(easy, CURLOPT_MAXREDIRS, max_redirects);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, connect_seconds);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, silent_seconds);
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, buffer_bytes);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &transfers::take_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, each.get());
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &transfers::take_bytes);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, each.get());
  if (!asked.in_full) {
    const std::string range = std::to_string(asked.begin + each->received_) + "-" + std::to_string(asked.end - 1);
    curl_easy_setopt(easy, CURLOPT_RANGE, range.c_str());
  }
  auto* headers = curl_slist_append(nullptr, "Accept-Encoding: identity");
  const object_version* const pinned = asked.version ? asked.version.get() : &each->found_;
  if (const std::string condition = pinned->condition(); headers != nullptr && !condition.empty()) {
    if (auto* const longer = curl_slist_append(headers, condition.c_str())) headers = longer;
  }
  each->headers_ = headers;
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  if (curl_multi_add_handle(multi_, easy) != CURLM_OK) throw std::bad_alloc();
}

std::size_t transfers::take_header(char* data, std::size_t one, std::size_t size, void* to) {
  try {
    auto& each = *static_cast<transfer*>(to);
    std::string_view line(data, one * size);
    if (line.starts_with("HTTP/")) each.answer_ = {};  // also after a redirect
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return size * one;
    std::string name(line.substr(0, colon));
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    line.remove_prefix(colon + 1);
    constexpr std::string_view space = " \t\r\n";
    const std::size_t first = std::min(line.find_first_not_of(space), line.size());
    const std::size_t last = line.find_last_not_of(space);
    const std::string_view value = last == std::string_view::npos ? "" : line.substr(first, last + 1 - first);
    if (name == "etag") each.answer_.tag = value;
    if (name == "last-modified") each.answer_.modified = value;
    if (name == "content-range") each.answer_.range = value;
    if (name == "retry-after") {
      if (const auto seconds = number_in(value)) {
        constexpr std::uint64_t longest = 3600;
        each.answer_.retry_after = std::chrono::seconds(std::min(*seconds, longest));
      }
    }
    return size * one;
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

std::size_t transfers::take_bytes(char* data, std::size_t one, std::size_t size, void* to) {
  try {
    auto& each = *static_cast<transfer*>(to);
    return each.by_->take(each, std::as_bytes(std::span(data, one * size)));
  } catch (const std::bad_alloc&) {
    return 0;
  } catch (const input_error& error) {
    static_cast<transfer*>(to)->refused_ = error.what();
    return 0;
  }
}

std::size_t transfers::take(transfer& from, std::span<const std::byte> bytes) {
  constexpr std::size_t refused = 0;
  if (from.abandoned_) return refused;
  curl_easy_getinfo(from.easy_, CURLINFO_RESPONSE_CODE, &from.answer_.status);
  if (from.answer_.status >= first_error) {
    const std::size_t kept = std::min(bytes.size(), max_text - std::min(max_text, from.answer_.text.size()));
    from.answer_.text.append(reinterpret_cast<const char*>(bytes.data()), kept);
    return bytes.size();
  }
  if (!from.answer_.has_content && !accept(from)) return refused;
  from.answer_.has_content = true;
  if (from.writer_) return send(from, bytes);
  const std::size_t room = from.asked_.end - from.asked_.begin - from.received_;
  if (bytes.size() > room) {
    from.refused_ = "the server sent more bytes than were asked for";
    return refused;
  }
  std::ranges::copy(bytes, from.room_.get() + from.received_);
  from.received_ += bytes.size();
  bytes_ += bytes.size();
  return bytes.size();
}

// Before the first byte of an answer.
bool transfers::accept(transfer& from) {
  if (from.answer_.status == status_partial && !from.asked_.in_full) return accept_range(from);
  const bool is_first = from.asked_.version == nullptr && from.received_ == 0;
  if (from.answer_.status != status_ok || !is_first) {
    from.refused_ = "the server answered the request for a range with HTTP status " +
                    std::to_string(from.answer_.status) + ", and earlier ones with ranges";
    return false;
  }
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    from.refused_ = "no socket for its content: " + std::system_category().message(errno);
    return false;
  }
  {
    const std::scoped_lock lock(mutex_);
    from.reader_ = descriptor(ends[0]);
    from.writer_ = descriptor(ends[1]);
    from.streams_ = true;
  }
  changed_.notify_all();
  return true;
}

bool transfers::accept_range(transfer& from) {
  const auto range = content_range_in(from.answer_.range);
  const std::uint64_t begin = from.asked_.begin + from.received_;
  if (!range || range->begin != begin || range->end > from.asked_.end) {
    from.refused_ = "the server sent another range than was asked for: '" + from.answer_.range + "'";
    return false;
  }
  const object_version now{.size = range->size, .tag = from.answer_.tag, .modified = from.answer_.modified};
  const object_version& before = from.asked_.version ? *from.asked_.version : from.found_;
  const bool has_earlier = from.asked_.version || from.received_ > 0;
  if (has_earlier && before.size != now.size) {
    from.refused_ =
        changed("it had " + std::to_string(before.size) + " bytes, and has " + std::to_string(now.size), begin).what();
  } else if (has_earlier && before.tag != now.tag) {
    from.refused_ = changed("its ETag was " + before.tag + ", and is " + now.tag, begin).what();
  } else if (has_earlier && before.tag.empty() && before.modified != now.modified) {
    from.refused_ = changed("its time was " + before.modified + ", and is " + now.modified, begin).what();
  } else {
    from.found_ = now;
  }
  return from.refused_.empty();
}

// A full socket pauses the transfer. libcurl delivers the same bytes again then.
std::size_t transfers::send(transfer& from, std::span<const std::byte> bytes) {
  if (from.sent_ahead_ >= bytes.size()) {
    from.sent_ahead_ -= bytes.size();
    return bytes.size();
  }
  std::span<const std::byte> rest = bytes.subspan(std::exchange(from.sent_ahead_, 0));
  while (!rest.empty()) {
    const ssize_t sent = ::send(from.writer_.get(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      rest = rest.subspan(static_cast<std::size_t>(sent));
      from.by_->bytes_ += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN) {
      from.sent_ahead_ = bytes.size() - rest.size();
      const auto is_this = [&](const pointer& each) { return each.get() == &from; };
      from.by_->paused_.push_back(*std::ranges::find_if(from.by_->active_, is_this));
      return CURL_WRITEFUNC_PAUSE;
    } else if (errno != EINTR) {
      return 0;  // the reader does not need the rest
    }
  }
  return bytes.size();
}

void transfers::finish_attempts() {
  int remaining = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi_, &remaining)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode result = message->data.result;  // NOLINT(cppcoreguidelines-pro-type-union-access): libcurl's message
    const auto found = std::ranges::find(active_, static_cast<void*>(message->easy_handle),
                                         [](const pointer& each) { return each->easy_; });
    if (found != active_.end()) finish(pointer(*found), result);
  }
}

void transfers::finish(const pointer& each, int result) {
  transfer& at = *each;
  const transfer::wish& asked = at.asked_;
  curl_easy_getinfo(at.easy_, CURLINFO_RESPONSE_CODE, &at.answer_.status);
  const long status = at.answer_.status;
  const bool is_empty = status == status_no_such_range && asked.version == nullptr && at.answer_.range.ends_with("*/0");
  // the server sent the headers of a stream without content
  if (result == CURLE_OK && status == status_ok && !at.writer_ && at.refused_.empty() && !accept(at))
    result = CURLE_WRITE_ERROR;
  const bool is_whole =
      at.writer_ ? true : at.received_ > 0 && asked.begin + at.received_ == std::min(asked.end, at.found_.size);
  if (result == CURLE_OK && (is_empty || (is_whole && status < first_error))) return end(each, std::nullopt);

  const std::uint64_t offset = asked.begin + at.received_;
  const bool had_answer = asked.version != nullptr || at.received_ > 0;
  if (!at.refused_.empty()) return end(each, input_error(at.refused_, offset));
  if (status == status_changed || (status == status_no_such_range && had_answer)) {
    return end(each, changed("the server has another version of it now", offset));
  }
  const auto now = clock::now();
  if (!at.first_failure_) at.first_failure_ = now;
  const bool may_help = result == CURLE_OK ? is_worth_repeating(status) || status == status_partial
                                           : is_worth_repeating(static_cast<CURLcode>(result), had_answer);
  static thread_local std::minstd_rand random(std::random_device{}());
  const auto doubled = std::min<clock::duration>(max_delay, first_delay * (1U << std::min(at.attempts_ - 1, 10U)));
  clock::duration delay =
      doubled / 2 + clock::duration(std::uniform_int_distribution<clock::rep>(0, doubled.count())(random));
  if (at.answer_.retry_after) delay = std::max<clock::duration>(delay, *at.answer_.retry_after);
  const bool is_in_time = now + delay - *at.first_failure_ < max_time_of_failures;
  if (!may_help || at.writer_ || at.attempts_ >= max_attempts || !is_in_time || at.abandoned_) {
    return end(each, input_error(cause_of(at, result), offset));
  }
  ++retries_;
  at.due_ = now + delay;
  delayed_.push_back(each);
  release(at);
}

std::string transfers::cause_of(const transfer& each, int result) {
  std::string text;
  if (result == CURLE_OK) {
    text = "the server answered with HTTP status " + std::to_string(each.answer_.status) + error_in(each.answer_.text) +
           std::string(remedy_of(each.answer_.status));
  } else {
    const std::string_view detail = each.curl_text_.get();
    text = "the transfer failed: " +
           (detail.empty() ? std::string(curl_easy_strerror(static_cast<CURLcode>(result))) : std::string(detail));
    if (result == CURLE_PEER_FAILED_VERIFICATION) {
      text += "; if its authority is trusted, add the certificate to those of the system (update-ca-certificates)";
    }
  }
  if (each.attempts_ > 1) text += " (" + std::to_string(each.attempts_) + " attempts)";
  return text;
}

// No one reads the transfer on this thread after that.
void transfers::end(const pointer& each, std::optional<input_error> error) {
  release(*each);
  std::erase(delayed_, each);
  {
    const std::scoped_lock lock(mutex_);
    each->error_ = std::move(error);
    each->ended_ = true;
    each->writer_ = {};
  }
  changed_.notify_all();
}

// Of what libcurl uses for an attempt.
void transfers::release(transfer& each) noexcept {
  std::erase_if(paused_, [&](const pointer& other) { return other.get() == &each; });
  if (each.easy_ != nullptr) {
    curl_multi_remove_handle(multi_, each.easy_);
    curl_easy_cleanup(std::exchange(each.easy_, nullptr));
    curl_slist_free_all(static_cast<curl_slist*>(std::exchange(each.headers_, nullptr)));
  }
  std::erase_if(active_, [&](const pointer& other) { return other.get() == &each; });
}

// Also for the room in sockets of streams, and for the time of the next attempt.
void transfers::wait_for_traffic() {
  constexpr auto longest = 1000ms;
  auto timeout = longest;
  const auto now = clock::now();
  for (const pointer& each : delayed_) {
    timeout = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(each->due_ - now), 0ms, timeout);
  }
  std::vector<curl_waitfd> sockets;
  for (const pointer& each : paused_) {
    sockets.push_back({.fd = each->writer_.get(), .events = CURL_WAIT_POLLOUT, .revents = 0});
  }
  curl_multi_poll(multi_, sockets.data(), static_cast<unsigned>(sockets.size()), static_cast<int>(timeout.count()),
                  nullptr);
  std::vector<pointer> resumed;
  for (std::size_t i = sockets.size(); i-- > 0;) {
    if (sockets[i].revents == 0) continue;
    resumed.push_back(paused_[i]);
    paused_.erase(paused_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (const pointer& each : resumed) curl_easy_pause(each->easy_, CURLPAUSE_CONT);
}

}  // namespace gpuhist::io::http
