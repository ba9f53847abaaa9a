// SPDX-License-Identifier: Apache-2.0
// Faults, part "resources and load": no descriptors left, and other reasons why nobody can be accepted.
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/hostile_peer.hpp"

namespace weft::faults::resources_tests {

using namespace weft::detail;
namespace {

/// A server in a process of its own, so that it may run out of descriptors alone.
class StarvedServer {
 public:
  explicit StarvedServer(rlim_t descriptors) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) serve(ends[1], descriptors);
    ::close(ends[1]);
    char byte = 0;
    while (::read(ends[0], &byte, 1) == 1 && byte != '\n') url_.push_back(byte);
    ::close(ends[0]);
  }
  StarvedServer(const StarvedServer&) = delete;
  StarvedServer& operator=(const StarvedServer&) = delete;
  ~StarvedServer() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  const std::string& url() const { return url_; }

  /// Returns how often its loop has turned.
  std::uint64_t turns() { return loop_->stats().turns; }

 private:
  [[noreturn]] void serve(int to_parent, rlim_t descriptors);

  pid_t pid_ = -1;
  std::string url_;
  std::unique_ptr<Loop> loop_;
};

void StarvedServer::serve(int to_parent, rlim_t descriptors) {
  LoopOptions loop_options;
  loop_options.mode = WaitMode::kWait;
  loop_ = Loop::create(loop_options).value();
  CountingLogger logger;
  TransportOptions transport;
  transport.tcp.logger = &logger;
  ServerOptions options;
  options.listen = {kAnyPort};
  options.threads = 0;
  options.loop = loop_.get();
  options.limits.ping_interval = 0s;
  Server server{std::move(options), std::move(transport)};
  server.register_handler<&StarvedServer::turns>(this);
  if (!server.start().ok()) std::_Exit(1);
  const std::string line = server.urls().front() + "\n";
  const int next_free = ::dup(to_parent);
  const rlimit limit{static_cast<rlim_t>(next_free) + descriptors,
                     static_cast<rlim_t>(next_free) + descriptors};
  ::close(next_free);
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) std::_Exit(1);
  if (::write(to_parent, line.data(), line.size()) < 0) std::_Exit(1);
  loop_->run();
  std::_Exit(0);
}

std::optional<std::uint64_t> ask_turns(HostilePeer& peer, std::uint64_t id) {
  if (!peer.send(frame_bytes(request_header<&StarvedServer::turns>(id)))) return std::nullopt;
  const auto answer = peer.receive_frame();
  if (!answer || !wire::AnswerView{answer->header}.succeeded()) return std::nullopt;
  std::uint64_t turns = 0;
  DecodeArena arena;
  if (!decode_from(as_bytes(answer->body), arena, turns).ok()) return std::nullopt;
  return turns;
}

using Resources = FaultTest;

TEST_F(Resources, AServerWithoutDescriptorsDoesNotSpinAndAcceptsAgainWhenSomeAreFree) {
  constexpr std::size_t kRoom = 8;
  StarvedServer server{kRoom};
  ASSERT_FALSE(server.url().empty());
  std::vector<HostilePeer> peers;
  for (std::size_t i = 0; i < kRoom * 2; ++i) {
    peers.emplace_back(server.url());
    ASSERT_TRUE(peers.back().connected());
    ASSERT_TRUE(peers.back().send(hello_bytes()));
  }
  for (std::size_t i = 0; i < kRoom; ++i) ASSERT_TRUE(peers[i].receive_hello()) << i;
  const auto turns_before = ask_turns(peers[0], 1);
  EXPECT_FALSE(peers.back().readable_within(600ms)) << "there is no descriptor for this one";
  const auto turns_after = ask_turns(peers[0], 2);
  ASSERT_TRUE(turns_before && turns_after);
  std::printf("%llu turns while no descriptor was free\n",
              static_cast<unsigned long long>(*turns_after - *turns_before));
  EXPECT_LT(*turns_after - *turns_before, 50u);
  for (std::size_t i = 1; i < kRoom; ++i) peers[i].close();
  for (std::size_t i = kRoom; i < kRoom * 2 - 1; ++i) EXPECT_TRUE(peers[i].receive_hello()) << i;
  peers[0].close();
  EXPECT_TRUE(peers.back().receive_hello());
}

