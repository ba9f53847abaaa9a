// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "transport/tcp/host_names.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail::tcp {

inline constexpr FixedFailure kNoMemoryForAddresses{StatusCode::kResourceExhausted, Layer::kTransport,
                                                    Retry::kBackoff, "out of memory for a name's addresses"};

/// Notified of the end of a search, on its loop.
class SearchListener {
 public:
  /// `found` is valid during the call.
  virtual void on_found(const Addresses& found) noexcept = 0;

 protected:
  ~SearchListener() = default;
};

/// One search for the addresses of a name, which cannot be stopped, and its waiting callers: each may leave
/// at any time without waiting. Thread: any, except where stated.
class Search : public std::enable_shared_from_this<Search> {
 public:
  /// A waiting caller. `listener` is read on the loop's thread only, and null once the caller has left.
  struct Waiter {
    Loop& loop;
    SearchListener* listener;
  };

  /// False: the search has ended already.
  bool join(const std::shared_ptr<Waiter>& waiter);
  /// Thread: the waiter's loop's. The loop may end afterwards.
  void leave(const std::shared_ptr<Waiter>& waiter) noexcept;
  void end(Addresses found) noexcept;

 private:
  std::mutex mutex_;
  /// Written once, before any caller is notified.
  Addresses found_;
  std::vector<std::shared_ptr<Waiter>> waiters_;
  bool ended_ = false;
};

/// Resolves names, each search on a thread of its own, because that blocks. A caller that asks for a name
/// with a search under way joins that search: so a resolver that does not answer occupies one thread for each
/// name, regardless of the number of callers. Thread: any.
class Resolver {
 public:
  explicit Resolver(std::shared_ptr<HostNames> names) : names_(std::move(names)) {}

  /// Errors: kResourceExhausted when the system gives no thread.
  Result<std::shared_ptr<Search>> search(const std::string& host, std::uint16_t port,
                                         const std::shared_ptr<Search::Waiter>& waiter);

 private:
  const std::shared_ptr<HostNames> names_;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::uint16_t>, std::weak_ptr<Search>> searches_;
};

}  // namespace weft::detail::tcp
