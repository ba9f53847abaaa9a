// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/protobuf/channel.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "protobuf/channel_call.hpp"
#include "protobuf/described_method.hpp"
#include "weft/detail/runtime/client_end.hpp"
#include "weft/detail/runtime/post_surely.hpp"
#include "weft/detail/runtime/worker_wait.hpp"

namespace weft::protobuf {

namespace {

/// Says how a thread's wait ended.
enum class Waited { kDone, kNotBegun, kLoopEnded };

/// Blocks a thread until its call ends. Shared by the thread and the work that begins the call: if that work
/// does not run, because no thread runs the loop, the thread goes on when its deadline has passed, and the
/// call is never begun. The same happens when the loop ends before that work has run.
class BlockingDone final : public google::protobuf::Closure {
 public:
  // Under the lock, so that it may go as soon as the thread goes on.
  void Run() override {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
    done_.notify_one();
  }
  /// False: the thread waits no more.
  bool begin() {
    const std::lock_guard lock(mutex_);
    begun_ = !gave_up_;
    return begun_;
  }
  /// The work that would have begun the call is gone.
  void lose() {
    const std::lock_guard lock(mutex_);
    lost_ = !begun_;
    done_.notify_one();
  }
  /// Blocks until the call is done, or `at_most` if it was not begun by then; once it is, the loop sees to
  /// the deadline.
  Waited wait(Deadline at_most) {
    std::unique_lock lock(mutex_);
    const auto is_over = [this] { return is_done_ || lost_; };
    if (!at_most.is_infinite() && !done_.wait_until(lock, at_most.at(), is_over) && !begun_) {
      gave_up_ = true;
      return Waited::kNotBegun;
    }
    done_.wait(lock, is_over);
    return is_done_ ? Waited::kDone : Waited::kLoopEnded;
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;
  bool begun_ = false;
  bool gave_up_ = false;
  bool lost_ = false;
};

/// Part of the work that begins a call: a loop that ends without doing the work destroys it, and so tells.
class LossTeller {
 public:
  explicit LossTeller(std::shared_ptr<BlockingDone> done) : done_(std::move(done)) {}
  LossTeller(LossTeller&&) noexcept = default;
  LossTeller& operator=(LossTeller&&) = delete;
  ~LossTeller() {
    if (done_ != nullptr) done_->lose();
  }

  const std::shared_ptr<BlockingDone>& done() const { return done_; }

 private:
  std::shared_ptr<BlockingDone> done_;
};

/// Returns the deadline by the clock that threads wait by; a deadline is one of the loop's.
Deadline waiting_deadline(const CallOptions& options, const detail::CallMaker& maker) {
  const Duration timeout = options.timeout > Duration::zero() ? options.timeout : maker.timeout();
  const Duration left = std::min(timeout, options.deadline.remaining(maker.loop().clock().now()));
  return Deadline::after(std::chrono::steady_clock::now(), left);
}

/// Makes calls of the one server that a client or a pool calls.
class CallsOfClient final : public detail::CallMaker {
 public:
  explicit CallsOfClient(Caller& client) : client_(client) {}

  Loop& loop() const override { return client_.loop(); }
  Duration timeout() const override { return client_.target().timeouts().timeout(); }
  std::shared_ptr<detail::RunningCall> make(std::shared_ptr<const weft::detail::MethodKey> method,
                                            Controller* controller, const CallOptions& options) override {
    return std::make_shared<detail::ChannelCall>(client_.target(), std::move(method), controller, options);
  }

 private:
  Caller& client_;
};

}  // namespace

/// The maker of calls, and the keys of the methods that were called. Each call keeps it, so that a key
/// outlives them. Thread: the loop's.
class Channel::Methods {
 public:
  explicit Methods(detail::CallMaker& its) : maker(&its) {}

  /// Null once the channel has ended, and with it perhaps the client.
  detail::CallMaker* maker;

  const weft::detail::MethodKey& of(const google::protobuf::MethodDescriptor& method) {
    return described_.try_emplace(&method, method).first->second.key;
  }

  /// A call begins for which a thread waits.
  void add_blocking(const std::shared_ptr<BlockingDone>& done, std::weak_ptr<detail::RunningCall> call) {
    std::erase_if(blocking_, [](const Blocking& its) { return its.call.expired(); });
    blocking_.push_back({done, std::move(call)});
  }
  /// Lets all such threads go.
  void end_blocking() {
    for (const Blocking& its : std::exchange(blocking_, {})) {
      const auto call = its.call.lock();
      if (call == nullptr) continue;
      call->drop({StatusCode::kCancelled, Layer::kRpc, "the channel ended before the call had"});
      its.done->Run();
    }
  }

