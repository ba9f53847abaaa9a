// SPDX-License-Identifier: Apache-2.0
#include "raw/http_server.hpp"

#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <future>
#include <string_view>
#include <utility>

#include "load/cpu.hpp"

namespace weft::raw {

namespace {

constexpr std::string_view kHead = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ";
constexpr std::string_view kEndOfHead = "\r\n\r\n";

/// Returns the Content-Length of the request with this head; 0 if it has none.
std::size_t body_bytes(std::string_view head) {
  constexpr std::string_view kName = "content-length:";
  for (std::size_t line = head.find('\n'); line != head.npos; line = head.find('\n', line)) {
    ++line;
    if (head.size() - line < kName.size() || strncasecmp(head.data() + line, kName.data(), kName.size()) != 0)
      continue;
    std::size_t at = line + kName.size();
    while (at < head.size() && head[at] == ' ') ++at;
    std::size_t bytes = 0;
    std::from_chars(head.data() + at, head.data() + head.size(), bytes);
    return bytes;
  }
  return 0;
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(const load::ServerOptions& options) {
  if (options.threads != 1) {
    return Status{StatusCode::kInvalidArgument, Layer::kUser, "--http has one thread: leave --threads out"};
  }
  if (options.listen.starts_with("tls://")) {
    return Status{StatusCode::kInvalidArgument, Layer::kUser, "--http has no TLS: listen on a tcp:// URL"};
  }
  auto listener = listen_on(options.listen, options.congestion);
  if (!listener) return listener.status();
  std::unique_ptr<HttpServer> server{new HttpServer{options, std::move(listener).value()}};
  auto url = listening_url(server->listener_, options.listen);
  if (!url) return url.status();
  server->url_ = std::move(url).value();
  std::promise<Status> pinned;
  auto outcome = pinned.get_future();
  server->thread_ = std::jthread{[&pinned, cpus = options.cpus, raw = server.get()] {
    Status status = load::pin_this_thread(cpus, 0);
    const bool ok = status.ok();
    pinned.set_value(std::move(status));
    if (ok) raw->run();
  }};
  if (Status status = outcome.get(); !status.ok()) return status;
  return server;
}

HttpServer::HttpServer(const load::ServerOptions& options, Fd listener)
    : poller_(options.mode), listener_(std::move(listener)), stop_(eventfd(0, EFD_CLOEXEC)) {
  poller_.add(listener_.get(), EPOLLIN, &listener_);
  poller_.add(stop_.get(), EPOLLIN, &stop_);
}

HttpServer::~HttpServer() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(stop_.get(), &one, sizeof one);
}

void HttpServer::run() {
  for (;;) {
    for (const epoll_event& event : poller_.wait()) {
      if (event.data.ptr == &stop_) return;
      if (event.data.ptr == &listener_) {
        accept_waiting();
        continue;
      }
      auto* const connection = static_cast<Connection*>(event.data.ptr);
      if (serve(*connection)) continue;
      poller_.remove(connection->fd.get());
      delete connection;
    }
  }
}

// Only the poller refers to the connections. The process closes the connections that are open at its end.
void HttpServer::accept_waiting() {
  for (;;) {
    auto accepted = accept_from(listener_);
    if (!accepted || !*accepted) return;
    auto* const connection = new Connection{std::move(accepted).value()};
    poller_.add(connection->fd.get(), EPOLLIN, connection);
  }
}

bool HttpServer::serve(Connection& connection) {
  std::array<char, 65'536> bytes;
  const ssize_t got = recv(connection.fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got == 0 || (got < 0 && errno != EAGAIN)) return false;
  if (got > 0) connection.received.append(bytes.data(), static_cast<std::size_t>(got));
  answer_requests(connection);
  return send_queued(connection);
}

void HttpServer::answer_requests(Connection& connection) {
  std::string_view left = connection.received;
  for (;;) {
    const std::size_t end = left.find(kEndOfHead);
    if (end == left.npos) break;
    const std::size_t body_at = end + kEndOfHead.size();
    const std::size_t bytes = body_bytes(left.substr(0, end));
    if (left.size() - body_at < bytes) break;
    connection.queued.append(kHead).append(std::to_string(bytes)).append(kEndOfHead);
    connection.queued.append(left.substr(body_at, bytes));
    left.remove_prefix(body_at + bytes);
  }
  connection.received.erase(0, connection.received.size() - left.size());
}

bool HttpServer::send_queued(Connection& connection) {
  if (!connection.queued.empty()) {
    const ssize_t sent = send(connection.fd.get(), connection.queued.data(), connection.queued.size(),
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent > 0) connection.queued.erase(0, static_cast<std::size_t>(sent));
  }
  const bool waits = !connection.queued.empty();
  if (waits != connection.waits_for_room) {
    connection.waits_for_room = waits;
    poller_.modify(connection.fd.get(), waits ? EPOLLIN | EPOLLOUT : EPOLLIN, &connection);
  }
  return true;
}

}  // namespace weft::raw
