// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/child_process.hpp"
#include "support/loopback.hpp"

namespace weft {

/// A real etcd of one member on the loopback, with a data directory of its own that outlives a restart.
class EtcdProcess {
 public:
  EtcdProcess() { start(); }

  std::string host() const { return "127.0.0.1:" + std::to_string(client_port_); }

  void start() {
    const std::string client = "http://" + host();
    const std::string peer = "http://127.0.0.1:" + std::to_string(peer_port_);
    process_.emplace(
        std::vector<std::string>{WEFT_ETCD, "--name=weft", "--data-dir=" + folder_.path() + "/data",
                                 "--listen-client-urls=" + client, "--advertise-client-urls=" + client,
                                 "--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
                                 "--initial-cluster=weft=" + peer, "--unsafe-no-fsync", "--log-level=error"},
        folder_.path() + "/log");
  }
  void kill() { process_.reset(); }
  /// It takes connections and answers nothing, until it goes on.
  void pause() const { process_->send_signal(SIGSTOP); }
  void go_on() const { process_->send_signal(SIGCONT); }
  /// Forgets all that it knew; while it does not run.
  void lose_data() { std::filesystem::remove_all(folder_.path() + "/data"); }

 private:
  testing::TemporaryFolder folder_{"weft_etcd"};
  std::uint16_t client_port_ = testing::free_port();
  std::uint16_t peer_port_ = testing::free_port();
  std::optional<testing::ChildProcess> process_;
};

}  // namespace weft
