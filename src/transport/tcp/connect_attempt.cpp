// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/connect_attempt.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <new>
#include <utility>

namespace weft::detail::tcp {

namespace {

constexpr FixedFailure kNoMemoryToConnect{StatusCode::kResourceExhausted, Layer::kTransport, Retry::kBackoff,
                                          "out of memory for an attempt to connect"};

Status bind_to(const Socket& socket, int family, const std::string& local_address) {
  if (local_address.empty() || family == AF_UNIX) return {};
  auto address = parse_local_address(local_address);
  if (!address) return std::move(address).status();
  if (address->family() != family) {
    return {StatusCode::kInvalidArgument, Layer::kTransport,
            [&] { return "the local address " + local_address + " is of another family than the peer's"; }};
  }
  if (::bind(socket.fd(), address->get(), address->length) == 0) return {};
  const int error = errno;
  return errno_status(Layer::kTransport, "bind", error).with_context(local_address);
}

// The peer's answer, if there is one: reports may be spurious.
bool has_answer(int fd, int& error) {
  socklen_t length = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error != 0) return true;
  sockaddr_storage peer{};
  socklen_t peer_length = sizeof peer;
  return ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_length) == 0;
}

}  // namespace

void ConnectAttempt::begin(const TcpOptions& options, const std::string& local_address) noexcept {
  try {
    Status failed = connect(options, local_address);
    if (!failed.ok()) fail(std::move(failed));
  } catch (const std::bad_alloc&) {
    fail(Status::of<kNoMemoryToConnect>());
  }
}

Status ConnectAttempt::connect(const TcpOptions& options, const std::string& local_address) {
  auto socket = open_socket(address_.family());
  if (!socket) return std::move(socket).status();
  socket_ = *std::move(socket);
  Status status = apply(options, socket_.fd(), address_.family());
  if (status.ok()) status = bind_to(socket_, address_.family(), local_address);
  if (!status.ok()) return status;
  if (::connect(socket_.fd(), address_.get(), address_.length) == 0) {
    state_ = State::kConnected;
    return {};
  }
  if (errno != EINPROGRESS) return errno_status(Layer::kTransport, "connect", errno);
  state_ = State::kUnderWay;
  return loop_.watch(*this, socket_.fd()).status();
}

void ConnectAttempt::on_ready(Readiness) {
  int error = 0;
  if (!has_answer(socket_.fd(), error)) return;
  if (error == 0) {
    state_ = State::kConnected;
  } else {
    fail(errno_status(Layer::kTransport, "connect", error));
  }
  owner_.on_attempt_ended(*this);
}

void ConnectAttempt::fail(Status why) {
  close();
  state_ = State::kFailed;
  failure_ = std::move(why);
}

void ConnectAttempt::close() {
  loop_.unwatch(*this);
  socket_.close();
}

Socket ConnectAttempt::take_socket() {
  loop_.unwatch(*this);
  return std::move(socket_);
}

}  // namespace weft::detail::tcp
