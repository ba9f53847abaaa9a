// SPDX-License-Identifier: Apache-2.0
// CR-8: attachments travel in pieces over each carrier: other frames pass them, they take turns, a transfer
// that is given up ends on the wire, a handler is told how far they have come, and checksums cover them.
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"
#if WEFT_PIECES_OVER_TLS
#include "support/test_ca.hpp"
#endif
#if WEFT_PIECES_OVER_VERBS
#include "support/rdma_devices.hpp"
#include "support/simulated_rdma.hpp"
#endif

namespace weft::testing::pieces_over_tests {
namespace {

constexpr std::size_t kMany = std::size_t{64} << 20;
/// More than a piece has on any carrier.
constexpr std::size_t kSome = std::size_t{2} << 20;
/// Bytes of kMany that may have left before a transfer ends that is given up after kSome: those that wait in
/// sockets, and a few pieces of 1 MiB at most.
constexpr std::uint64_t kFewBytes = std::uint64_t{16} << 20;

int small(int number) {
  return number;
}

/// Lets a device read and write `memory`.
template <typename Endpoint>
MemoryLease registered(const Endpoint& endpoint, std::vector<std::byte>& memory) {
  if (memory.empty()) return {};
  Result<MemoryLease> lease = endpoint.register_memory(memory);
  EXPECT_TRUE(lease.ok()) << lease.status().to_string();
  if (!lease.ok()) return {};
  EXPECT_FALSE(lease->empty());
  return *std::move(lease);
}

/// Notes in which order calls began, and what became of their answers. Thread: any.
class Journal {
 public:
  std::size_t take(CallContext& context, int name) {
    began(name);
    return context.attachment().size();
  }
  int small(int name) {
    began(name);
    return name;
  }
  std::size_t produce(CallContext& context, std::uint64_t bytes) {
    context.set_attachment(produced(bytes));
    context.on_answer_sent([notes = notes_](bool sent) {
      const std::lock_guard lock{notes->mutex};
      notes->sent.push_back(sent);
    });
    return bytes;
  }
  /// Receives it, and returns how often it was told how far it is. Fails when something was counted that is
  /// not there.
  Task<Result<std::uint64_t>> land(IncomingAttachment& data) {
    const std::vector<std::byte> expected = pattern(data.size());
    std::vector<std::byte> memory(data.size());
    const MemoryLease lease = registers_with != nullptr ? registered(*registers_with, memory) : MemoryLease{};
    std::uint64_t times = 0;
    std::uint64_t here = 0;
    bool is_right = true;
    TransferProgress progress;
    progress.on_change([&](const TransferProgress& now) {
      const std::uint64_t more = now.received() - here;
      is_right = is_right && more != 0 && now.to_receive() == memory.size() &&
                 same_bytes(Bytes{memory}.subspan(here, more), Bytes{expected}.subspan(here, more));
      here = now.received();
      ++times;
    });
    const Result<void> whole = co_await data.into(memory, &progress);
    if (!whole.ok()) co_return whole.status();
    if (!is_right || here != memory.size()) co_return user_error(1, "it was told something else");
    co_return times;
  }
  std::size_t produce_and_hang_up(CallContext& context, std::uint64_t bytes) {
    context.close_connection();
    return produce(context, bytes);
  }

  /// Server with which the memory of attachments is registered, if it is. Set before that begins.
  const Server* registers_with = nullptr;

  std::vector<int> order() const {
    const std::lock_guard lock{notes_->mutex};
    return notes_->order;
  }
  /// Says of each answer that has left, or never will, which of these it is.
  std::vector<bool> answers_sent() const {
    const std::lock_guard lock{notes_->mutex};
    return notes_->sent;
  }

 private:
  struct Notes {
    std::mutex mutex;
    std::vector<int> order;
    std::vector<bool> sent;
  };
  Buffer produced(std::uint64_t bytes) const {
    if (registers_with == nullptr) return Buffer::adopt(pattern(bytes));
    struct Owner {
      std::vector<std::byte> memory;
      MemoryLease lease;
    };
    auto* const owner = new Owner{pattern(bytes), {}};
    owner->lease = registered(*registers_with, owner->memory);
    return Buffer::adopt(owner->memory, owner, [](void* each) noexcept {
      const std::unique_ptr<Owner> ended{static_cast<Owner*>(each)};
    });
  }
  void began(int name) {
    const std::lock_guard lock{notes_->mutex};
    notes_->order.push_back(name);
  }

