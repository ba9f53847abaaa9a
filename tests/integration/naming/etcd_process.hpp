// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "weft/detail/base/descriptor.hpp"

extern char** environ;

namespace weft {

/// A port of the loopback that nobody listens on. Another program may take it before it is used.
inline std::uint16_t free_port() {
  const detail::Descriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

/// A real etcd of one member on the loopback, with a data directory of its own that outlives a restart.
class EtcdProcess {
 public:
  EtcdProcess() {
    std::string made = (std::filesystem::temp_directory_path() / "weft_etcd_XXXXXX").string();
    folder_ = ::mkdtemp(made.data());
    start();
  }
  ~EtcdProcess() {
    kill();
    std::filesystem::remove_all(folder_);
  }

  std::string host() const { return "127.0.0.1:" + std::to_string(client_port_); }

  void start() {
    const std::string client = "http://" + host();
    const std::string peer = "http://127.0.0.1:" + std::to_string(peer_port_);
    // It ends with this test program, however that ends.
    const std::vector<std::string> words{"setpriv",
                                         "--pdeathsig",
                                         "KILL",
                                         WEFT_ETCD,
                                         "--name=weft",
                                         "--data-dir=" + folder_ + "/data",
                                         "--listen-client-urls=" + client,
                                         "--advertise-client-urls=" + client,
                                         "--listen-peer-urls=" + peer,
                                         "--initial-advertise-peer-urls=" + peer,
                                         "--initial-cluster=weft=" + peer,
                                         "--unsafe-no-fsync",
                                         "--log-level=error"};
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    const std::string log = folder_ + "/log";
    posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    if (::posix_spawnp(&process_, "setpriv", &actions, nullptr, arguments.data(), environ) != 0)
      process_ = -1;
    posix_spawn_file_actions_destroy(&actions);
  }
  void kill() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }
  /// It takes connections and answers nothing, until it goes on.
  void pause() const { ::kill(process_, SIGSTOP); }
  void go_on() const { ::kill(process_, SIGCONT); }
  /// Forgets all that it knew; while it does not run.
  void lose_data() { std::filesystem::remove_all(folder_ + "/data"); }

 private:
  std::string folder_;
  std::uint16_t client_port_ = free_port();
  std::uint16_t peer_port_ = free_port();
  pid_t process_ = -1;
};

}  // namespace weft
