// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/way_finder.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace weft::detail::verbs_carrier {

namespace {

/// Maximum number of search threads. Peers that send unreachable addresses get no more, however fast they
/// reconnect.
constexpr std::size_t kSearchesMax = 64;

/// Time after which a search thread without memory to report its result tries again.
constexpr Duration kSayAgain = std::chrono::milliseconds{1};

constexpr FixedFailure kNoMemoryForSearch{StatusCode::kResourceExhausted, Layer::kTransport,
                                          Retry::kReconnect, "out of memory to look for the way to the peer"};

}  // namespace

struct WayFinder::Question {
  std::mutex mutex;
  /// Null when the waiter has left. Guarded by the mutex, which the searching thread holds only to post.
  Loop* loop = nullptr;
  /// The loop's thread's.
  UniqueFunction<void(const Status&)> on_end;

  /// Reports the result to the waiter, if it is still waiting. Returns false if there is no memory for the
  /// report now.
  template <typename Work>
  bool tell(const Work& work) noexcept {
    const std::lock_guard lock{mutex};
    try {
      if (loop != nullptr) loop->post(work);
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }
};

struct WayFinder::Threads {
  std::mutex mutex;
  std::vector<std::thread> searching;
  /// Ids of those threads that have finished and only wait to be joined.
  std::vector<std::thread::id> done;

  /// Joins finished threads. Requires the lock, which these threads no longer take.
  void reap() {
    const auto finished = [this](std::thread& thread) {
      if (std::find(done.begin(), done.end(), thread.get_id()) == done.end()) return false;
      thread.join();
      return true;
    };
    std::erase_if(searching, finished);
    done.clear();
  }
};

WayFinder::Search& WayFinder::Search::operator=(Search&& other) noexcept {
  forget();
  question_ = std::move(other.question_);
  return *this;
}

void WayFinder::Search::forget() noexcept {
  if (question_ == nullptr) return;
  const std::lock_guard lock{question_->mutex};
  question_->loop = nullptr;
  question_->on_end = {};
}

WayFinder::WayFinder() : threads_(std::make_shared<Threads>()) {}

WayFinder::~WayFinder() {
  std::vector<std::thread> left;
  {
    const std::lock_guard lock{threads_->mutex};
    left.swap(threads_->searching);
  }
  for (std::thread& thread : left) thread.join();
}

// The events of a connection manager come where nothing may be thrown.
Result<WayFinder::Search> WayFinder::look_for(verbs::Way way, Loop& loop,
                                              UniqueFunction<void(const Status&)> on_end) noexcept {
  try {
    return search_for(std::move(way), loop, std::move(on_end));
  } catch (const std::bad_alloc&) {
    return Status::of<kNoMemoryForSearch>();
  }
}

Result<WayFinder::Search> WayFinder::search_for(verbs::Way way, Loop& loop,
                                                UniqueFunction<void(const Status&)> on_end) {
  auto question = std::make_shared<Question>();
  question->loop = &loop;
  question->on_end = std::move(on_end);
  auto search = [question, threads = threads_, its = std::optional{std::move(way)}]() mutable {
    Status status = its->look_for();
    its.reset();  // the device may be destroyed as soon as no search is left
    {
      const std::lock_guard lock{threads->mutex};
      threads->done.push_back(std::this_thread::get_id());
    }
    const auto say = [question, threads, said = std::move(status)] {
      {
        const std::lock_guard reaping{threads->mutex};
        threads->reap();
      }
      if (question->on_end) std::exchange(question->on_end, {})(said);
    };
    // Between two attempts the waiter may leave.
    while (!question->tell(say))
      std::this_thread::sleep_for(kSayAgain);  // allow(no_sleep): memory has no event
  };
  const std::lock_guard lock{threads_->mutex};
  try {
    threads_->reap();
    if (threads_->searching.size() >= kSearchesMax) {
      return Status{
          StatusCode::kResourceExhausted, Layer::kTransport,
          [] { return "the ways to " + std::to_string(kSearchesMax) + " other peers are being looked for"; }};
    }
    threads_->done.reserve(threads_->searching.size() + 1);
    threads_->searching.reserve(threads_->searching.size() + 1);
    threads_->searching.emplace_back(std::move(search));
  } catch (const std::system_error& error) {
    return Status{StatusCode::kResourceExhausted, Layer::kTransport,
                  "looking for the way to the peer: the system gives no thread", error.code().value()};
  }
  return Search{std::move(question)};
}

}  // namespace weft::detail::verbs_carrier