  /// Answers end with their server, which is after this.
  std::shared_ptr<Notes> notes_ = std::make_shared<Notes>();
};

struct Way {
  const char* name;
  const char* url;
  /// The server runs on the loop of the client. UCX takes memory back with the help of the peer, which has to
  /// run meanwhile; so does RDMA where a device has the memory.
  bool here = true;
  /// The memory of all attachments is registered, so that a device moves them. Whoever gives such a transfer
  /// up waits until the peer's device is done with the memory, and ends the connection when the peer has not
  /// said so within 50 ms, or less if that happened lately: a peer whose thread gets no processor for so long
  /// costs it. No other way loses its connection for that.
  bool by_device = false;
};

class PiecesOver : public RpcTest, public ::testing::WithParamInterface<Way> {
 protected:
  template <typename Fill>
  Server& serve_over(Fill fill, ServerOptions options = {}) {
    const std::string url = GetParam().url;
    options.listen = {url.starts_with("unix") ? url + std::to_string(::getpid()) : url};
    options.threads = 1;
    be_server();
    Server& server = GetParam().here ? serve_here(std::move(options), fill) : serve(std::move(options), fill);
    be_client();
    return server;
  }
  Server& serve_journal(ServerOptions options = {}) {
    const auto fill = [this](Server& server) {
      server.register_handler<&Journal::take>(&journal);
      server.register_handler<&Journal::small>(&journal);
      server.register_handler<&Journal::produce>(&journal);
      server.register_handler<&Journal::land>(&journal);
      server.register_handler<&Journal::produce_and_hang_up>(&journal);
      if (GetParam().by_device) journal.registers_with = &server;
    };
    return serve_over(fill, std::move(options));
  }

  /// Registers memory with which `caller` makes calls, where a device is to have it.
  static MemoryLease lent(const Client& caller, std::vector<std::byte>& memory) {
    return GetParam().by_device ? registered(caller, memory) : MemoryLease{};
  }
  /// Calls behind a transfer that was given up: on its connection, or, where that may have ended for it, on
  /// the one that follows.
  template <auto M, typename... Arguments>
  auto call_behind(Client& caller, const Arguments&... arguments) {
    auto result = call<M>(caller, arguments...);
    if (!GetParam().by_device) return result;
    EXPECT_TRUE(turn_until(loop(), [&] {
      if (result.status().code() != StatusCode::kUnavailable) return true;
      result = call<M>(caller, arguments...);
      return false;
    }));
    return result;
  }
  static void expect_connection_stands(const Client& caller) {
    if (!GetParam().by_device) {
      EXPECT_EQ(caller.stats().connections, 1u);
    }
  }

  Journal journal;

#if WEFT_PIECES_OVER_VERBS
  void SetUp() override {
    transport_options.verbs.driver = &rdma_devices();
    read_before_ = devices().counters().read_bytes;
  }
  void TearDown() override { EXPECT_EQ(devices().faults(), std::vector<std::string>{}); }
  /// A device has fetched most of `bytes`, where it is its business.
  void expect_fetched(std::uint64_t bytes) {
    if (GetParam().by_device) {
      EXPECT_GE(devices().counters().read_bytes - read_before_, bytes / 2);
    }
  }

 private:
  static SimulatedRdma& devices() { return static_cast<SimulatedRdma&>(rdma_devices()); }

  std::uint64_t read_before_ = 0;
#else
  static void expect_fetched(std::uint64_t) {}
#endif

 private:
  // What is made next. In no template: g++ 12 ends with an error of its own there.
#if WEFT_PIECES_OVER_TLS
  void be_server() {
    transport_options.tls = TlsOptions{.certificates = { ca_.issue() }};
  }
  void be_client() { transport_options.tls = TlsOptions{.ca_pem = ca_.pem()}; }

