// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/verbs/queue_pair.hpp"

namespace weft::detail::verbs_carrier {

/// Looks for routes to peers on threads of its own, because a search blocks for up to a second and an
/// unreachable address from one peer must not delay the loop's other connections. The destructor waits for
/// running searches. Thread: any.
class WayFinder {
  struct Question;
  struct Threads;

 public:
  /// Handle of a running lookup. Destroying it suppresses the callback, and does not wait for the thread.
  class Search {
   public:
    Search() noexcept = default;
    explicit Search(std::shared_ptr<Question> question) noexcept : question_(std::move(question)) {}
    Search(Search&&) noexcept = default;
    Search& operator=(Search&& other) noexcept;
    ~Search() { forget(); }

   private:
    void forget() noexcept;
    std::shared_ptr<Question> question_;
  };

  WayFinder();
  WayFinder(const WayFinder&) = delete;
  WayFinder& operator=(const WayFinder&) = delete;
  ~WayFinder();

  /// `on_end` is called in a turn of `loop`, once, with Way::look_for()'s status; not after the Search has
  /// ended, which must be before the loop does. Errors: kResourceExhausted when the system
  /// gives no thread, or 64 searches go on.
  Result<Search> look_for(verbs::Way way, Loop& loop, UniqueFunction<void(const Status&)> on_end) noexcept;

 private:
  Result<Search> search_for(verbs::Way way, Loop& loop, UniqueFunction<void(const Status&)> on_end);

  const std::shared_ptr<Threads> threads_;
};

}  // namespace weft::detail::verbs_carrier