/// The socket of this process that listens at `url`; -1 when there is none.
int listening_descriptor(const std::string& url) {
  const std::uint16_t port = Url::parse(url).value().port;
  for (int fd = 0; fd < 1024; ++fd) {
    int listens = 0;
    socklen_t length = sizeof listens;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || listens == 0) continue;
    sockaddr_in address{};
    length = sizeof address;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
        ntohs(address.sin_port) == port) {
      return fd;
    }
  }
  return -1;
}

using StillResources = StillFaultTest;

TEST_F(StillResources, AnErrorOfAcceptThatLastsCostsFewTurnsAndOneLineASecondAndEndsWithinASecond) {
  Server& server = serve(ServerOptions{}, [](Server& s) { s.register_handler<&add>(); });
  ASSERT_TRUE(wait_for(client().start<&add>(1, 2)).ok());
  const int listening = listening_descriptor(server.urls().front());
  ASSERT_GE(listening, 0);
  // Shut like this it listens no more, and every accept says EINVAL, which no peer is the reason of.
  ASSERT_EQ(::shutdown(listening, SHUT_RDWR), 0);
  const std::uint64_t turns = loop().stats().turns;
  const std::uint64_t lines = logger().lines;
  for (int i = 0; i < 40; ++i) pass(250ms);
  EXPECT_LE(loop().stats().turns - turns, 40u * 8);
  EXPECT_GE(logger().lines - lines, 1u);
  EXPECT_LE(logger().lines - lines, 11u);
  ASSERT_EQ(::listen(listening, 16), 0);
  sockaddr_in address{};  // listening again, it may have got another port
  socklen_t length = sizeof address;
  ASSERT_EQ(::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &length), 0);
  HostilePeer late{"tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port))};
  ASSERT_TRUE(late.connected());
  pass(1s);
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 2; }));
}

/// A handler that keeps the only worker until it is let go.
struct Busy {
  std::atomic<int> begun = 0;
  std::atomic<bool> let_go = false;

  int work(int value) {
    ++begun;
    let_go.wait(false);
    return value;
  }
};

TEST_F(StillResources, CallsThatExpireWhileTheyWaitForAWorkerNeverRun) {
  constexpr int kCalls = 100;
  Busy busy;
  ServerOptions options;
  options.worker_threads = 1;
  Server& server = serve(std::move(options),
                         [&](Server& s) { s.register_handler<&Busy::work>(&busy, {.blocking = true}); });
  Client& caller = client();
  Call<int> first = caller.start<&Busy::work>(7);
  ASSERT_TRUE(turn_until(loop(), [&] { return busy.begun == 1; }));
  std::vector<Call<int>> calls;
  for (int i = 0; i < kCalls; ++i) calls.push_back(caller.start<&Busy::work>(CallOptions{.timeout = 1s}, i));
  ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == kCalls + 1; }));
  pass(1s);
  busy.let_go = true;
  busy.let_go.notify_all();
  const Result<int> value = wait_for(std::move(first));
  EXPECT_TRUE(value.ok() && *value == 7) << value.status().to_string();
  for (Call<int>& call : calls) {
    EXPECT_EQ(wait_for(std::move(call)).status().code(), StatusCode::kDeadlineExceeded);
  }
  EXPECT_TRUE(turn_until(loop(), [&] { return server.stats().calls_running == 0; }));
  EXPECT_EQ(busy.begun, 1);
}

}  // namespace
}  // namespace weft::faults::resources_tests