  TestCa ca_;
#else
  void be_server() {}
  void be_client() {}
#endif
};

TEST_P(PiecesOver, LetSmallCallsPass) {
  Client& caller = client(serve_journal());
  ASSERT_TRUE(connect(caller).ok());
  std::vector<std::byte> memory(kMany);
  const MemoryLease lease = lent(caller, memory);
  auto large = caller.start<&Journal::take>(CallOptions{.attachment = Bytes{memory}}, 1);
  auto little = caller.start<&Journal::small>(2);
  EXPECT_EQ(wait_for(std::move(little)).value(), 2);
  EXPECT_EQ(wait_for(std::move(large)).value(), kMany);
  EXPECT_EQ(journal.order(), (std::vector<int>{2, 1}));
  expect_fetched(kMany);
}

TEST_P(PiecesOver, OfSeveralAttachmentsTakeTurns) {
  Client& caller = client(serve_journal());
  ASSERT_TRUE(connect(caller).ok());
  std::vector<std::byte> memory(kMany);
  const MemoryLease lease = lent(caller, memory);
  auto large = caller.start<&Journal::take>(CallOptions{.attachment = Bytes{memory}}, 1);
  auto medium = caller.start<&Journal::take>(CallOptions{.attachment = Bytes{memory}.first(kSome)}, 2);
  EXPECT_EQ(wait_for(std::move(medium)).value(), kSome);
  EXPECT_FALSE(large.done());
  EXPECT_EQ(wait_for(std::move(large)).value(), kMany);
  EXPECT_EQ(journal.order(), (std::vector<int>{2, 1}));
}

TEST_P(PiecesOver, OfAnswersTakeTurnsAndLandInTheirOwnPlaces) {
  Client& caller = client(serve_journal());
  std::vector<std::byte> first(kMany);
  std::vector<std::byte> second(kSome + 1);
  const MemoryLease leases[] = {lent(caller, first), lent(caller, second)};
  auto large = caller.start<&Journal::produce>(CallOptions{.landing = first}, kMany);
  auto medium = caller.start<&Journal::produce>(CallOptions{.landing = second}, kSome + 1);
  EXPECT_EQ(wait_for(std::move(medium)).value(), kSome + 1);
  EXPECT_FALSE(large.done());
  EXPECT_EQ(wait_for(std::move(large)).value(), kMany);
  EXPECT_TRUE(same_bytes(first, pattern(kMany)));
  EXPECT_TRUE(same_bytes(second, pattern(kSome + 1)));
  expect_fetched(kMany + kSome);
  ASSERT_TRUE(turn_until(loop(), [&] { return journal.answers_sent().size() == 2; }));
  EXPECT_EQ(journal.answers_sent(), (std::vector<bool>{true, true}));
}

TEST_P(PiecesOver, OfARequestThatIsCancelledStayAway) {
  Server& server = serve_journal();
  Client& caller = client(server);
  ASSERT_TRUE(connect(caller).ok());
  std::vector<std::byte> memory(kMany);
  const MemoryLease lease = lent(caller, memory);
  {
    auto dropped = caller.start<&Journal::take>(CallOptions{.attachment = Bytes{memory}}, 1);
    ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().traffic.bytes_received >= kSome; }));
  }
  std::ranges::fill(memory, std::byte{1});  // it is the caller's again
  EXPECT_EQ(call_behind<&Journal::small>(caller, 2).value(), 2);
  EXPECT_THAT(journal.order(), ::testing::Each(2));
  EXPECT_LT(server.stats().traffic.bytes_received, kFewBytes);
  EXPECT_EQ(server.stats().protocol_errors, 0u);
  EXPECT_EQ(call_behind<&Journal::take>(caller, CallOptions{.attachment = Bytes{memory}}, 3).value(), kMany);
  expect_connection_stands(caller);
}

TEST_P(PiecesOver, OfAnAnswerThatIsCancelledStayAway) {
  Server& server = serve_journal();
  Client& caller = client(server);
  std::vector<std::byte> landing(kMany);
  MemoryLease lease = lent(caller, landing);
  {
    auto dropped = caller.start<&Journal::produce>(CallOptions{.landing = landing}, kMany);
    ASSERT_TRUE(turn_until(loop(), [&] { return caller.stats().traffic.bytes_received >= kSome; }));
  }
  lease.end();
  landing.clear();
  landing.shrink_to_fit();  // the sanitizer sees it when something still lands here
  EXPECT_EQ(call_behind<&Journal::small>(caller, 2).value(), 2);
  ASSERT_TRUE(turn_until(loop(), [&] { return !journal.answers_sent().empty(); }));
  EXPECT_EQ(journal.answers_sent(), (std::vector<bool>{false}));
  EXPECT_LT(server.stats().traffic.bytes_sent, kFewBytes);
  expect_connection_stands(caller);
}

