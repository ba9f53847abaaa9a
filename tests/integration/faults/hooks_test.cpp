// SPDX-License-Identifier: Apache-2.0
// Faults, part "resources and load": code of the user's, or of a transport, throws where nobody looks for it.
#include <stdexcept>
#include <string>
#include <utility>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/hostile_peer.hpp"

namespace weft {

using namespace weft::detail;
namespace faults {
namespace {

/// A value whose stand-in cannot be made a second time: it is measured, and then fails to be encoded. In
/// front of it in the message are bytes that were encoded already.
struct Fragile {
  mutable int whole = 1;
};
struct Parcel {
  std::string text;
  Fragile fragile;
};

}  // namespace
}  // namespace faults

template <>
struct CodecTraits<faults::Fragile> {
  using Wire = std::string;
  static Wire to_wire(const faults::Fragile& value) {
    if (value.whole-- == 0) throw std::runtime_error("it broke");
    return "whole";
  }
  static bool from_wire(const Wire&, faults::Fragile& out) {
    out.whole = 2;
    return true;
  }
};

namespace faults {
namespace {

std::string take(Parcel parcel) {
  return parcel.text;
}
Parcel give(std::string_view text) {
  return {std::string{text}, {}};
}
Parcel give_from_record(CallContext&, std::string_view text) {
  return {std::string{text}, {}};
}
Task<Parcel> give_from_coroutine(std::string text) {
  co_return Parcel{text, {}};
}
void give_by_reply(Reply<Parcel> reply, std::string_view text) {
  std::move(reply)(Parcel{std::string{text}, {}});
}
Parcel give_from_worker(std::string_view text) {
  return {std::string{text}, {}};
}

class Hooks : public FaultTest {
 protected:
  Server& serve_all() {
    return serve({}, [](Server& server) {
      server.register_handler<add>();
      server.register_handler<take>();
      server.register_handler<give>();
      server.register_handler<give_from_record>();
      server.register_handler<give_from_coroutine>();
      server.register_handler<give_by_reply>();
      server.register_handler<give_from_worker>({.blocking = true});
    });
  }
  template <auto M, typename... Arguments>
  Status awaited(Client& caller, const Arguments&... arguments) {
    const auto task = [](Client* by, const Arguments*... each) -> Task<Status> {
      auto result = co_await by->call<M>(*each...);
      co_return result.status();
    };
    return loop().block_on(task(&caller, &arguments...));
  }
  /// Exactly one frame answers request 1, and then the connection goes on.
  template <auto M>
  void expect_one_failure(Server& server) {
    HostilePeer peer{server.urls().front()};
    peer.send(hello_bytes());
    ASSERT_TRUE(peer.receive_hello());
    peer.send(request_bytes<M>(1, std::string(100, 's')));
    const auto failed = peer.receive_frame();
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->header.id, 1u);
    EXPECT_EQ(wire::AnswerView{failed->header}.code(), static_cast<unsigned>(StatusCode::kUnknown));
    EXPECT_THAT(failed->body, ::testing::MatchesRegex("the handler of '.*' threw: it broke"));
    peer.send(request_bytes<add>(2, 3, 4));
    const auto next = peer.receive_frame();
    ASSERT_TRUE(next);
    EXPECT_EQ(next->header.id, 2u) << "nothing of what could not be encoded was sent";
    EXPECT_EQ(next->body, body_of(7));
  }
};

TEST_F(Hooks, AnAnswerThatCannotBeEncodedIsAnsweredOnceAndTheConnectionGoesOn) {
  Server& server = serve_all();
  expect_one_failure<give>(server);
  expect_one_failure<give_from_record>(server);
  expect_one_failure<give_from_coroutine>(server);
  expect_one_failure<give_by_reply>(server);
  expect_one_failure<give_from_worker>(server);
}

TEST_F(Hooks, AnArgumentThatCannotBeEncodedFailsItsCallAndNothingIsSent) {
  Server& server = serve_all();
  Client& caller = client(server.urls().front());
  ASSERT_EQ(wait_for(caller.start<add>(3, 4)).value(), 7);
  const Status failure = awaited<take>(caller, Parcel{"text", {}});
  EXPECT_EQ(failure.code(), StatusCode::kInvalidArgument) << failure.to_string();
  EXPECT_EQ(failure.message(), "encoding an argument threw: it broke");
  const Result<std::string> started = wait_for(caller.start<take>(Parcel{"text", {}}));
  EXPECT_EQ(started.status().code(), StatusCode::kInvalidArgument) << started.status().to_string();
  EXPECT_EQ(wait_for(caller.start<add>(3, 4)).value(), 7);
  EXPECT_EQ(server.stats().calls, 2u);
  EXPECT_EQ(caller.stats().calls_in_flight, 0u);
}

TEST_F(Hooks, AnArgumentIsEncodedOnceAlsoWhenItsCallWaitsForAConnection) {
  Client& caller = client(serve_all().urls().front());
  const Parcel parcel{"text", {2}};  // for one measuring and one writing
  EXPECT_TRUE(awaited<take>(caller, parcel).ok());
  EXPECT_EQ(wait_for(caller.start<add>(3, 4)).value(), 7);
  EXPECT_EQ(caller.stats().connections, 1u);
}

/// Throws in the midst of an attempt, the first time.
class ThrowingTransport final : public Transport {
 public:
  bool handles(std::string_view scheme) const override { return scheme == "tcp"; }
  Result<std::unique_ptr<Listener>> listen(Loop&, const Url&) override {
    return Status{StatusCode::kUnimplemented, Layer::kTransport, "only to connect by"};
  }
  Task<Result<std::unique_ptr<Connection>>> connect(Loop& loop, Url url, ConnectOptions options) override {
    if (attempts++ == 0) throw std::runtime_error("no way from here");
    auto connection = co_await tcp_->connect(loop, url, options);
    co_return connection;
  }
  int attempts = 0;

 private:
  std::unique_ptr<Transport> tcp_ = detail::make_tcp_transport();
};

TEST_F(Hooks, AnAttemptThatThrowsFailsTheCallsThatWaitedAndTheNextOneTriesAgain) {
  Transports transports;
  transports.add(std::make_unique<ThrowingTransport>());
  Client caller{loop(), {.connect = serve_all().urls().front(), .reconnect_wait_min = 1ms}, transports};
  const Result<int> failed = wait_for(caller.start<add>(3, 4));
  EXPECT_EQ(failed.status().code(), StatusCode::kUnavailable) << failed.status().to_string();
  EXPECT_NE(failed.status().message().find("no way from here"), std::string_view::npos);
  EXPECT_EQ(wait_for(caller.start<add>(3, 4)).value(), 7);
  EXPECT_EQ(caller.stats().connect_failures, 1u);
}

}  // namespace
}  // namespace faults
}  // namespace weft
