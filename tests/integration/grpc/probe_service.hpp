// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <weft/coroutines.hpp>
#include <weft/protobuf.hpp>
#include <weft/weft.hpp>

#include "probe.weft.hpp"

namespace weft::testing {

/// Service of the tests. Its atomic members may be used on any thread.
class ProbeService final : public grpc_probe::ProbeServer {
 public:
  using Done = Task<Result<void>>;

  Done Echo(CallContext& context, const grpc_probe::Text& request, grpc_probe::Text& response) override {
    Result<void> echoed = echo_metadata(context);
    if (!echoed.ok()) co_return echoed;
    response.set_text(request.text());
    co_return Result<void>{};
  }
  Done Fail(CallContext& context, const grpc_probe::Failure& request, grpc_probe::Text&) override {
    Result<void> echoed = echo_metadata(context);
    if (!echoed.ok()) co_return echoed;
    const auto code = static_cast<StatusCode>(request.code());
    co_return Status{code, Layer::kUser, request.message()}.with_details(request.details());
  }
  Done Wait(CallContext&, const grpc_probe::Text&, grpc_probe::Text&) override {
    const Running here{waiting};
    Result<void> slept = co_await sleep_for(std::chrono::hours{1});
    co_return slept;
  }
  Done Hold(CallContext& context, const grpc_probe::Text& request, grpc_probe::Text& response) override {
    const Running here{holding};
    while (!may_go) {
      [[maybe_unused]] const Result<void> slept = co_await sleep_for(std::chrono::milliseconds{1});
    }
    if (request.text() == "f") {
      Result<void> added = context.add_answer_metadata("fill", std::string(4000, '0'));
      if (!added.ok()) co_return added;
      co_return Status{StatusCode::kAborted, Layer::kUser, std::string(2000, 'm')}.with_details(
          std::string(8192, 'd'));
    }
    response.set_text(request.text());
    co_return Result<void>{};
  }
  Done Count(CallContext&, const grpc_probe::Texts& request,
             weft::protobuf::Writer<grpc_probe::Text>& responses) override {
    const Running here{counting};
    grpc_probe::Text response;
    for (int i = 0; i < request.count(); ++i) {
      response.set_text(std::to_string(i));
      response.mutable_text()->resize(static_cast<std::size_t>(std::max(request.size(), 8)), ' ');
      const bool written = co_await responses.write(response);
      if (!written) co_return responses.status();
      ++counted;
    }
    co_return Result<void>{};
  }
  Done Join(CallContext&, weft::protobuf::Reader<grpc_probe::Text>& requests,
            grpc_probe::Text& response) override {
    const Running here{joining};
    while (const auto* request = co_await requests.next()) *response.mutable_text() += request->text();
    co_return requests.status();
  }
  Done JoinLate(CallContext&, weft::protobuf::Reader<grpc_probe::Text>& requests,
                grpc_probe::Text& response) override {
    const Running here{joining};
    while (!may_go) {
      [[maybe_unused]] const Result<void> slept = co_await sleep_for(std::chrono::milliseconds{1});
    }
    int count = 0;
    while (const auto* request = co_await requests.next()) {
      if (request != nullptr) ++count;
    }
    response.set_text(std::to_string(count));
    co_return requests.status();
  }
  Done Chat(CallContext&, weft::protobuf::Reader<grpc_probe::Text>& requests,
            weft::protobuf::Writer<grpc_probe::Text>& responses) override {
    while (const auto* request = co_await requests.next()) {
      const bool written = co_await responses.write(*request);
      if (!written) co_return responses.status();
    }
    co_return requests.status();
  }

  std::atomic<int> waiting = 0;
  std::atomic<int> holding = 0;
  std::atomic<int> counting = 0;
  std::atomic<int> counted = 0;
  std::atomic<int> joining = 0;
  std::atomic<bool> may_go = false;

 private:
  static Result<void> echo_metadata(CallContext& context) {
    for (const auto& [key, value] : context.metadata()) {
      if (!key.starts_with("echo-")) continue;
      Result<void> added = key.starts_with("echo-initial") ? context.add_initial_metadata(key, value)
                                                           : context.add_answer_metadata(key, value);
      if (!added.ok()) return added;
    }
    return {};
  }

  struct Running {
    explicit Running(std::atomic<int>& its) : count(its) { ++count; }
    ~Running() { --count; }
    std::atomic<int>& count;
  };
};

}  // namespace weft::testing
