// SPDX-License-Identifier: Apache-2.0
#include "naming/http_client.hpp"

#include <algorithm>
#include <utility>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/peer_text.hpp"

namespace weft::detail {

namespace {

long milliseconds(Duration duration) {
  return static_cast<long>(
      std::max<Duration::rep>(1, std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()));
}

}  // namespace

HttpClient::HttpClient(Loop& loop)
    : loop_(loop), multi_(curl_multi_init()), sockets_(loop, [this](int fd, bool readable, bool writable) {
        act(fd, (readable ? CURL_CSELECT_IN : 0) | (writable ? CURL_CSELECT_OUT : 0));
      }) {
  WEFT_ASSERT(multi_ != nullptr, "curl_multi_init() fails only without memory");
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &HttpClient::on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &HttpClient::on_timeout);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

HttpClient::~HttpClient() {
  curl_multi_cleanup(multi_);
}

int HttpClient::on_socket(CURL*, curl_socket_t fd, int wanted, void* self, void*) {
  const bool read = wanted == CURL_POLL_IN || wanted == CURL_POLL_INOUT;
  const bool write = wanted == CURL_POLL_OUT || wanted == CURL_POLL_INOUT;
  static_cast<HttpClient*>(self)->sockets_.set(fd, read, write);
  return 0;
}

int HttpClient::on_timeout(CURLM*, long milliseconds, void* self) {
  auto& client = *static_cast<HttpClient*>(self);
  if (milliseconds < 0) {
    client.loop_.disarm(client);
  } else {
    client.loop_.arm(client, client.loop_.now() + std::chrono::milliseconds{milliseconds});
  }
  return 0;
}

void HttpClient::on_timer() {
  act(CURL_SOCKET_TIMEOUT, 0);
}

void HttpClient::act(curl_socket_t fd, int events) {
  int running = 0;
  curl_multi_socket_action(multi_, fd, events, &running);
  int left = 0;
  while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    char* request = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &request);
    reinterpret_cast<HttpRequest*>(request)->end(message->data.result);
  }
}

Task<Result<std::string>> HttpClient::post(std::string url, std::string body, std::size_t bytes_max,
                                           Duration timeout) {
  HttpRequest request{*this, std::move(url), std::move(body), bytes_max, timeout};
  std::string answer;
  while (!request.done()) {
    auto waited = co_await request.more();
    if (!waited.ok()) co_return std::move(waited).status();
    answer += request.take();
    if (answer.size() > bytes_max) {
      co_return Status{
          StatusCode::kResourceExhausted, Layer::kRuntime,
          "the answer of etcd is larger than the limits allow; raise NameOptions if that is right"};
    }
  }
  if (!request.outcome().ok()) co_return request.outcome();
  co_return answer;
}

HttpRequest::HttpRequest(HttpClient& client, std::string url, std::string body, std::size_t bytes_max,
                         Duration timeout)
    : client_(client),
      easy_(curl_easy_init()),
      url_(std::move(url)),
      body_(std::move(body)),
      bytes_max_(bytes_max) {
  WEFT_ASSERT(easy_ != nullptr, "curl_easy_init() fails only without memory");
  headers_ = curl_slist_append(nullptr, "Content-Type: application/json");
  // Else curl waits for a second when the body is long.
  headers_ = curl_slist_append(headers_, "Expect:");
  curl_easy_setopt(easy_, CURLOPT_URL, url_.c_str());
  curl_easy_setopt(easy_, CURLOPT_POSTFIELDS, body_.c_str());
  curl_easy_setopt(easy_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body_.size()));
  curl_easy_setopt(easy_, CURLOPT_HTTPHEADER, headers_);
  curl_easy_setopt(easy_, CURLOPT_WRITEFUNCTION, &HttpRequest::on_bytes);
  curl_easy_setopt(easy_, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy_, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy_, CURLOPT_PROXY, "");
  curl_easy_setopt(easy_, CURLOPT_PROTOCOLS_STR, "http");
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPIDLE, 10L);
  curl_easy_setopt(easy_, CURLOPT_TCP_KEEPINTVL, 5L);
  // A name that is still being resolved would hold up the end of this.
  curl_easy_setopt(easy_, CURLOPT_QUICK_EXIT, 1L);
  if (timeout == kNoTimeout) {
    curl_easy_setopt(easy_, CURLOPT_CONNECTTIMEOUT_MS, 5000L);
  } else {
    curl_easy_setopt(easy_, CURLOPT_TIMEOUT_MS, milliseconds(timeout));
  }
  curl_multi_add_handle(client_.multi_, easy_);
}

HttpRequest::~HttpRequest() {
  curl_multi_remove_handle(client_.multi_, easy_);
  curl_easy_cleanup(easy_);
  curl_slist_free_all(headers_);
}

std::size_t HttpRequest::on_bytes(char* bytes, std::size_t size, std::size_t count, void* self) {
  auto& request = *static_cast<HttpRequest*>(self);
  if (size * count > request.bytes_max_ - request.arrived_.size()) {
    request.too_large_ = true;
    return 0;
  }
  request.arrived_.append(bytes, size * count);
  request.event_.set();
  return size * count;
}

void HttpRequest::end(CURLcode code) {
  long answer = 0;
  curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &answer);
  if (too_large_) {
    outcome_ = {StatusCode::kResourceExhausted, Layer::kRuntime,
                url_ + " answers with more than the limits allow; raise NameOptions if that is right"};
  } else if (code != CURLE_OK) {
    outcome_ = {StatusCode::kUnavailable, Layer::kRuntime,
                url_ + " does not answer: " + curl_easy_strerror(code) + "; see that etcd runs there",
                static_cast<std::int32_t>(code)};
  } else if (answer != 200) {
    outcome_ = {StatusCode::kUnavailable, Layer::kRuntime,
                url_ + " answers HTTP " + std::to_string(answer) + ": " + peer_text(arrived_, 200),
                static_cast<std::int32_t>(answer)};
  }
  done_ = true;
  event_.set();
}

Task<Result<void>> HttpRequest::more() {
  co_return co_await event_.wait();
}

std::string HttpRequest::take() {
  if (!done_) event_.reset();
  return std::exchange(arrived_, {});
}

}  // namespace weft::detail
