// SPDX-License-Identifier: Apache-2.0
#include "services/input_lines.hpp"

#include <iostream>
#include <thread>
#include <utility>

#include "weft/runtime/loop.hpp"

namespace weft::services {

namespace {

constexpr std::size_t kLinesAhead = 256;

}  // namespace

InputLines::InputLines(Loop& loop) : shared_(std::make_shared<Shared>()) {
  shared_->loop = &loop;
  shared_->news = &news_;
  std::thread{[shared = shared_] { read(shared); }}.detach();
}

InputLines::~InputLines() {
  stop();
}

void InputLines::read(const std::shared_ptr<Shared>& shared) {
  for (std::string line; std::getline(std::cin, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::unique_lock lock(shared->mutex);
    shared->room.wait(lock, [&] { return shared->loop == nullptr || shared->lines.size() < kLinesAhead; });
    if (shared->loop == nullptr) return;
    shared->lines.push_back(std::move(line));
    if (shared->lines.size() == 1) shared->loop->post([shared] { shared->news->set(); });
  }
  const std::lock_guard lock(shared->mutex);
  shared->ended = true;
  if (shared->loop != nullptr) shared->loop->post([shared] { shared->news->set(); });
}

Task<std::optional<std::string>> InputLines::next() {
  for (;;) {
    news_.reset();
    {
      const std::lock_guard lock(shared_->mutex);
      if (shared_->loop == nullptr) co_return std::nullopt;
      if (!shared_->lines.empty()) {
        std::optional<std::string> line{std::move(shared_->lines.front())};
        shared_->lines.pop_front();
        shared_->room.notify_one();
        co_return line;
      }
      if (shared_->ended) co_return std::nullopt;
    }
    static_cast<void>(co_await news_.wait());
  }
}

void InputLines::stop() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->loop = nullptr;
  }
  shared_->room.notify_one();
  news_.set();
}

}  // namespace weft::services
