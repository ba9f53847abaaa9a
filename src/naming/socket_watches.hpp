// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>

#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/runtime/fd_watch.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail {

/// Watches the sockets of a library that expects to be told again and again that a socket is ready, on a loop
/// that tells it once. Thread: its loop's.
class SocketWatches final : private Timer {
 public:
  using OnReady = UniqueFunction<void(int fd, bool readable, bool writable)>;

  /// `on_ready` may call set().
  SocketWatches(Loop& loop, OnReady on_ready) : loop_(loop), on_ready_(std::move(on_ready)) {}
  ~SocketWatches() = default;

  /// Sets the events to watch on `fd`; without any the watch ends, which must happen before `fd` is closed.
  void set(int fd, bool want_read, bool want_write);

 private:
  struct Watched final : FdWatch {
    Watched(SocketWatches& all, int descriptor) : owner(all), fd(descriptor) {}
    ~Watched() {
      if (watched()) owner.loop_.unwatch(*this);
    }
    void on_ready(Readiness) override { owner.serve(fd); }
    SocketWatches& owner;
    const int fd;
    short events = 0;
  };

  void on_timer() override;
  void serve(int fd);

  Loop& loop_;
  OnReady on_ready_;
  std::map<int, std::unique_ptr<Watched>> watched_;
};

}  // namespace weft::detail
