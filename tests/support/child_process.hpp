// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

extern char** environ;

namespace weft::testing {

/// A folder for files of a test, removed with everything in it.
class TemporaryFolder {
 public:
  /// `name`: beginning of the folder's name.
  explicit TemporaryFolder(std::string_view name) {
    std::string made = (std::filesystem::temp_directory_path() / name).string() + "_XXXXXX";
    if (::mkdtemp(made.data()) != nullptr) path_ = made;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  const std::string& path() const { return path_; }
  /// Writes a file, and returns its path.
  std::string write(std::string_view name, std::string_view text) const {
    const std::string file = path_ + "/" + std::string{name};
    std::ofstream{file} << text;
    return file;
  }
  /// Returns the text of a file.
  std::string read(std::string_view name) const {
    std::ifstream file{path_ + "/" + std::string{name}};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

 private:
  std::string path_;
};

/// A program that runs beside the test, and is killed when it is not needed any more, or when the test
/// program ends in any way. Its output is appended to a file.
class ChildProcess {
 public:
  /// Starts the program `words[0]`, which is looked up in PATH; see is_running().
  ChildProcess(std::vector<std::string> words, const std::string& log) {
    words.insert(words.begin(), {"setpriv", "--pdeathsig", "KILL"});
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    if (::posix_spawnp(&process_, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) {
      process_ = -1;
    }
    posix_spawn_file_actions_destroy(&actions);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() { kill(); }

  bool is_running() const { return process_ > 0; }
  void send_signal(int signal) const {
    if (process_ > 0) ::kill(process_, signal);
  }
  void kill() {
    if (process_ <= 0) return;
    send_signal(SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }

 private:
  pid_t process_ = -1;
};

}  // namespace weft::testing
