// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "access/lines.hpp"
#include "access/reading.hpp"
#include "weft/detail/access/policy.hpp"

namespace weft {

namespace {

/// A policy that is read again when its file has changed. Answers are asked for rarely, for connections keep
/// them; so they take a lock.
class PolicyFile final : public Authorizer {
 public:
  PolicyFile(std::string path, const AccessFileOptions& options)
      : file_(std::move(path), options, Policy::kTextBytesMax, "policy",
              [this](std::string_view text) { return take(text); }) {}

  Result<void> begin() { return file_.begin(); }

  bool may_call(const Identity& caller, std::string_view method) noexcept override {
    return policy()->allows(caller, method);
  }
  bool may_know_methods(const Identity& caller) noexcept override {
    return policy()->allows_everything(caller);
  }
  std::uint64_t version(TimePoint now) noexcept override { return file_.version(now); }

 private:
  std::shared_ptr<const Policy> policy() noexcept {
    const std::lock_guard lock{mutex_};
    return policy_;
  }

  Result<void> take(std::string_view text) {
    if (const Result<void> ended = detail::check_ended(text); !ended.ok()) {
      return detail::fault_in(file_.path(), ended.status());
    }
    Result<Policy> policy = Policy::parse(text);
    if (!policy.ok()) return detail::fault_in(file_.path(), policy.status());
    auto next = std::make_shared<const Policy>(*std::move(policy));
    const std::lock_guard lock{mutex_};
    policy_ = std::move(next);
    return {};
  }

  detail::VersionedFile file_;
  std::mutex mutex_;
  std::shared_ptr<const Policy> policy_;
};

}  // namespace

Result<std::shared_ptr<Authorizer>> policy_file(std::string path, const AccessFileOptions& options) {
  auto file = std::make_shared<PolicyFile>(std::move(path), options);
  if (Result<void> begun = file->begin(); !begun.ok()) return std::move(begun).status();
  return std::shared_ptr<Authorizer>{std::move(file)};
}

}  // namespace weft
