// SPDX-License-Identifier: Apache-2.0
#include "raw/worker.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <utility>

#include "weft/detail/base/assert.hpp"

namespace weft::raw {

Worker::Worker(load::LoopMode mode, bool nobatch, std::shared_ptr<TlsContext> tls)
    : nobatch_(nobatch), tls_(std::move(tls)), poller_(mode), wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  WEFT_ASSERT(static_cast<bool>(wake_), "the process has no file descriptors left");
  poller_.add(wake_.get(), EPOLLIN, nullptr);
}

void Worker::give(Fd connection) {
  {
    const std::lock_guard lock{given_mutex_};
    given_.push_back(std::move(connection));
  }
  wake();
}

void Worker::stop() {
  stopping_ = true;
  wake();
}

void Worker::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_.get(), &one, sizeof one);
}

void Worker::run() {
  while (!stopping_) {
    for (const epoll_event& event : poller_.wait()) {
      if (event.data.ptr == nullptr) {
        adopt_given();
      } else {
        serve(*static_cast<Connection*>(event.data.ptr), event.events);
      }
    }
  }
}

void Worker::adopt_given() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = read(wake_.get(), &count, sizeof count);
  std::vector<Fd> given;
  {
    const std::lock_guard lock{given_mutex_};
    given.swap(given_);
  }
  for (Fd& fd : given) {
    auto connection = std::make_unique<Connection>(std::move(fd));
    if (tls_ != nullptr && !connection->wire.accept_tls(*tls_).ok()) continue;
    connection->interest = EPOLLIN;
    connection->place = connections_.size();
    poller_.add(connection->wire.fd(), connection->interest, connection.get());
    connections_.push_back(std::move(connection));
  }
}

void Worker::serve(Connection& connection, std::uint32_t events) {
  if (advance(connection, events)) {
    update_interest(connection);
  } else {
    drop(connection);
  }
}

bool Worker::advance(Connection& connection, std::uint32_t events) {
  Wire& wire = connection.wire;
  if (!connection.exchange) {
    if (!read_hello(connection)) return false;
    if (!connection.exchange || !wire.has_more()) return true;
  }
  Exchange& exchange = *connection.exchange;
  if ((events & EPOLLOUT) != 0 && !exchange.on_writable(wire)) return false;
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0 && !wire.has_more()) return true;
  do {
    if (!exchange.on_readable(wire, scratch_)) return false;
  } while (wire.has_more() && exchange.wants_read());
  return true;
}

bool Worker::read_hello(Connection& connection) {
  const ssize_t got = connection.wire.receive(connection.hello.data() + connection.hello_have,
                                              kHelloBytes - connection.hello_have);
  if (got <= 0) return got == 0;
  connection.hello_have += static_cast<std::size_t>(got);
  if (connection.hello_have < kHelloBytes) return true;
  const auto hello = decode_hello(connection.hello);
  if (!hello) return false;
  connection.exchange = make_exchange(*hello, nobatch_);
  return true;
}

void Worker::update_interest(Connection& connection) {
  if (!connection.exchange) return;
  const std::uint32_t wanted = (connection.exchange->wants_read() ? std::uint32_t{EPOLLIN} : 0U) |
                               (connection.exchange->wants_write() ? std::uint32_t{EPOLLOUT} : 0U);
  if (wanted == connection.interest) return;
  connection.interest = wanted;
  poller_.modify(connection.wire.fd(), wanted, &connection);
}

void Worker::drop(Connection& connection) {
  const std::size_t place = connection.place;
  connections_.back()->place = place;
  std::swap(connections_[place], connections_.back());
  connections_.pop_back();
}

}  // namespace weft::raw
