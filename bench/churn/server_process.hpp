// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

namespace weft::churn {

/// A server in a process of its own: this very program, started again with "--serve" and a URL. It ends with
/// the thread that started it. Thread: one at a time.
class ServerProcess {
 public:
  ServerProcess() = default;
  /// Kills it if it runs.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  /// Starts a process and blocks until it listens: where the one before did, or for the first time on a port
  /// that the system chooses. False when it does not come up.
  bool blocking_start();
  /// Ends it at once, as a crash does.
  void kill();
  /// Lets it leave: it tells its peers, finishes its calls and ends. Blocks until it has.
  void blocking_leave();

  /// Returns where it listens; empty before the first start.
  const std::string& url() const { return url_; }

 private:
  void blocking_reap();

  std::string url_;
  pid_t process_ = 0;
};

/// Serves `url` until SIGTERM comes: the whole of a ServerProcess's program. Prints the URL as a line when it
/// listens. Returns the status for the process to end with.
int blocking_serve(const std::string& url);

}  // namespace weft::churn
