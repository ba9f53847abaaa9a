// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/resolver.hpp"

#include <new>
#include <system_error>
#include <thread>

#include "weft/detail/runtime/post_surely.hpp"

namespace weft::detail::tcp {

namespace {

class SystemNames final : public HostNames {
 public:
  Addresses blocking_look_up(const std::string& host, std::uint16_t port) override {
    return tcp::blocking_look_up(host, port);
  }
};

Addresses blocking_ask(HostNames& names, const std::string& host, std::uint16_t port) {
  try {
    return names.blocking_look_up(host, port);
  } catch (const std::bad_alloc&) {
    return Status::of<kNoMemoryForAddresses>();
  }
}

}  // namespace

std::shared_ptr<HostNames> system_names() {
  return std::make_shared<SystemNames>();
}

bool Search::join(const std::shared_ptr<Waiter>& waiter) {
  const std::lock_guard lock{mutex_};
  if (!ended_) waiters_.push_back(waiter);
  return !ended_;
}

void Search::leave(const std::shared_ptr<Waiter>& waiter) noexcept {
  waiter->listener = nullptr;
  const std::lock_guard lock{mutex_};
  std::erase(waiters_, waiter);
}

// Requires the lock: a waiter that has left receives no post, because its loop may be gone. All share one
// copy of the addresses, so that notifying them takes no memory but a loop's own.
void Search::end(Addresses found) noexcept {
  const std::lock_guard lock{mutex_};
  ended_ = true;
  found_ = std::move(found);
  for (const std::shared_ptr<Waiter>& waiter : waiters_) {
    detail::post_surely(waiter->loop, [waiter, search = shared_from_this()] {
      if (waiter->listener != nullptr) waiter->listener->on_found(search->found_);
    });
  }
  waiters_.clear();
}

Result<std::shared_ptr<Search>> Resolver::search(const std::string& host, std::uint16_t port,
                                                 const std::shared_ptr<Search::Waiter>& waiter) {
  const std::lock_guard lock{mutex_};
  std::erase_if(searches_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Search>& known = searches_[{host, port}];
  std::shared_ptr<Search> search = known.lock();
  if (search != nullptr && search->join(waiter)) return search;
  search = std::make_shared<Search>();
  search->join(waiter);
  try {
    std::thread thread{
        [search, names = names_, host, port] { search->end(blocking_ask(*names, host, port)); }};
    // The system's resolver can be neither stopped nor given a timeout, and a caller that gave up must not
    // wait for it; the thread shares only objects that it holds itself.
    thread.detach();  // allow(no_detach): see above
  } catch (const std::system_error& error) {
    return Status{StatusCode::kResourceExhausted, Layer::kTransport,
                  [&] { return "look up \"" + host + "\": the system gives no thread"; },
                  error.code().value()};
  }
  known = search;
  return search;
}

}  // namespace weft::detail::tcp
