// SPDX-License-Identifier: Apache-2.0
#include "churn/server_process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <weft/weft.hpp>

#include "churn/churn_load.hpp"
#include "load/stop_signal.hpp"

extern char** environ;

namespace weft::churn {

namespace {

/// Reads a line of a pipe, which ends with the process at its other end.
std::string blocking_read_line(int from) {
  std::string line;
  char byte = 0;
  while (true) {
    const ssize_t got = ::read(from, &byte, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || byte == '\n') return line;
    line += byte;
  }
}

}  // namespace

ServerProcess::~ServerProcess() {
  kill();
}

bool ServerProcess::blocking_start() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string program = "/proc/self/exe";
  std::string serve = "--serve";
  std::string url = url_.empty() ? "tcp://127.0.0.1:0" : url_;
  char* arguments[] = {program.data(), serve.data(), url.data(), nullptr};
  const int failed = ::posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (failed == 0) url_ = blocking_read_line(ends[0]);
  ::close(ends[0]);
  if (failed != 0) process_ = 0;
  return process_ != 0 && !url_.empty();
}

void ServerProcess::kill() {
  if (process_ == 0) return;
  ::kill(process_, SIGKILL);
  blocking_reap();
}

void ServerProcess::blocking_leave() {
  if (process_ == 0) return;
  ::kill(process_, SIGTERM);
  blocking_reap();
}

void ServerProcess::blocking_reap() {
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = 0;
}

int blocking_serve(const std::string& url) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  load::StopSignal stop;
  // Sixteen of them share a machine with their client: who spins would take it from the others.
  Server server{{.listen = {url}, .loop_options = {.mode = WaitMode::kWait}}};
  server.register_handler<twice>();
  if (auto started = server.start(); !started.ok()) {
    std::fprintf(stderr, "%s\n", started.status().to_string().c_str());
    return 1;
  }
  std::printf("%s\n", server.urls().front().c_str());
  std::fflush(stdout);
  stop.blocking_wait();
  server.stop();
  server.wait();
  return 0;
}

}  // namespace weft::churn