 private:
  struct Blocking {
    std::shared_ptr<BlockingDone> done;
    std::weak_ptr<detail::RunningCall> call;
  };

  std::vector<Blocking> blocking_;
  std::unordered_map<const google::protobuf::MethodDescriptor*, detail::DescribedMethod> described_;
};

Channel::Channel(Caller& client) : Channel(std::make_unique<CallsOfClient>(client)) {}

Channel::Channel(std::unique_ptr<detail::CallMaker> maker)
    : maker_(std::move(maker)), methods_(std::make_shared<Methods>(*maker_)) {}

Channel::~Channel() {
  weft::detail::check_end_of_client(maker_->loop());
  methods_->maker = nullptr;
  methods_->end_blocking();
}

void Channel::CallMethod(const google::protobuf::MethodDescriptor* method,
                         google::protobuf::RpcController* controller,
                         const google::protobuf::Message* request, google::protobuf::Message* response,
                         google::protobuf::Closure* done) {
  auto* ours = dynamic_cast<Controller*>(controller);
  if (controller != nullptr && ours == nullptr) {
    controller->SetFailed("a weft::protobuf::Channel takes a weft::protobuf::Controller, and no other");
    return done != nullptr ? done->Run() : void();
  }
  Loop& loop = maker_->loop();
  if (done == nullptr && Loop::current() == &loop) {
    if (ours != nullptr) {
      ours->fail({StatusCode::kFailedPrecondition, Layer::kRpc,
                  "a call without `done` blocks its thread, and this one is the client's loop; give it a "
                  "callback, or await a weft::protobuf::Finished"});
    }
    return;
  }
  // Gives the call, ready to be begun; null when that cannot be any more.
  const auto make = [methods = methods_, method, ours] {
    if (methods->maker == nullptr) {
      if (ours != nullptr) {
        ours->fail({StatusCode::kCancelled, Layer::kRpc, "the channel ended before the call began"});
      }
      return std::shared_ptr<detail::RunningCall>{};
    }
    CallOptions options;
    if (ours != nullptr) options = ours->options_for_call();
    std::shared_ptr<const weft::detail::MethodKey> key{methods, &methods->of(*method)};
    std::shared_ptr<detail::RunningCall> call = methods->maker->make(std::move(key), ours, options);
    if (ours != nullptr) ours->begin(call);
    return call;
  };
  if (done != nullptr && Loop::current() == &loop) {
    const auto call = make();
    return call != nullptr ? call->begin(*request, *response, done) : done->Run();
  }
  if (done != nullptr) {
    // The caller may free the request when this returns.
    return weft::detail::post_surely(
        loop, [make, done, response, kept = std::make_shared<detail::KeptRequest>(*request)] {
          const auto call = make();
          return call != nullptr ? call->begin(std::move(*kept), *response, done) : done->Run();
        });
  }
  const weft::detail::WorkerWait waits;
  if (!waits.refusal().ok()) return ours != nullptr ? ours->fail(waits.refusal()) : void();
  const auto blocking = std::make_shared<BlockingDone>();
  // Once the work is posted, channel and client may end.
  const Deadline at_most = waiting_deadline(ours != nullptr ? ours->options() : CallOptions{}, *maker_);
  loop.post([make, request, response, methods = methods_, teller = LossTeller{blocking}] {
    const std::shared_ptr<BlockingDone>& waiting = teller.done();
    if (!waiting->begin()) return;
    const auto call = make();
    if (call == nullptr) return waiting->Run();
    methods->add_blocking(waiting, call);
    call->begin(*request, *response, waiting.get());
  });
  const Waited waited = blocking->wait(at_most);
  if (waited == Waited::kDone || ours == nullptr) return;
  if (waited == Waited::kLoopEnded) {
    return ours->fail({StatusCode::kCancelled, Layer::kRpc, "the client's loop ended before the call began"});
  }
  ours->fail({StatusCode::kDeadlineExceeded, Layer::kRpc,
              "the call was not begun in time: a thread that is not this one has to run the client's loop"});
}

Finished::~Finished() {
  if (done_) return;
  if (const auto call = controller_.running()) call->drop(to_status(CancelReason::kRequested));
}

void Finished::Run() {
  done_ = true;
  stop_listening();
  if (resumption_.handle) weft::detail::Executor::current()->schedule(resumption_);
}

Result<void> Finished::await_resume() const {
  return controller_.status();
}

void Finished::attend(CancelScope& scope) {
  const auto call = controller_.running();
  if (call == nullptr) return;
  if (scope.cancelled()) return call->cancel(scope.reason());
  scope.add(*this);
  call->end_by(scope.deadline());
}

void Finished::on_cancel(CancelReason reason) noexcept {
  if (const auto call = controller_.running()) call->cancel(reason);
}

}  // namespace weft::protobuf