TEST_P(PiecesOver, OfAnAnswerThatNobodyTakesAreNotSent) {
  Server& server = serve_journal();
  Client& caller = client(server);
  EXPECT_EQ(loop().block_on(caller.call<&Journal::produce>(kMany)).value(), kMany);
  std::vector<std::byte> too_small(10);
  EXPECT_EQ(call_behind<&Journal::produce>(caller, CallOptions{.landing = too_small}, kMany).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(call_behind<&Journal::small>(caller, 2).value(), 2);
  EXPECT_LT(server.stats().traffic.bytes_sent, kFewBytes);
}

TEST_P(PiecesOver, OfARequestThatIsRefusedAreNotSent) {
  Server& server = serve_over([](Server& its) { its.register_handler<small>(); });
  Client& caller = client(server);
  std::vector<std::byte> memory(kMany);
  const MemoryLease lease = lent(caller, memory);
  EXPECT_EQ(call_behind<small>(caller, CallOptions{.attachment = Bytes{memory}}, 1).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(call_behind<small>(caller, 1).value(), 1);
  EXPECT_LT(server.stats().traffic.bytes_received, kFewBytes);
}

TEST_P(PiecesOver, AreCountedForTheHandlerThatReceivesThem) {
  Client& caller = client(serve_journal());
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1000}, kSome + 1, 8 * kSome}) {
    std::vector<std::byte> sent = pattern(bytes);
    const MemoryLease lease = lent(caller, sent);
    const auto times = call<&Journal::land>(caller, CallOptions{.attachment = Bytes{sent}});
    ASSERT_TRUE(times.ok()) << bytes << ": " << times.status().to_string();
    EXPECT_EQ(*times == 0, bytes == 0) << bytes;
  }
}

TEST_P(PiecesOver, CarryChecksums) {
  ServerOptions options;
  options.checksums = true;
  Client& caller = client(serve_journal(std::move(options)));
  for (const std::size_t bytes : {std::size_t{200'001}, kSome + 3, 4 * kSome}) {
    std::vector<std::byte> landing(bytes);
    const MemoryLease lease = lent(caller, landing);
    EXPECT_EQ(call<&Journal::produce>(caller, CallOptions{.landing = landing}, bytes).value(), bytes);
    EXPECT_TRUE(same_bytes(landing, pattern(bytes))) << bytes;
    EXPECT_EQ(call<&Journal::take>(caller, CallOptions{.attachment = Bytes{landing}}, 1).value(), bytes);
    EXPECT_TRUE(call<&Journal::land>(caller, CallOptions{.attachment = Bytes{landing}}).ok());
  }
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_P(PiecesOver, AreSentBeforeTheirConnectionEnds) {
  Client& caller = client(serve_journal());
  std::vector<std::byte> landing(kMany);
  const MemoryLease lease = lent(caller, landing);
  EXPECT_EQ(call<&Journal::produce_and_hang_up>(caller, CallOptions{.landing = landing}, kMany).value(),
            kMany);
  EXPECT_TRUE(same_bytes(landing, pattern(kMany)));
}

const Way kWays[] = {
    {"Tcp", "tcp://127.0.0.1:0"},        {"Unix", "unix:///tmp/weft_pieces_"},
    {"Memory", "memory://pieces"},
#if WEFT_PIECES_OVER_TLS
    {"Tls", "tls://127.0.0.1:0"},
#endif
#if WEFT_PIECES_OVER_UCX
    {"Ucx", "ucx://127.0.0.1:0", false},
#endif
#if WEFT_PIECES_OVER_VERBS
    {"Verbs", "verbs://127.0.0.1:0"},    {"VerbsByDevice", "verbs://127.0.0.1:0", false, true},
#endif
};
INSTANTIATE_TEST_SUITE_P(Each, PiecesOver, ::testing::ValuesIn(kWays),
                         [](const auto& its) { return std::string{its.param.name}; });

}  // namespace
}  // namespace weft::testing::pieces_over_tests
