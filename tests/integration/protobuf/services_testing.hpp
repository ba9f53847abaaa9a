// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "integration/rpc/rpc_testing.hpp"
#include "probe.weft.hpp"
#include "strict.weft.hpp"
#include "weft/detail/protobuf/service.hpp"

namespace weft::testing {

/// Says it once more, and copies it.
class Echo : public test::EchoServer {
 public:
  Task<Result<void>> Say(CallContext& context, const test::EchoRequest& request,
                         test::EchoResponse& response) override {
    ++calls;
    deadline = context.deadline();
    tenant = context.metadata().find("tenant").value_or("none");
    response.set_text(request.text());
    for (std::uint32_t i = 0; i < request.copies(); ++i) response.add_copies(request.text());
    if (!context.attachment().empty()) context.set_attachment(context.take_attachment());
    co_return Result<void>{};
  }
  Task<Result<void>> Grow(CallContext&, const test::Tree& request, test::Tree& response) override {
    *response.mutable_child() = request;
    co_return Result<void>{};
  }

  int calls = 0;
  Deadline deadline{};
  std::string tenant;
};

/// Calls an Echo for whoever calls it.
class Relay : public test::RelayServer {
 public:
  explicit Relay(Client& next) : next_(next) {}
  Task<Result<void>> Pass(CallContext&, const test::EchoRequest& request,
                          test::EchoResponse& response) override {
    test::EchoStub stub{next_};
    Result<void> passed = co_await stub.Say(request).into(response);
    last = passed.status();
    co_return passed;
  }

  Status last;

 private:
  Client& next_;
};

inline Metadata metadata_of(std::string_view tenant) {
  Metadata metadata;
  metadata.set("tenant", tenant).value();
  return metadata;
}

inline test::EchoRequest echo_request(std::string text, std::uint32_t copies = 0) {
  test::EchoRequest request;
  request.set_text(std::move(text));
  request.set_copies(copies);
  return request;
}

class ProtobufTest : public RpcTest {
 protected:
  explicit ProtobufTest(const LoopOptions& options = {}) : RpcTest(options) {}
  template <typename... Services>
  Server& serve_services(Services&... services) {
    return serve_here([&](Server& server) {
      protobuf::Services all{server};
      (all.add(services), ...);
    });
  }
  /// Runs `work` inside a turn of the loop.
  template <typename Work>
  void run_in_turn(Work work) {
    bool ran = false;
    loop().post([&] {
      work();
      ran = true;
    });
    EXPECT_TRUE(turn_until(loop(), [&] { return ran; }));
  }
  template <typename Made>
  auto await(Made made) {
    return loop().block_on(std::move(made));
  }
};

}  // namespace weft::testing
