// SPDX-License-Identifier: Apache-2.0
// Messages and missing memory: a call or a stream fails, the process and the connection go on, and no reader
// takes the messages before a failure for all.
#include <google/protobuf/timestamp.pb.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <new>
#include <string_view>

#include "dropin.pb.h"
#include "integration/protobuf/services_testing.hpp"
#include "integration/raw_uploader.hpp"
#include "streams.weft.hpp"
#include "support/heap_count.hpp"
#include "weft/detail/protobuf/channel.hpp"
#include "weft/detail/protobuf/message.hpp"

namespace weft::testing::protobuf_memory_tests {
namespace {

constexpr int kTexts = 5;

std::string text_at(int at) {
  return std::string(100 * static_cast<std::size_t>(at + 1), 't');
}
streams::Text text(const std::string& its) {
  streams::Text made;
  made.set_text(its);
  return made;
}

/// Joins texts when it may; before the third one memory runs out, as `first` and `count` say.
class JoiningTexts : public streams::TextsServer {
 public:
  Task<Result<void>> Join(CallContext&, protobuf::Reader<streams::Text>& requests,
                          streams::Text& response) override {
    const Result<void> opened = co_await open.wait();
    if (!opened.ok()) co_return opened;
    read = 0;
    was_reached = false;
    std::string all;
    while (true) {
      const bool lacks_memory = first != 0 && read == 2;
      if (lacks_memory) fail_allocations(first, count);
      const auto* each = co_await requests.next();
      if (lacks_memory) {
        was_reached = !allocation_still_to_fail();
        fail_allocations(0);
      }
      if (each == nullptr) break;
      all += each->text();
      ++read;
    }
    status = requests.status();
    response.set_text(all);
    co_return Result<void>{};
  }
  Task<Result<void>> Repeat(CallContext&, const streams::Text& request,
                            protobuf::Writer<streams::Text>& responses) override {
    for (std::size_t i = 0; i < request.text().size(); ++i) {
      const bool written = co_await responses.write(request);
      if (!written) break;
    }
    co_return Result<void>{};
  }

