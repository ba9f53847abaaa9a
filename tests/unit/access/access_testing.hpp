// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "weft/detail/access/file_options.hpp"
#include "weft/detail/base/log.hpp"

namespace weft::testing {

using namespace std::chrono_literals;

/// Notes what is logged.
class NotingLogger final : public Logger {
 public:
  void write(LogLevel, std::string_view message) override { text += std::string{message} + "\n"; }
  std::string text;
};

/// A file of a test, gone with it. Its stamps never repeat: each contents is a new file put in the place of
/// the last.
class TestFile {
 public:
  explicit TestFile(const std::string& text) {
    char folder[] = "/tmp/weft_access_XXXXXX";
    if (::mkdtemp(folder) == nullptr) std::abort();
    folder_ = folder;
    put(text);
  }
  ~TestFile() {
    std::remove(path().c_str());
    ::rmdir(folder_.c_str());
  }
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;

  std::string path() const { return folder_ + "/file"; }
  void put(const std::string& text) {
    const std::string other = folder_ + "/other";
    std::ofstream{other} << text;
    if (std::rename(other.c_str(), path().c_str()) != 0) std::abort();
  }
  void write_in_place(const std::string& text) { std::ofstream{path()} << text; }
  void remove() { std::remove(path().c_str()); }

 private:
  std::string folder_;
};

}  // namespace weft::testing
