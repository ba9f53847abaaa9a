// SPDX-License-Identifier: Apache-2.0
#include "stats/pages.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "load/token.hpp"
#include "weft/detail/transport/url.hpp"

namespace weft::stats {

namespace {

constexpr std::size_t kPageBytesMax = std::size_t{64} << 20;
constexpr const char* kPages[] = {"health", "methods", "connections", "loops", "memory"};

constexpr FixedFailure kOtherUrl{StatusCode::kInvalidArgument, Layer::kUser, Retry::kNever,
                                 "the pages of a server are read over tcp://, tls:// or unix://"};
constexpr FixedFailure kNoHttp{
    StatusCode::kUnimplemented, Layer::kRpc, Retry::kNever,
    "the server does not speak HTTP: give its ServerOptions::protocols weft::http()"};
constexpr FixedFailure kNoPages{
    StatusCode::kUnimplemented, Layer::kRpc, Retry::kNever,
    "the server shows no pages on this connection: see HttpOptions::pages, which shows them to its own host"};

std::size_t take(char* bytes, std::size_t, std::size_t count, void* into) {
  std::string& body = *static_cast<std::string*>(into);
  if (body.size() + count > kPageBytesMax) return 0;
  body.append(bytes, count);
  return count;
}

/// The parts of a URL of Weft's for libcurl.
struct Target {
  std::string base;
  std::string socket_path;
};

Result<Target> target_of(const std::string& text) {
  const Result<detail::Url> url = detail::Url::parse(text);
  if (!url.ok()) return url.status();
  if (url->scheme == "unix") return Target{"http://localhost", url->host};
  if (url->scheme != "tcp" && url->scheme != "tls") return Status::of<kOtherUrl>();
  const bool is_v6 = url->host.find(':') != std::string::npos;
  const std::string host = is_v6 ? "[" + url->host + "]" : url->host;
  return Target{(url->scheme == "tls" ? "https://" : "http://") + host + ":" + std::to_string(url->port), {}};
}

/// Returns the failure that a server has answered with `http_status`.
Status refusal(long http_status, const std::string& body) {
  if (http_status == 404) return Status::of<kNoPages>();
  const auto json = nlohmann::json::parse(body, nullptr, false);
  const std::string text = json.is_object() ? json.value("message", "") : "";
  const StatusCode code = http_status == 401   ? StatusCode::kUnauthenticated
                          : http_status == 403 ? StatusCode::kPermissionDenied
                          : http_status == 429 ? StatusCode::kResourceExhausted
                                               : StatusCode::kUnavailable;
  return {code, Layer::kRpc,
          text.empty() ? "the server answered with HTTP " + std::to_string(http_status) : text};
}

Status failure_of(CURLcode code, const char* text) {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_GOT_NOTHING:
      return Status::of<kNoHttp>();
    case CURLE_OPERATION_TIMEDOUT:
      return {StatusCode::kDeadlineExceeded, Layer::kTransport, "no answer within --timeout"};
    case CURLE_WRITE_ERROR:
      return {StatusCode::kResourceExhausted, Layer::kUser, "a page has more than 64 MiB"};
    case CURLE_PEER_FAILED_VERIFICATION:
      return {StatusCode::kUnauthenticated, Layer::kTransport, text};
    default:
      return {StatusCode::kUnavailable, Layer::kTransport, *text != '\0' ? text : curl_easy_strerror(code)};
  }
}

/// One connection to a server.
class PageReader {
 public:
  PageReader(const Options& options, Target target, const std::string& token)
      : target_(std::move(target)), curl_(curl_easy_init(), &curl_easy_cleanup) {
    if (curl_ == nullptr) return;
    const auto milliseconds = static_cast<long>(options.seconds * 1000);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_TIMEOUT_MS, milliseconds);
    set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds);
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_PROXY, "");
    set(CURLOPT_WRITEFUNCTION, &take);
    set(CURLOPT_ERRORBUFFER, error_);
    if (!target_.socket_path.empty()) set(CURLOPT_UNIX_SOCKET_PATH, target_.socket_path.c_str());
    if (!options.tls.ca.empty()) set(CURLOPT_CAINFO, options.tls.ca.c_str());
    if (!options.tls.cert.empty()) set(CURLOPT_SSLCERT, options.tls.cert.c_str());
    if (!options.tls.key.empty()) set(CURLOPT_SSLKEY, options.tls.key.c_str());
    if (options.tls.insecure) {
      set(CURLOPT_SSL_VERIFYPEER, 0L);
      set(CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (token.empty()) return;
    headers_.reset(curl_slist_append(nullptr, ("Authorization: Bearer " + token).c_str()));
    set(CURLOPT_HTTPHEADER, headers_.get());
  }

  Result<std::string> read(const std::string& page) {
    if (curl_ == nullptr)
      return Status{StatusCode::kResourceExhausted, Layer::kUser, "libcurl has no memory"};
    std::string body;
    const std::string url = target_.base + "/" + page;
    set(CURLOPT_URL, url.c_str());
    set(CURLOPT_WRITEDATA, &body);
    error_[0] = '\0';
    if (const CURLcode code = curl_easy_perform(curl_.get()); code != CURLE_OK)
      return failure_of(code, error_);
    long status = 0;
    curl_easy_getinfo(curl_.get(), CURLINFO_RESPONSE_CODE, &status);
    // A server that stops answers its health with 503.
    if (status != 200 && !(page == "health" && status == 503)) return refusal(status, body);
    while (body.ends_with('\n')) body.pop_back();
    return body;
  }

 private:
  template <typename Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(curl_.get(), option, value);
  }

  const Target target_;
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers_{nullptr, &curl_slist_free_all};
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_;
  char error_[CURL_ERROR_SIZE] = "";
};

}  // namespace

Result<Pages> blocking_pages(const Options& options) {
  Result<Target> target = target_of(options.url);
  if (!target.ok()) return target.status();
  const Result<std::string> token = load::token_text(options.token, options.url);
  if (!token.ok()) return token.status();
  PageReader reader{options, *std::move(target), *token};
  Pages pages;
  for (const char* const name : kPages) {
    Result<std::string> page = reader.read(name);
    if (!page.ok()) return page.status();
    pages[name] = *std::move(page);
  }
  return pages;
}

}  // namespace weft::stats
