// SPDX-License-Identifier: Apache-2.0
// CR-11: gRPC's own C++ client calls the handlers of a server of Weft.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>
#include <weft/blocking_client.hpp>
#include <weft/grpc.hpp>
#include <weft/http.hpp>
#include <weft/protobuf.hpp>
#include <weft/weft.hpp>

#include "integration/grpc/probe_service.hpp"
#include "integration/http/raw_http.hpp"
#include "probe.grpc.pb.h"
#if WEFT_HAVE_TLS
#include "support/test_ca.hpp"
#endif

namespace grpc_demo {

int add(int a, int b) {
  return a + b;
}

}  // namespace grpc_demo

namespace weft::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Client = grpc_probe::Probe::Stub;

grpc_probe::Text text_of(std::string text) {
  grpc_probe::Text message;
  message.set_text(std::move(text));
  return message;
}

class GrpcClient : public ::testing::Test {
 protected:
  ~GrpcClient() override {
    probe_.may_go = true;
    client_.reset();
    channel_.reset();
    if (!server_) return;
    server_->stop(0s);
    server_->wait();
  }
  void start(ServerOptions options = {}, TransportOptions transports = {}) {
    if (options.listen.empty()) options.listen = {"tcp://127.0.0.1:0"};
    options.protocols.push_back(weft::grpc());
    options.protocols.push_back(weft::http());
    server_.emplace(std::move(options), transports);
    protobuf::Services services{*server_};
    services.add(probe_);
    server_->register_handler<grpc_demo::add>();
    const Result<void> started = server_->start();
    ASSERT_TRUE(started.ok()) << started.status().to_string();
    connect(::grpc::InsecureChannelCredentials());
  }
  std::string address() const {
    const std::string url = server_->urls().front();
    return url.substr(url.find("://") + 3);
  }
  void connect(const std::shared_ptr<::grpc::ChannelCredentials>& credentials) {
    ::grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = ::grpc::CreateCustomChannel(address(), credentials, arguments);
    client_ = grpc_probe::Probe::NewStub(channel_);
  }
  static void await(const std::atomic<int>& number, int value) {
    while (number != value) std::this_thread::yield();
  }
  std::string echo(std::string text) {
    ::grpc::ClientContext context;
    grpc_probe::Text answer;
    const ::grpc::Status status = client_->Echo(&context, text_of(std::move(text)), &answer);
    return status.ok() ? answer.text() : status.error_message();
  }

  ProbeService probe_;
  std::optional<Server> server_;
  std::shared_ptr<::grpc::Channel> channel_;
  std::unique_ptr<Client> client_;
};

TEST_F(GrpcClient, CallsAMethodWithOneMessage) {
  start();
  EXPECT_EQ(echo("hello"), "hello");
  EXPECT_EQ(echo(""), "");
  EXPECT_EQ(echo(std::string(100, 'x')), std::string(100, 'x'));
}

TEST_F(GrpcClient, ReadsAStreamOfMessages) {
  start();
  ::grpc::ClientContext context;
  grpc_probe::Texts request;
  request.set_count(1000);
  const auto reader = client_->Count(&context, request);
  grpc_probe::Text text;
  int count = 0;
  while (reader->Read(&text)) EXPECT_EQ(std::stoi(text.text()), count++);
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(count, 1000);
}

TEST_F(GrpcClient, WritesAStreamOfMessages) {
  start();
  ::grpc::ClientContext context;
  grpc_probe::Text answer;
  const auto writer = client_->Join(&context, &answer);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(writer->Write(text_of(std::to_string(i) + ' ')));
  writer->WritesDone();
  EXPECT_TRUE(writer->Finish().ok());
  EXPECT_THAT(answer.text(), ::testing::StartsWith("0 1 2 "));
  EXPECT_THAT(answer.text(), ::testing::EndsWith(" 98 99 "));
}

TEST_F(GrpcClient, TalksInBothDirections) {
  start();
  ::grpc::ClientContext context;
  const auto stream = client_->Chat(&context);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(stream->Write(text_of(std::to_string(i))));
    grpc_probe::Text answer;
    ASSERT_TRUE(stream->Read(&answer));
    EXPECT_EQ(answer.text(), std::to_string(i));
  }
  stream->WritesDone();
  grpc_probe::Text more;
  EXPECT_FALSE(stream->Read(&more));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(GrpcClient, StreamsWithoutMessagesEnd) {
  start();
  ::grpc::ClientContext first;
  const auto stream = client_->Chat(&first);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  ::grpc::ClientContext second;
  grpc_probe::Text answer;
  const auto writer = client_->Join(&second, &answer);
  writer->WritesDone();
  EXPECT_TRUE(writer->Finish().ok());
  EXPECT_EQ(answer.text(), "");
}

