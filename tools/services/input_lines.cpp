// SPDX-License-Identifier: Apache-2.0
#include "services/input_lines.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "weft/detail/runtime/loop.hpp"

namespace weft::services {

namespace {

constexpr std::size_t kLinesAhead = 256;

}  // namespace

InputLines::InputLines(Loop& loop)
    : loop_(loop), stop_(::eventfd(0, EFD_CLOEXEC)), thread_([this] { read(); }) {}

InputLines::~InputLines() {
  stop();
  thread_.join();
  ::close(stop_);
}

void InputLines::read() {
  std::array<char, 64 * 1024> bytes;
  std::string line;
  for (;;) {
    std::array<pollfd, 2> waits{{{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                                 {.fd = stop_, .events = POLLIN, .revents = 0}}};
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) break;
    if (waits[1].revents != 0) return;
    if (waits[0].revents == 0) continue;
    const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count <= 0) break;
    std::string_view rest{bytes.data(), static_cast<std::size_t>(count)};
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      line += rest.substr(0, end);
      if (!hand_over(std::exchange(line, {}))) return;
      rest.remove_prefix(end + 1);
    }
    line += rest;
  }
  if (hand_over(std::move(line))) end();
}

bool InputLines::hand_over(std::string line) {
  if (line.find_first_not_of(" \t\r") == std::string::npos) return true;
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return stopped_ || lines_.size() < kLinesAhead; });
  if (stopped_) return false;
  lines_.push_back(std::move(line));
  if (lines_.size() == 1) tell();
  return true;
}

void InputLines::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  tell();
}

void InputLines::tell() {
  loop_.post([this] { news_.set(); });
}

Task<std::optional<std::string>> InputLines::next() {
  for (;;) {
    news_.reset();
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) co_return std::nullopt;
      if (!lines_.empty()) {
        std::optional<std::string> line{std::move(lines_.front())};
        lines_.pop_front();
        room_.notify_one();
        co_return line;
      }
      if (ended_) co_return std::nullopt;
    }
    const Result<void> told = co_await news_.wait();
    if (!told.ok()) co_return std::nullopt;
  }
}

void InputLines::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  room_.notify_one();
  ::eventfd_write(stop_, 1);
  news_.set();
}

}  // namespace weft::services