  Event open;
  std::size_t first = 0;
  std::size_t count = 0;
  int read = 0;
  bool was_reached = false;
  Status status;
};

class DropInEcho : public dropin::EchoService {
 public:
  void Echo(google::protobuf::RpcController*, const dropin::EchoRequest* request,
            dropin::EchoResponse* response, google::protobuf::Closure* done) override {
    response->set_text(request->text());
    done->Run();
  }
};

class ProtobufMemory : public ProtobufTest {
 protected:
  void SetUp() override {
    if (!kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new does not fail";
    ASSERT_TRUE(connect(client_).ok());
  }

  const MallocsFailToo each_kind_;
  Echo echo_;
  DropInEcho drop_in_;
  JoiningTexts texts_;
  Server& server_ = serve_services(echo_, drop_in_, texts_);
  Client& client_ = client(server_);
};

TEST_F(ProtobufMemory, AFailureThatHasNoMemoryForItsTextIsAFailure) {
  const std::string cut = "\x0a\x05hi";
  const std::string long_text = text(std::string(1000, 'x')).SerializeAsString();
  for (const std::string& body : {cut, long_text}) {
    streams::Text message;
    Status failure;
    fail_allocations(1, kForEver);
    protobuf::detail::read_message(message, bytes_of(body), failure);
    fail_allocations(0);
    EXPECT_FALSE(failure.ok());
    Status answer;
    fail_allocations(1, kForEver);
    protobuf::detail::read_answer(message, bytes_of(body), answer);
    fail_allocations(0);
    EXPECT_FALSE(answer.ok());
  }
  streams::Number number;
  Status incomplete;
  fail_allocations(1, kForEver);
  protobuf::detail::read_message(number, {}, incomplete);
  fail_allocations(0);
  EXPECT_EQ(incomplete.code(), StatusCode::kInvalidArgument);
}

/// protobuf builds the descriptors of a type when it is first named. The test runs in a process of its own,
/// in which nothing has named this type, and no exception has loaded the unwinder of the C library.
TEST(ProtobufMemoryDeathTest, TheFirstFailureOfATypeIsAFailureWithoutMemory) {
  if (!kHeapIsCounted) GTEST_SKIP() << "the sanitizer's operator new does not fail";
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto read = [] {
    const MallocsFailToo each_kind;
    google::protobuf::Timestamp message;
    Status failure;
    fail_allocations(1, kForEver);
    protobuf::detail::read_answer(message, bytes_of("\x08\xff"), failure);
    fail_allocations(0);
    Status again;
    protobuf::detail::read_answer(message, bytes_of("\x08\xff"), again);
    const bool is_named = again.message().find("google.protobuf.Timestamp") != std::string_view::npos;
    std::exit(!failure.ok() && is_named ? 7 : 1);
  };
  EXPECT_EXIT(read(), ::testing::ExitedWithCode(7), "");
}

TEST_F(ProtobufMemory, AServiceWithoutMemoryForAMessageFailsTheCall) {
  RawUploader peer{server_.urls().front(), loop()};
  const MethodKey join = protobuf::make_method("weft.streams.Texts/Join", "weft.streams.Text",
                                               "weft.streams.Text", false, protobuf::Streams::kRequests);
  const auto texts_with = [](const std::string& third) {
    std::vector<std::string> bodies;
    for (int at = 0; at < kTexts; ++at) bodies.push_back(text(text_at(at)).SerializeAsString());
    bodies[2] = third;
    return bodies;
  };
  const std::string good = text(text_at(2)).SerializeAsString();
  for (const std::string& third : {good, std::string{"\x0a\x05hi"}}) {
    for (const std::size_t count : {std::size_t{1}, kForEver}) {
      int lost = 0;
      for (texts_.first = 1; texts_.first < 100; ++texts_.first) {
        texts_.count = count;
        texts_.open.reset();
        const std::uint64_t before = server_.stats().traffic.frames_received;
        peer.send(join, texts_with(third));
        // The frames of all items are there before the first is read: only the memory to read is missing.
        const std::uint64_t all = before + kTexts + 2;
        ASSERT_TRUE(turn_until(loop(), [&] { return server_.stats().traffic.frames_received >= all; }));
        texts_.open.set();
        const RawUploader::Answer answer = peer.await_answer();
        if (answer.code == StatusCode::kOk) {
          EXPECT_EQ(texts_.read, kTexts);
          EXPECT_TRUE(texts_.status.ok());
        } else {
          EXPECT_EQ(texts_.read, 2);
          EXPECT_EQ(texts_.status.code(), answer.code);
          lost += answer.code == StatusCode::kResourceExhausted ? 1 : 0;
        }
        if (!texts_.was_reached) break;
      }
      EXPECT_LT(texts_.first, 100u);
      EXPECT_TRUE(third != good || lost > 0);
    }
  }
}

Task<Status> say(test::EchoStub* stub) {
  const test::EchoRequest request = echo_request(std::string(300, 'x'), 3);
  const Result<test::EchoResponse> answer = co_await stub->Say(request);
  co_return answer.status();
}
Task<Status> say_by_channel(Client* client) {
  protobuf::Channel channel{*client};
  dropin::EchoService_Stub stub{&channel};
  dropin::EchoRequest request;
  request.set_text(std::string(300, 'x'));
  dropin::EchoResponse response;
  protobuf::Controller controller;
  protobuf::Finished finished{controller};
  stub.Echo(&controller, &request, &response, &finished);
  const Result<void> outcome = co_await finished;
  co_return outcome.status();
}
Task<Status> join(streams::TextsStub* stub) {
  auto joined = stub->Join();
  for (int at = 0; at < kTexts; ++at) {
    const streams::Text each = text(text_at(at));
    const bool taken = co_await joined.write(each);
    if (!taken) break;
  }
  const Result<streams::Text> all = co_await joined.finish();
  EXPECT_TRUE(!all.ok() || all->text().size() == 1500) << "a part was taken for the whole";
  co_return all.status();
}
Task<Status> repeat(streams::TextsStub* stub) {
  const streams::Text request = text(std::string(20, 'r'));
  auto repeated = stub->Repeat(request);
  int read = 0;
  while (const auto* each = co_await repeated.next()) {
    if (each->text() == request.text()) ++read;
  }
  EXPECT_TRUE(!repeated.status().ok() || read == 20) << "a part was taken for the whole";
  co_return repeated.status();
}

/// Each allocation from the beginning of the call to its end fails once, and thirty of them in a row.
TEST_F(ProtobufMemory, EachAllocationOfACallThatFailsCostsThatCallOnly) {
  texts_.open.set();
  test::EchoStub echo{client_};
  streams::TextsStub texts{client_};
  struct Work {
    const char* name;
    std::function<Task<Status>()> call;
  };
  const Work all[] = {{"a call", [&] { return say(&echo); }},
                      {"a call by protobuf's own stub", [&] { return say_by_channel(&client_); }},
                      {"a stream of requests", [&] { return join(&texts); }},
                      {"a stream of responses", [&] { return repeat(&texts); }}};
  for (const Work& work : all) {
    for (const std::size_t count : {1u, 30u}) {
      int failed = 0;
      std::size_t first = 1;
      for (bool reached = true; reached && first < 1000; ++first) {
        Status outcome{StatusCode::kResourceExhausted, Layer::kUser, "the caller's own allocation failed"};
        fail_allocations(first, count);
        try {
          outcome = loop().block_on(work.call());
        } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): it is the caller's own
        }
        reached = !allocation_still_to_fail();
        fail_allocations(0);
        failed += outcome.ok() ? 0 : 1;
        EXPECT_TRUE(outcome.ok() || outcome.code() == StatusCode::kResourceExhausted ||
                    outcome.code() == StatusCode::kUnavailable || outcome.code() == StatusCode::kCancelled)
            << work.name << ", " << first << ": " << outcome.to_string();
        const Status after = loop().block_on(work.call());
        EXPECT_TRUE(after.ok()) << work.name << ", " << first << ": " << after.to_string();
      }
      EXPECT_LT(first, 1000u) << work.name;
      EXPECT_GT(failed, 0) << work.name;
      std::printf("%s: %zu allocations, %d calls failed\n", work.name, first - 2, failed);
    }
  }
}

}  // namespace
}  // namespace weft::testing::protobuf_memory_tests
