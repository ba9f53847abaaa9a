// SPDX-License-Identifier: Apache-2.0
#include "weft/blocking_client.hpp"

#include <exception>
#include <latch>
#include <utility>

#include "weft/client_transports.hpp"

namespace weft {

// The options are copied, because the arguments may be evaluated in any order.
// NOLINTNEXTLINE(performance-unnecessary-value-param): the declaration takes them by value, as others do
BlockingClient::BlockingClient(ClientOptions options, LoopThreadOptions thread)
    : BlockingClient(options, detail::make_client_transports({}, options.connect), std::move(thread)) {}

BlockingClient::BlockingClient(ClientOptions options, Transports transports, LoopThreadOptions thread) {
  Result<std::unique_ptr<LoopThread>> started = LoopThread::start(std::move(thread));
  if (!started.ok()) {
    door_ = std::make_shared<detail::CallDoor>(std::move(started).status());
    return;
  }
  thread_ = std::move(*started);
  client_ = std::make_unique<Client>(thread_->loop(), std::move(options), std::move(transports));
  door_ = client_->target().door();
}

// A client without a thread serves no calls; its own calls return the reason.
void BlockingClient::register_method(const detail::MethodEntry& entry, std::shared_ptr<void> owner) {
  if (thread_ == nullptr || made_in_.in_child()) return;
  std::latch added{1};
  std::exception_ptr failure;
  thread_->post([&] {
    try {
      client_->register_method(entry, std::move(owner));
    } catch (...) {
      failure = std::current_exception();
    }
    added.count_down();
  });
  added.wait();
  if (failure != nullptr) std::rethrow_exception(failure);
}

// What the parent's thread was doing with the client when it was copied is in no state to be ended.
BlockingClient::~BlockingClient() {
  if (made_in_.in_child()) {
    static_cast<void>(client_.release());  // NOLINT(bugprone-unused-return-value): left to the parent
  }
  if (thread_ == nullptr) return;
  // A handler of the client destroys it, or calls exit(): the thread ends after its turn.
  if (client_ != nullptr && Loop::current() == &thread_->loop()) {
    client_.reset();
    return;
  }
  thread_->stop();
  if (client_ == nullptr) return;
  // Replies that were used or dropped when the loop stopped give their records back, before and after the
  // client ends.
  thread_->loop().run_once(Duration::zero());
  client_.reset();
  thread_->loop().run_once(Duration::zero());
}

}  // namespace weft
