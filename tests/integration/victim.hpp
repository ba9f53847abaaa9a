// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

namespace weft::carrier_testing {

/// Another process, which runs a victim_main.cpp: a server or a client to be killed. The first line it prints
/// says that it is ready, with its URL if it is a server.
class Victim {
 public:
  Victim(const char* program, std::vector<std::string> arguments) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    arguments.insert(arguments.begin(), program);
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    if (::posix_spawn(&pid_, words[0], &actions, nullptr, words.data(), environ) != 0) pid_ = -1;
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    from_it_ = ends[0];
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  ~Victim() {
    kill();
    if (from_it_ >= 0) ::close(from_it_);
  }

  /// Blocks until it printed a line. Empty when it ended instead.
  std::string read_line() {
    std::string line;
    char letter = 0;
    while (from_it_ >= 0 && ::read(from_it_, &letter, 1) == 1 && letter != '\n') line += letter;
    return line;
  }
  /// Waits until it has ended by itself. Whether somebody killed it.
  bool was_killed() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }
  /// It is gone when this returns.
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  void stop() {
    ::kill(pid_, SIGSTOP);
    int status = 0;
    ::waitpid(pid_, &status, WUNTRACED);
  }
  void go_on() { ::kill(pid_, SIGCONT); }

 private:
  pid_t pid_ = -1;
  int from_it_ = -1;
};

}  // namespace weft::carrier_testing
