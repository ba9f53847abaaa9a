// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <weft/weft.hpp>

#include "integration/carrier_streams.hpp"
#include "support/pattern.hpp"
#include "support/test_ca.hpp"

namespace weft::testing {

using namespace std::chrono_literals;

inline std::string echoed(std::string_view text) {
  return std::string{text};
}

inline std::uint64_t swapped(CallContext& context, std::uint64_t seed) {
  const std::size_t bytes = context.attachment().size();
  const auto expected = pattern(bytes, static_cast<std::uint32_t>(seed));
  const bool same = testing::same_bytes(context.attachment(), expected);
  context.set_attachment(Buffer::adopt(pattern(bytes, static_cast<std::uint32_t>(seed + 1))));
  return same ? bytes : 0;
}

/// Notes what a server logs.
class Notes final : public Logger {
 public:
  void write(LogLevel, std::string_view message) override {
    const std::lock_guard lock{mutex_};
    text_ += std::string{message} + "\n";
  }
  std::string text() {
    const std::lock_guard lock{mutex_};
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

/// A CA, a server with a certificate of it on threads of its own, and clients on the test's loop.
class TlsTest : public ::testing::Test {
 protected:
  TlsTest() : loop_(Loop::create({.mode = WaitMode::kWait}).value()) {}

  TransportOptions with(std::shared_ptr<TlsCredentials> tls) {
    TransportOptions options;
    options.tls_credentials = std::move(tls);
    return options;
  }
  TransportOptions with(TlsOptions tls) {
    TransportOptions options;
    options.tls = std::move(tls);
    return options;
  }
  static std::shared_ptr<TlsCredentials> shared(TlsOptions tls) {
    return std::make_shared<TlsCredentials>(std::move(tls));
  }
  TlsOptions of_server() { return {.certificates = {ca_.issue()}, .logger = &notes_}; }
  TlsOptions of_client() { return {.ca_pem = ca_.pem()}; }

  /// Returns the URL by which clients come.
  template <typename Tls = TlsOptions>
  std::string serve(Tls tls, const std::string& url = "tls://127.0.0.1:0") {
    server_.reset();
    server_ = std::make_unique<Server>(ServerOptions{.listen = {url}, .threads = 1, .logger = &notes_},
                                       with(std::move(tls)));
    server_->register_handler<echoed>();
    server_->register_handler<swapped>();
    carrier_testing::register_streams(*server_);
    const auto started = server_->start();
    EXPECT_TRUE(started.ok()) << started.status().to_string();
    return started.ok() ? server_->urls().front() : "";
  }
  template <typename Tls = TlsOptions>
  std::unique_ptr<Client> client(const std::string& url, Tls tls) {
    return std::make_unique<Client>(*loop_, ClientOptions{.connect = url}, with(std::move(tls)));
  }
  Result<std::string> ask(Client& caller, const std::string& text = "hello") {
    return loop_->block_on(asking(caller, text));
  }
  /// Outcome of one call by a client of its own.
  template <typename Tls = TlsOptions>
  Status outcome(const std::string& url, Tls tls) {
    const auto caller = client(url, std::move(tls));
    return ask(*caller).status();
  }
  static Task<Result<std::string>> asking(Client& caller, std::string text) {
    const CallOptions options{.timeout = 10s};
    auto answer = co_await caller.call<echoed>(options, text);
    co_return answer;
  }
  /// Turns the loop until `condition` holds. False when it does not within a time that is never needed.
  template <typename Condition>
  bool comes_true(Condition condition) {
    const auto patience = std::chrono::steady_clock::now() + 20s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > patience) return false;
      loop_->run_once(1ms);
    }
    return true;
  }
  /// The server has logged a line with `text`, or does soon.
  bool server_says(const std::string& text) {
    return comes_true([&] { return notes_.text().find(text) != std::string::npos; });
  }

  TestCa ca_;
  Notes notes_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<Server> server_;
};

}  // namespace weft::testing
