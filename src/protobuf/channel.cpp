// SPDX-License-Identifier: Apache-2.0
#include "weft/protobuf/channel.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <unordered_map>

#include "protobuf/channel_call.hpp"
#include "protobuf/described_method.hpp"
#include "protobuf/run_on.hpp"

namespace weft::protobuf {

namespace {

/// Lets a thread wait. It and the work that begins the call have it together: a thread whose call nobody
/// begins, because no thread runs the loop, goes on when its time is over, and the call is never begun.
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
  /// Once it is begun, the loop sees to the deadline. False: it was not begun until `at_most`.
  bool wait(Deadline at_most) {
    std::unique_lock lock(mutex_);
    const auto is_done = [this] { return is_done_; };
    if (!at_most.is_infinite() && !done_.wait_until(lock, at_most.at(), is_done) && !begun_) {
      gave_up_ = true;
      return false;
    }
    done_.wait(lock, is_done);
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;
  bool begun_ = false;
  bool gave_up_ = false;
};

/// By the clock that threads wait by; a deadline is one of the loop's.
Deadline waiting_deadline(const CallOptions& options, const Loop& loop) {
  Duration left = options.deadline.remaining(loop.clock().now());
  if (options.timeout > Duration::zero()) left = std::min(left, options.timeout);
  return Deadline::after(std::chrono::steady_clock::now(), left);
}

}  // namespace

/// The client, and the keys of the methods that were called. Each call keeps it, so that a key outlives them.
/// Thread: the loop's.
class Channel::Methods {
 public:
  explicit Methods(CallClient& its) : client(&its) {}

  /// Null once the channel has ended, and with it perhaps the client.
  CallClient* client;

  const MethodKey& of(const google::protobuf::MethodDescriptor& method) {
    return described_.try_emplace(&method, method).first->second.key;
  }

 private:
  std::unordered_map<const google::protobuf::MethodDescriptor*, detail::DescribedMethod> described_;
};

Channel::Channel(CallClient& client) : client_(client), methods_(std::make_shared<Methods>(client)) {}

Channel::~Channel() {
  methods_->client = nullptr;
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
  Loop& loop = client_.loop();
  if (done == nullptr && Loop::current() == &loop) {
    if (ours != nullptr) {
      ours->fail({StatusCode::kFailedPrecondition, Layer::kRpc,
                  "a call without `done` blocks its thread, and this one is the client's loop; give it a "
                  "callback, or await a weft::protobuf::Finished"});
    }
    return;
  }
  const auto begin = [methods = methods_, method, ours, request, response](google::protobuf::Closure* what) {
    if (methods->client == nullptr) {
      if (ours != nullptr) {
        ours->fail({StatusCode::kCancelled, Layer::kRpc, "the channel ended before the call began"});
      }
      return what->Run();
    }
    CallClient& client = *methods->client;
    CallOptions options;
    if (ours != nullptr) options = ours->options_for_call();
    const std::shared_ptr<const MethodKey> key{methods, &methods->of(*method)};
    const auto call = std::make_shared<detail::ChannelCall>(client.target(), key, ours, options);
    if (ours != nullptr) ours->begin(call);
    call->begin(*request, *response, what);
  };
  if (done != nullptr) return detail::run_on(loop, [begin, done] { begin(done); });
  const auto blocking = std::make_shared<BlockingDone>();
  loop.post([begin, blocking] {
    if (blocking->begin()) begin(blocking.get());
  });
  if (blocking->wait(ours != nullptr ? waiting_deadline(ours->options(), loop) : Deadline::infinite()))
    return;
  ours->fail({StatusCode::kDeadlineExceeded, Layer::kRpc,
              "the call was not begun in time: a thread that is not this one has to run the client's loop"});
}

Finished::~Finished() {
  if (done_) return;
  if (const auto call = controller_.running()) call->drop();
}

void Finished::Run() {
  done_ = true;
  stop_listening();
  if (resumption_.handle) Executor::current()->schedule(resumption_);
}

Result<void> Finished::await_resume() const {
  return controller_.status();
}

void Finished::attend(CancelScope& scope) {
  const auto call = controller_.running();
  if (call == nullptr) return;
  if (scope.cancelled()) return call->cancel(scope.reason());
  scope.add(*this);
  call->limit(scope.deadline());
}

void Finished::on_cancel(CancelReason reason) noexcept {
  if (const auto call = controller_.running()) call->cancel(reason);
}

}  // namespace weft::protobuf
