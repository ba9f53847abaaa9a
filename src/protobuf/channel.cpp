// SPDX-License-Identifier: Apache-2.0
#include "weft/protobuf/channel.hpp"

#include <condition_variable>
#include <mutex>
#include <unordered_map>

#include "protobuf/channel_call.hpp"
#include "protobuf/described_method.hpp"
#include "protobuf/run_on.hpp"

namespace weft::protobuf {

namespace {

/// Lets a thread wait. Told under the lock, so that it may go as soon as the thread goes on.
class BlockingDone final : public google::protobuf::Closure {
 public:
  void Run() override {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
    done_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return is_done_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;
};

}  // namespace

/// The client, and the keys of the methods that were called. Each call keeps it, so that a key outlives them.
/// Thread: the loop's.
class Channel::Methods {
 public:
  explicit Methods(RpcClient& its) : client(&its) {}

  /// Null once the channel has ended, and with it perhaps the client.
  RpcClient* client;

  const MethodKey& of(const google::protobuf::MethodDescriptor& method) {
    return described_.try_emplace(&method, method).first->second.key;
  }

 private:
  std::unordered_map<const google::protobuf::MethodDescriptor*, detail::DescribedMethod> described_;
};

Channel::Channel(RpcClient& client) : client_(client), methods_(std::make_shared<Methods>(client)) {}

Channel::~Channel() {
  methods_->client = nullptr;
}

void Channel::CallMethod(const google::protobuf::MethodDescriptor* method,
                         google::protobuf::RpcController* controller,
                         const google::protobuf::Message* request, google::protobuf::Message* response,
                         google::protobuf::Closure* done) {
  auto* ours = dynamic_cast<Controller*>(controller);
  WEFT_ASSERT(controller == nullptr || ours != nullptr,
              "a weft::protobuf::Channel takes a weft::protobuf::Controller");
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
    RpcClient& client = *methods->client;
    CallOptions options;
    if (ours != nullptr) options = ours->options_for_call();
    const std::shared_ptr<const MethodKey> key{methods, &methods->of(*method)};
    const auto call = std::make_shared<detail::ChannelCall>(client.core(), client.loop(), key, ours, options);
    if (ours != nullptr) ours->begin(call);
    call->begin(*request, *response, what);
  };
  if (done != nullptr) return detail::run_on(loop, [begin, done] { begin(done); });
  BlockingDone blocking;
  loop.post([begin, &blocking] { begin(&blocking); });
  blocking.wait();
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
