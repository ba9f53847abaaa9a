// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "access/reading.hpp"
#include "access/watched_file.hpp"
#include "weft/access/policy.hpp"

namespace weft {

namespace {

/// A policy that is read again when its file has changed. Answers are asked for rarely, for connections keep
/// them; so they take a lock.
class PolicyFile final : public Authorizer {
 public:
  PolicyFile(std::string path, const AccessFileOptions& options)
      : file_(std::move(path), options.look_interval, Policy::kTextBytesMax), log_(options.logger) {}

  Result<void> begin() {
    const Result<detail::Secret> text = file_.read();
    if (!text.ok()) return text.status();
    return take(text->view());
  }

  bool may_call(const Identity& caller, std::string_view method) noexcept override {
    return policy()->allows(caller, method);
  }
  bool may_know_methods(const Identity& caller) noexcept override {
    return policy()->allows_everything(caller);
  }
  std::uint64_t version(TimePoint now) noexcept override {
    if (file_.is_due(now)) [[unlikely]] {
      look(now);
    }
    return version_.load(std::memory_order_acquire);
  }

 private:
  std::shared_ptr<const Policy> policy() noexcept {
    const std::lock_guard lock{mutex_};
    return policy_;
  }

  // A loop that finds another one looking goes on with what there is.
  void look(TimePoint now) noexcept {
    const std::unique_lock looking{looking_, std::try_to_lock};
    if (!looking.owns_lock() || !file_.is_due(now)) return;
    detail::read_again(file_, now, log_, "policy", [this](std::string_view text) { return take(text); });
  }

  Result<void> take(std::string_view text) {
    Result<Policy> policy = Policy::parse(text);
    if (!policy.ok()) return detail::fault_in(file_.path(), policy.status());
    auto next = std::make_shared<const Policy>(*std::move(policy));
    const std::lock_guard lock{mutex_};
    policy_ = std::move(next);
    version_.fetch_add(1, std::memory_order_release);
    return {};
  }

  detail::WatchedFile file_;
  detail::AccessLog log_;
  std::mutex looking_;
  std::mutex mutex_;
  std::shared_ptr<const Policy> policy_;
  std::atomic<std::uint64_t> version_ = 0;
};

}  // namespace

Result<std::shared_ptr<Authorizer>> policy_file(std::string path, const AccessFileOptions& options) {
  auto file = std::make_shared<PolicyFile>(std::move(path), options);
  if (Result<void> begun = file->begin(); !begun.ok()) return std::move(begun).status();
  return std::shared_ptr<Authorizer>{std::move(file)};
}

}  // namespace weft