TEST_F(GrpcClient, FailuresKeepCodeMessageAndDetails) {
  start();
  const std::string message = "no such key: \xc3\xa4, 100 %\n";
  for (int code = 1; code <= 16; ++code) {
    ::grpc::ClientContext context;
    grpc_probe::Failure request;
    request.set_code(code);
    request.set_message(message);
    request.set_details(std::string("\0\x01\xff", 3));
    grpc_probe::Text answer;
    const ::grpc::Status status = client_->Fail(&context, request, &answer);
    EXPECT_EQ(static_cast<int>(status.error_code()), code);
    EXPECT_EQ(status.error_message(), message);
    EXPECT_EQ(status.error_details(), std::string("\0\x01\xff", 3));
  }
}

TEST_F(GrpcClient, MetadataTravelInBothDirections) {
  start();
  ::grpc::ClientContext context;
  const std::string bytes("\0,=\xff", 4);
  context.AddMetadata("echo-initial", "first");
  context.AddMetadata("echo-initial", "second");
  context.AddMetadata("echo-initial-bin", bytes);
  context.AddMetadata("echo-last", "a b");
  context.AddMetadata("echo-last-bin", bytes);
  context.AddMetadata("echo-last-bin", "");
  grpc_probe::Text answer;
  ASSERT_TRUE(client_->Echo(&context, text_of("x"), &answer).ok());
  EXPECT_EQ(answer.text(), "x");
  const auto values = [](const std::multimap<::grpc::string_ref, ::grpc::string_ref>& all, const char* key) {
    std::vector<std::string> found;
    const auto [begin, end] = all.equal_range(key);
    for (auto it = begin; it != end; ++it) found.emplace_back(it->second.data(), it->second.size());
    return found;
  };
  const auto& initial = context.GetServerInitialMetadata();
  EXPECT_THAT(values(initial, "echo-initial"), ElementsAre("first", "second"));
  EXPECT_THAT(values(initial, "echo-initial-bin"), ElementsAre(bytes));
  const auto& trailing = context.GetServerTrailingMetadata();
  EXPECT_THAT(values(trailing, "echo-last"), ElementsAre("a b"));
  EXPECT_THAT(values(trailing, "echo-last-bin"), ::testing::UnorderedElementsAre(bytes, ""));
}

TEST_F(GrpcClient, DeadlinesReachTheHandler) {
  start();
  ::grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 50ms);
  grpc_probe::Text answer;
  const ::grpc::Status status = client_->Wait(&context, text_of(""), &answer);
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::DEADLINE_EXCEEDED);
  await(probe_.waiting, 0);
  EXPECT_EQ(echo("after"), "after");
}

TEST_F(GrpcClient, CancellationReachesTheHandler) {
  start();
  ::grpc::ClientContext context;
  ::grpc::Status status;
  std::thread caller{[&] {
    grpc_probe::Text answer;
    status = client_->Wait(&context, text_of(""), &answer);
  }};
  await(probe_.waiting, 1);
  context.TryCancel();
  caller.join();
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::CANCELLED);
  await(probe_.waiting, 0);
  EXPECT_EQ(echo("after"), "after");
}

TEST_F(GrpcClient, LargeMessagesTravelInBothDirections) {
  start();
  for (const std::size_t bytes : {16u << 10, 17u << 10, 60u << 10, 66u << 10, 300u << 10, 5u << 20}) {
    std::string text(bytes, 'a');
    for (std::size_t i = 0; i < bytes; i += 977) text[i] = static_cast<char>('a' + i % 26);
    EXPECT_TRUE(echo(text) == text) << bytes;
  }
}

