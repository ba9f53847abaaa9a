// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/connect_wait.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace weft::tcp {

namespace {

Status too_late() {
  return {StatusCode::kDeadlineExceeded, Layer::kTransport, "the peer did not answer in time"};
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

bool ConnectWait::begin(CancelScope* scope) {
  if (scope != nullptr && scope->cancelled()) {
    outcome_ = to_status(scope->reason());
    return false;
  }
  if (deadline_.expired(loop_.now())) {
    outcome_ = too_late();
    return false;
  }
  Result<void> watched = loop_.watch(*this, fd_);
  if (!watched) {
    outcome_ = std::move(watched).status();
    return false;
  }
  if (!deadline_.is_infinite()) loop_.arm(*this, deadline_.at());
  if (scope != nullptr) scope->add(*this);
  return true;
}

void ConnectWait::on_ready(Readiness) {
  int error = 0;
  if (!has_answer(fd_, error)) return;
  answered_ = true;
  end(error == 0 ? Status{} : errno_status(Layer::kTransport, "connect", error));
}

void ConnectWait::on_timer() {
  end(too_late());
}

void ConnectWait::on_cancel(CancelReason reason) noexcept {
  end(to_status(reason));
}

void ConnectWait::end(Status outcome) {
  if (resumption_.is_scheduled()) return;
  outcome_ = std::move(outcome);
  loop_.unwatch(*this);
  loop_.disarm(*this);
  stop_listening();
  loop_.schedule(resumption_);
}

}  // namespace weft::tcp
