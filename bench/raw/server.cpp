// SPDX-License-Identifier: Apache-2.0
#include "raw/server.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <future>
#include <utility>

#include "load/cpu.hpp"

namespace weft::raw {

Result<std::unique_ptr<Server>> Server::start(const load::ServerOptions& options) {
  std::unique_ptr<Server> server{new Server};
  std::string plain_url = options.listen;
  std::shared_ptr<TlsContext> tls;
  if (strip_tls(plain_url)) {
    auto made = TlsContext::of_server(options.tls);
    if (!made.ok()) return std::move(made).status();
    tls = *std::move(made);
  }
  auto listener = listen_on(plain_url, options.congestion);
  if (!listener) return listener.status();
  server->listener_ = std::move(listener).value();
  auto url = listening_url(server->listener_, plain_url);
  if (!url) return url.status();
  server->url_ = std::move(url).value();
  if (tls != nullptr) server->url_.replace(0, 3, "tls");
  server->stop_ = Fd{eventfd(0, EFD_CLOEXEC)};
  if (Status status = server->start_workers(options, tls); !status.ok()) return status;
  server->threads_.emplace_back([raw = server.get(), cpus = options.cpus] {
    // Accepting must not disturb the other side of a measurement, so it stays on the server's processors.
    static_cast<void>(load::pin_this_thread(cpus, 0));
    raw->accept_until_stopped();
  });
  return server;
}

Status Server::start_workers(const load::ServerOptions& options, const std::shared_ptr<TlsContext>& tls) {
  for (unsigned i = 0; i < options.threads; ++i) {
    workers_.push_back(std::make_unique<Worker>(options.mode, options.nobatch, tls));
    std::promise<Status> pinned;
    auto outcome = pinned.get_future();
    threads_.emplace_back(
        [pinned = std::move(pinned), cpus = options.cpus, i, worker = workers_.back().get()]() mutable {
          Status status = load::pin_this_thread(cpus, i);
          const bool ok = status.ok();
          pinned.set_value(std::move(status));
          if (ok) worker->run();
        });
    if (Status status = outcome.get(); !status.ok()) return status;
  }
  return {};
}

Server::~Server() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(stop_.get(), &one, sizeof one);
  for (auto& worker : workers_) worker->stop();
  threads_.clear();
}

void Server::accept_until_stopped() {
  std::array<pollfd, 2> waiting{pollfd{listener_.get(), POLLIN, 0}, pollfd{stop_.get(), POLLIN, 0}};
  while ((waiting[1].revents & POLLIN) == 0) {
    if (poll(waiting.data(), waiting.size(), -1) < 0) continue;
    if ((waiting[0].revents & POLLIN) != 0) accept_waiting();
  }
}

void Server::accept_waiting() {
  for (;;) {
    auto accepted = accept_from(listener_);
    if (!accepted) {
      // Out of descriptors: without a pause poll() would report the same connection in a busy loop.
      pollfd stop{stop_.get(), POLLIN, 0};
      poll(&stop, 1, 100);
      return;
    }
    if (!*accepted) return;
    workers_[next_worker_++ % workers_.size()]->give(std::move(accepted).value());
  }
}

}  // namespace weft::raw
