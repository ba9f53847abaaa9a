// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "integration/rpc/raw_peer.hpp"
#include "integration/rpc/rpc_testing.hpp"
#include "weft/detail/access/policy.hpp"
#include "weft/detail/access/tokens.hpp"

namespace weft::testing::access {

using ::testing::HasSubstr;
using ::testing::Not;

inline std::string who(CallContext& context) {
  return std::string{context.identity().name()};
}
inline std::string who_blocking(CallContext& context) {
  return who(context);
}
inline Task<std::string> who_later(CallContext& context) {
  [[maybe_unused]] const Result<void> slept = co_await sleep_for(1ms);
  co_return who(context);
}
inline int plain(int number) {
  return number;
}
inline std::size_t size_of(std::string_view text) {
  return text.size();
}
inline std::size_t attached(CallContext& context) {
  return context.attachment().size();
}
inline std::string told_metadata(CallContext& context) {
  std::string text;
  for (const auto& [key, value] : context.metadata())
    text += std::string{key} + "=" + std::string{value} + ";";
  return text;
}

/// Tokens "ann" and "bob" stand for these names; any other is not good. Counts how often it is asked.
class TestTokens final : public Authenticator {
 public:
  Result<Authenticated> authenticate(const Credentials& credentials) noexcept override {
    ++asked;
    last_peer = std::string{credentials.peer.name()};
    const auto found = known_.find(credentials.token);
    if (found == known_.end()) return Status{StatusCode::kUnauthenticated, Layer::kUser, "not good"};
    return Authenticated{found->second, good_for};
  }
  std::uint64_t version(TimePoint) noexcept override { return its_version; }

  std::atomic<int> asked = 0;
  std::atomic<std::uint64_t> its_version = 0;
  Duration good_for = Duration::max();
  std::string last_peer;

 private:
  const std::map<std::string, Identity, std::less<>> known_ = {
      {"ann", Identity::of_token("ann")}, {"bob", Identity::of_token("bob", {"group:operators"})}};
};

/// Rules that a test may exchange.
class TestRules final : public Authorizer {
 public:
  explicit TestRules(std::string_view text) { set(text); }
  void set(std::string_view text) {
    policy_ = Policy::parse(text).value();
    ++version_;
  }
  bool may_call(const Identity& caller, std::string_view method) noexcept override {
    ++asked;
    return policy_.allows(caller, method);
  }
  bool may_know_methods(const Identity& caller) noexcept override {
    return policy_.allows_everything(caller);
  }
  std::uint64_t version(TimePoint) noexcept override { return version_; }

  int asked = 0;

 private:
  Policy policy_;
  std::uint64_t version_ = 0;
};

/// A server on the test's loop that looks at callers.
class AccessTest : public RpcTest {
 protected:
  Server& guard(std::string_view rules, std::vector<std::string> listen = {kAnyPort}) {
    rules_ = std::make_shared<TestRules>(rules);
    ServerOptions options;
    options.listen = std::move(listen);
    options.authenticator = tokens_;
    options.authorizer = rules_;
    options.logger = &log_;
    return serve_here(std::move(options), [](Server& its) {
      its.register_handler<who, who_later, plain, size_of, attached, told_metadata>();
      its.register_handler<who_blocking>({.blocking = true});
    });
  }
  /// Options of a call that brings `token`.
  CallOptions with(const std::string& token) {
    metadata_.push_back(std::make_unique<Metadata>());
    metadata_.back()->set("authorization", "Bearer " + token).value();
    CallOptions options;
    options.metadata = *metadata_.back();
    return options;
  }
  std::uint64_t refused(const Server& server, RefusalReason why) { return server.stats().refused[why]; }

  class Log final : public Logger {
   public:
    void write(LogLevel, std::string_view message) override { text += std::string{message} + "\n"; }
    std::string text;
  };
  Log log_;
  const std::shared_ptr<TestTokens> tokens_ = std::make_shared<TestTokens>();
  std::shared_ptr<TestRules> rules_;

 private:
  std::vector<std::unique_ptr<Metadata>> metadata_;
};

/// Names of the handlers as rules write them.
template <auto M>
std::string name_of() {
  return std::string{detail::method_key<M>.name};
}

}  // namespace weft::testing::access
