// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "transport/memory/memory_carrier.hpp"
#include "transport/memory/memory_link.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/post_surely.hpp"
#include "weft/detail/transport/memory.hpp"

namespace weft {

namespace detail::memory {
namespace {

constexpr std::size_t kBacklogMax = 4096;

// The server's end of a link that was not adopted yet.
class MemoryIncoming final : public detail::Incoming {
 public:
  explicit MemoryIncoming(std::shared_ptr<MemoryLink> link) : link_(std::move(link)) {}
  ~MemoryIncoming() override {
    if (link_ != nullptr) link_->detach(End::kServer);
  }

  Result<std::unique_ptr<detail::BaseCarrier>> adopt(Loop& loop, detail::ConnectionOptions&) override {
    WEFT_ASSERT(link_ != nullptr, "an incoming peer is adopted once");
    return std::unique_ptr<detail::BaseCarrier>{
        std::make_unique<MemoryCarrier>(loop, std::move(link_), End::kServer)};
  }
  std::string remote_endpoint() const override { return link_->url().to_string(); }

 private:
  std::shared_ptr<MemoryLink> link_;
};

class MemoryListener;

// What connecting threads see of a listener. The lock guards the queue and `loop`, which is null once the
// listener is gone; `listener` is touched on its loop only.
struct Backlog {
  std::mutex mutex;
  Loop* loop = nullptr;
  bool started = false;
  MemoryListener* listener = nullptr;
  std::deque<std::unique_ptr<detail::Incoming>> waiting;
};

class MemoryListener final : public detail::Listener {
 public:
  MemoryListener(Loop& loop, detail::Url url, std::shared_ptr<MemoryNetwork::Impl> network);
  ~MemoryListener() override;

  detail::Url local_url() const override { return url_; }
  void start(detail::UniqueFunction<void(std::unique_ptr<detail::Incoming>)> on_incoming) override {
    on_incoming_ = std::move(on_incoming);
    const std::lock_guard lock{backlog_->mutex};
    backlog_->started = true;
    if (!backlog_->waiting.empty()) wake(backlog_);
  }
  const std::shared_ptr<Backlog>& backlog() const { return backlog_; }

  // The lock of `backlog` is held.
  static void wake(const std::shared_ptr<Backlog>& backlog) {
    detail::post_surely(*backlog->loop, [backlog] {
      if (backlog->listener != nullptr) backlog->listener->hand_over();
    });
  }

 private:
  void hand_over() {
    std::deque<std::unique_ptr<detail::Incoming>> waiting;
    {
      const std::lock_guard lock{backlog_->mutex};
      waiting.swap(backlog_->waiting);
    }
    for (auto& incoming : waiting) on_incoming_(std::move(incoming));
  }

  const detail::Url url_;
  const std::shared_ptr<MemoryNetwork::Impl> network_;
  const std::shared_ptr<Backlog> backlog_ = std::make_shared<Backlog>();
  detail::UniqueFunction<void(std::unique_ptr<detail::Incoming>)> on_incoming_;
};

}  // namespace
}  // namespace detail::memory

class MemoryNetwork::Impl {
 public:
  explicit Impl(const MemoryOptions& options) : options_(options) {}

  void set_options(const MemoryOptions& options) {
    const std::lock_guard lock{mutex_};
    options_ = options;
  }
  MemoryOptions options() {
    const std::lock_guard lock{mutex_};
    return options_;
  }
  bool add(const std::string& name, std::shared_ptr<detail::memory::Backlog> backlog) {
    const std::lock_guard lock{mutex_};
    return listeners_.emplace(name, std::move(backlog)).second;
  }
  void remove(const std::string& name, const detail::memory::Backlog* backlog) {
    const std::lock_guard lock{mutex_};
    const auto found = listeners_.find(name);
    if (found != listeners_.end() && found->second.get() == backlog) listeners_.erase(found);
  }
  std::shared_ptr<detail::memory::Backlog> find(const std::string& name) {
    const std::lock_guard lock{mutex_};
    const auto found = listeners_.find(name);
    return found == listeners_.end() ? nullptr : found->second;
  }

 private:
  std::mutex mutex_;
  MemoryOptions options_;
  std::map<std::string, std::shared_ptr<detail::memory::Backlog>> listeners_;
};

namespace detail::memory {
namespace {

MemoryListener::MemoryListener(Loop& loop, detail::Url url, std::shared_ptr<MemoryNetwork::Impl> network)
    : url_(std::move(url)), network_(std::move(network)) {
  backlog_->loop = &loop;
  backlog_->listener = this;
}

MemoryListener::~MemoryListener() {
  network_->remove(url_.host, backlog_.get());
  std::deque<std::unique_ptr<detail::Incoming>> refused;
  const std::lock_guard lock{backlog_->mutex};
  backlog_->loop = nullptr;
  backlog_->listener = nullptr;
  refused.swap(backlog_->waiting);
}

// Queues the server's end of `link`; returns false when no listener takes it.
bool offer(const std::shared_ptr<Backlog>& backlog, std::shared_ptr<MemoryLink> link) {
  auto incoming = std::make_unique<MemoryIncoming>(std::move(link));
  const std::lock_guard lock{backlog->mutex};
  if (backlog->loop == nullptr || backlog->waiting.size() >= kBacklogMax) return false;
  backlog->waiting.push_back(std::move(incoming));
  if (backlog->started) MemoryListener::wake(backlog);
  return true;
}

}  // namespace
}  // namespace detail::memory

MemoryNetwork::MemoryNetwork(const MemoryOptions& options) : impl_(std::make_shared<Impl>(options)) {}
MemoryNetwork::MemoryNetwork(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
MemoryNetwork::~MemoryNetwork() = default;

std::unique_ptr<MemoryNetwork> MemoryNetwork::of_process() {
  // What uses the network holds it, so that it may outlive this variable when the process ends.
  static const auto impl = std::make_shared<Impl>(MemoryOptions{});
  return std::unique_ptr<MemoryNetwork>{new MemoryNetwork(impl)};
}

void MemoryNetwork::set_options(const MemoryOptions& options) {
  impl_->set_options(options);
}

Result<std::unique_ptr<detail::Listener>> MemoryNetwork::listen(Loop& loop, const detail::Url& url) {
  auto listener = std::make_unique<detail::memory::MemoryListener>(loop, url, impl_);
  if (!impl_->add(url.host, listener->backlog())) {
    return Status{StatusCode::kAlreadyExists, Layer::kTransport,
                  "listen on " + url.to_string() + ": somebody listens there", EADDRINUSE};
  }
  return std::unique_ptr<detail::Listener>{std::move(listener)};
}

Task<Result<std::unique_ptr<detail::Connection>>> MemoryNetwork::connect(Loop& loop, detail::Url url,
                                                                         detail::ConnectOptions options) {
  CancelScope* scope = co_await this_cancel_scope();
  if (scope != nullptr && scope->cancelled()) co_return to_status(scope->reason());
  if (options.deadline.expired(loop.now())) co_return to_status(CancelReason::kDeadline);
  const auto backlog = impl_->find(url.host);
  const auto link = std::make_shared<detail::memory::MemoryLink>(impl_->options(), url);
  auto connection = std::make_unique<detail::Connection>(
      loop, options.connection,
      std::make_unique<detail::memory::MemoryCarrier>(loop, link, detail::memory::End::kClient));
  if (backlog == nullptr || !detail::memory::offer(backlog, link)) {
    co_return Status{StatusCode::kUnavailable, Layer::kTransport,
                     "connect to " + url.to_string() + ": nobody listens there", ECONNREFUSED};
  }
  co_return connection;
}

}  // namespace weft