TEST_F(GrpcClient, LargeMessagesWithMetadataAndInStreamsArriveWhole) {
  start();
  std::string text(3u << 20, 'a');
  for (std::size_t i = 0; i < text.size(); i += 977) text[i] = static_cast<char>('a' + i % 26);
  ::grpc::ClientContext context;
  context.AddMetadata("echo-last", "1");
  grpc_probe::Text answer;
  ASSERT_TRUE(client_->Echo(&context, text_of(text), &answer).ok());
  EXPECT_TRUE(answer.text() == text);
  EXPECT_EQ(context.GetServerTrailingMetadata().count("echo-last"), 1u);
  ::grpc::ClientContext chat;
  const auto stream = client_->Chat(&chat);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(stream->Write(text_of(text)));
    ASSERT_TRUE(stream->Read(&answer));
    EXPECT_TRUE(answer.text() == text);
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(GrpcClient, MessagesOverTheLimitFailTheirCallOnly) {
  ServerOptions options;
  options.limits.body_bytes_max = 100'000;
  start(std::move(options));
  ::grpc::ClientContext context;
  grpc_probe::Text answer;
  const ::grpc::Status status = client_->Echo(&context, text_of(std::string(200'000, 'x')), &answer);
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("body_bytes_max"));
  EXPECT_EQ(echo("after"), "after");
}

TEST_F(GrpcClient, CompressedMessagesAreUnderstood) {
  start();
  for (const auto algorithm : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_NONE}) {
    ::grpc::ClientContext context;
    context.set_compression_algorithm(algorithm);
    context.AddMetadata("echo-last", "1");
    grpc_probe::Text answer;
    const std::string text(100'000, 'z');
    ASSERT_TRUE(client_->Echo(&context, text_of(text), &answer).ok());
    EXPECT_TRUE(answer.text() == text);
  }
  ::grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  grpc_probe::Text answer;
  const auto writer = client_->Join(&context, &answer);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(writer->Write(text_of(std::string(1000, 'y'))));
  writer->WritesDone();
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_EQ(answer.text(), std::string(3000, 'y'));
}

TEST_F(GrpcClient, UnknownCompressionIsRefusedByName) {
  start();
  ::grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_DEFLATE);
  grpc_probe::Text answer;
  const ::grpc::Status status = client_->Echo(&context, text_of(std::string(1000, 'z')), &answer);
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(echo("after"), "after");
}

TEST_F(GrpcClient, AReaderThatDoesNotReadHoldsBackItsStreamOnly) {
  start();
  ::grpc::ClientContext context;
  grpc_probe::Texts request;
  request.set_count(20'000);
  request.set_size(10'000);
  const auto reader = client_->Count(&context, request);
  grpc_probe::Text text;
  ASSERT_TRUE(reader->Read(&text));
  for (int i = 0; i < 200; ++i) ASSERT_EQ(echo("between"), "between");
  // 200 MB do not fit into any window.
  EXPECT_LT(probe_.counted, 20'000);
  EXPECT_EQ(probe_.counting, 1);
  context.TryCancel();
  await(probe_.counting, 0);
}

TEST_F(GrpcClient, AHandlerThatDoesNotReadHoldsBackItsStreamOnly) {
  ServerOptions options;
  options.limits.stream_window = 64 * 1024;
  start(std::move(options));
  constexpr int kTexts = 2000;
  ::grpc::ClientContext context;
  grpc_probe::Text answer;
  const auto writer = client_->JoinLate(&context, &answer);
  std::atomic<int> written = 0;
  std::thread thread{[&] {
    while (written < kTexts && writer->Write(text_of(std::string(10'000, 'x')))) ++written;
    writer->WritesDone();
  }};
  await(probe_.joining, 1);
  for (int i = 0; i < 200; ++i) ASSERT_EQ(echo("between"), "between");
  EXPECT_LT(written, kTexts);
  probe_.may_go = true;
  thread.join();
  EXPECT_TRUE(writer->Finish().ok());
  EXPECT_EQ(answer.text(), std::to_string(kTexts));
}

TEST_F(GrpcClient, CallsOfManyThreadsShareAConnection) {
  start();
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const std::string text = std::to_string(1000 * t + i);
        if (echo(text) == text) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 800);
}

TEST_F(GrpcClient, AStopLosesNoCall) {
  start();
  constexpr int kCalls = 20;
  std::atomic<int> good = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < kCalls; ++i) {
    callers.emplace_back([&] {
      ::grpc::ClientContext context;
      grpc_probe::Text answer;
      if (client_->Hold(&context, text_of("held"), &answer).ok() && answer.text() == "held") ++good;
    });
  }
  await(probe_.holding, kCalls);
  server_->stop(1min);
  probe_.may_go = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(good, kCalls);
  server_->wait();
}

TEST_F(GrpcClient, AForcedStopFailsItsCallsWithUnavailable) {
  start();
  ::grpc::Status status;
  std::thread caller{[&] {
    ::grpc::ClientContext context;
    grpc_probe::Text answer;
    status = client_->Wait(&context, text_of(""), &answer);
  }};
  await(probe_.waiting, 1);
  server_->stop(0s);
  caller.join();
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::UNAVAILABLE);
  server_->wait();
  EXPECT_EQ(probe_.waiting, 0);
}

TEST_F(GrpcClient, CallsAreCountedByMethod) {
  start();
  EXPECT_EQ(echo("x"), "x");
  ::grpc::ClientContext context;
  grpc_probe::Failure request;
  request.set_code(5);
  grpc_probe::Text answer;
  EXPECT_FALSE(client_->Fail(&context, request, &answer).ok());
  const ServerStats stats = server_->stats();
  const auto of = [&stats](std::string_view name) {
    for (const MethodStats& method : stats.methods) {
      if (method.name == name) return method;
    }
    return MethodStats{};
  };
  EXPECT_EQ(of("grpc_probe.Probe/Echo").answered, 1u);
  EXPECT_EQ(of("grpc_probe.Probe/Fail").failed_with(StatusCode::kNotFound), 1u);
}

TEST_F(GrpcClient, SamplesOfFailedCallsHaveTheirText) {
  ServerOptions options;
  options.limits.body_bytes_max = 1000;
  start(std::move(options));
  ::grpc::ClientContext failing;
  grpc_probe::Failure request;
  request.set_code(5);
  request.set_message("no such key");
  grpc_probe::Text answer;
  EXPECT_FALSE(client_->Fail(&failing, request, &answer).ok());
  ::grpc::ClientContext refused;
  EXPECT_FALSE(client_->Echo(&refused, text_of(std::string(2000, 'x')), &answer).ok());
  RawHttp http{server_->urls().front()};
  http.send("GET /calls HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string page = http.read().body;
  EXPECT_THAT(page, HasSubstr("no such key"));
  EXPECT_THAT(page, HasSubstr("body_bytes_max"));
}

class NoteCalls final : public ServerInterceptor {
 public:
  Status before(IncomingCall& call) override {
    if (call.metadata().find("stop-here")) return {StatusCode::kAborted, Layer::kUser, "stopped"};
    return {};
  }
  void after(const EndedCall&) noexcept override { ++ended; }
  std::atomic<int> ended = 0;
};

TEST_F(GrpcClient, CallsPassTheInterceptorsOfTheServer) {
  const auto noted = std::make_shared<NoteCalls>();
  ServerOptions options;
  options.interceptors = {noted};
  start(std::move(options));
  EXPECT_EQ(echo("x"), "x");
  ::grpc::ClientContext context;
  context.AddMetadata("stop-here", "1");
  grpc_probe::Text answer;
  const ::grpc::Status status = client_->Echo(&context, text_of("x"), &answer);
  EXPECT_EQ(status.error_code(), ::grpc::StatusCode::ABORTED);
  EXPECT_EQ(status.error_message(), "stopped");
  await(noted->ended, 1);
}

TEST_F(GrpcClient, TokensIdentifyTheCaller) {
  ServerOptions options;
  options.authenticator = authenticate_by([](const Credentials& credentials) noexcept {
    if (credentials.token == "good") return Result<Authenticated>{Authenticated{}};
    return Result<Authenticated>{Status{StatusCode::kUnauthenticated, Layer::kUser, "bad token"}};
  });
  start(std::move(options));
  for (const bool good : {true, false}) {
    ::grpc::ClientContext context;
    context.AddMetadata("authorization", good ? "Bearer good" : "Bearer bad");
    grpc_probe::Text answer;
    const ::grpc::Status status = client_->Echo(&context, text_of("x"), &answer);
    EXPECT_EQ(status.error_code(), good ? ::grpc::StatusCode::OK : ::grpc::StatusCode::UNAUTHENTICATED);
  }
}

TEST_F(GrpcClient, SharesThePortWithWeftAndHttp) {
  start();
  EXPECT_EQ(echo("by gRPC"), "by gRPC");
  BlockingClient client{{.connect = server_->urls().front()}};
  const auto sum = client.call<grpc_demo::add>(1, 2);
  ASSERT_TRUE(sum.ok()) << sum.status().to_string();
  EXPECT_EQ(*sum, 3);
  RawHttp http{server_->urls().front()};
  http.post("/grpc_probe.Probe/Echo", "{\"text\": \"by HTTP\"}");
  EXPECT_EQ(http.read().body, "{\"text\":\"by HTTP\"}");
}

#if WEFT_HAVE_TLS
TEST_F(GrpcClient, IsServedOverTls) {
  const TestCa ca;
  TransportOptions transports;
  transports.tls.certificates = {ca.issue()};
  ServerOptions options;
  options.listen = {"tls://127.0.0.1:0"};
  start(std::move(options), transports);
  ::grpc::SslCredentialsOptions ssl;
  ssl.pem_root_certs = ca.pem();
  connect(::grpc::SslCredentials(ssl));
  EXPECT_EQ(echo("over TLS"), "over TLS");
  EXPECT_EQ(echo(std::string(1'000'000, 'x')), std::string(1'000'000, 'x'));
}
#endif

}  // namespace
}  // namespace weft::testing
