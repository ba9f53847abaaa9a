// SPDX-License-Identifier: Apache-2.0
// Faults of bulk handles: whatever holders of a handle, and those who have none, ask for, and whenever its
// region ends, nothing beyond the region is read or written, its memory is given back, and each access ends
// once.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "integration/bulk/counted_pattern.hpp"
#include "integration/faults/faults_testing.hpp"
#include "integration/faults/hostile_peer.hpp"
#include "support/pattern.hpp"
#include "weft/detail/bulk/bulk_host.hpp"
#include "weft/detail/bulk/bulk_peer.hpp"
#include "weft/detail/wire/crc32c.hpp"
#if WEFT_BULK_OVER_TLS
#include "support/test_ca.hpp"
#endif
#if WEFT_BULK_OVER_VERBS
#include "support/rdma_devices.hpp"
#endif

namespace weft::bulk_attacks {

using namespace weft::detail;
namespace {

using faults::eventually;
using faults::frame_bytes;
using faults::HostileListener;
using faults::HostilePeer;
using faults::turn_until;
using testing::pattern;
using namespace std::chrono_literals;
using wire::FrameFlags;
using wire::FrameType;

// The methods as somebody calls them who leaves out what BulkPeer checks.
constexpr auto& raw_read =
    remote<"weft.bulk/read", Result<void>(const BulkHandle&, std::uint64_t, std::uint64_t)>;
constexpr auto& raw_write =
    remote<"weft.bulk/write", Result<void>(IncomingAttachment&, BulkHandle, std::uint64_t)>;

constexpr std::size_t kRegion = std::size_t{1} << 20;
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

/// A host on two loops of its own, and clients on the test's loop.
class BulkFaults : public faults::FaultTest {
 protected:
  void host_on(const std::string& url, RpcLimits limits = {}, bool checksums = false) {
    ServerOptions options{.listen = {url}, .threads = 2};
    options.checksums = checksums;
    options.limits = limits;
    options.logger = &logger();
    server = std::make_unique<Server>(std::move(options), transport(true));
    host.emplace(*server);
    server->start().value();
  }
  std::unique_ptr<Client> new_client() {
    return std::make_unique<Client>(
        loop(), ClientOptions{.connect = server->urls().front(), .logger = &logger()}, transport(false));
  }
  /// Shares a pattern; `live` counts those whose memory is there.
  BulkRegion share(std::size_t bytes, BulkRights rights = BulkRights::kReadAndWrite) {
    return host->share(testing::counted_pattern(bytes, live), rights).value();
  }
  /// A peer of bytes that said hello, and was greeted.
  HostilePeer greeted() const {
    HostilePeer peer{server->urls().front()};
    peer.send(faults::hello_bytes());
    EXPECT_TRUE(peer.receive_hello());
    return peer;
  }
  TransportOptions transport([[maybe_unused]] bool of_server) {
    TransportOptions options;
#if WEFT_BULK_OVER_TLS
    if (of_server) {
      options.tls = TlsOptions{.certificates = {ca_.issue()}, .logger = &logger()};
    } else {
      options.tls = TlsOptions{.ca_pem = ca_.pem()};
    }
#endif
#if WEFT_BULK_OVER_VERBS
    options.verbs.driver = &testing::rdma_devices();
    options.verbs.logger = &logger();
#endif
    return options;
  }

  std::atomic<int> live = 0;
  std::unique_ptr<Server> server;
  std::optional<BulkHost> host;
#if WEFT_BULK_OVER_TLS
  testing::TestCa ca_;
#endif
};

/// One access, the memory that it named, and its end.
struct Access {
  std::vector<std::byte> memory;
  MemoryLease lease;
  std::optional<Call<void>> call;
  std::optional<Result<void>> outcome;
};
Task<void> note_end(Call<void> call, Access* access) {
  Result<void> outcome = co_await std::move(call);
  access->outcome = std::move(outcome);
}

class BulkFaultsOver : public BulkFaults, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    const std::string url = GetParam();
    host_on(url.starts_with("unix") ? url + std::to_string(::getpid()) : url);
  }

  /// An access of `memory`, which a device may read and write where the carrier has one, unless it is short.
  Access access_of(const Client& client, std::vector<std::byte> memory) {
    Access access{.memory = std::move(memory), .lease = {}, .call = {}, .outcome = {}};
    if (access.memory.size() >= kRegion) access.lease = client.register_memory(access.memory).value();
    return access;
  }
  Access begin_read(Client& client, const BulkHandle& handle, std::uint64_t offset, std::size_t bytes) {
    Access access = access_of(client, std::vector<std::byte>(bytes));
    const CallOptions options{.landing = access.memory};
    access.call.emplace(client.start<raw_read>(options, handle, offset, std::uint64_t{bytes}));
    return access;
  }
  Access begin_write(Client& client, const BulkHandle& handle, std::size_t bytes) {
    Access access = access_of(client, pattern(bytes, 7));
    const CallOptions options{.attachment = Bytes{access.memory}};
    access.call.emplace(client.start<raw_write>(options, handle, std::uint64_t{0}));
    return access;
  }
};

// Everything that can end an access does so, after each number of the client's turns: the region's owner, the
// caller, and the connection. Memory that is used after its end is seen by the address sanitizer, and by what
// arrives.
TEST_P(BulkFaultsOver, EndAtAnyMomentOfTheirUseAndLeaveNothing) {
  const std::vector<std::byte> expected = pattern(kRegion);
  int whole = 0;
  int ended = 0;
  for (int moment = 0; moment < 32; ++moment) {
    SCOPED_TRACE("moment " + std::to_string(moment));
    const auto caller = new_client();
    ASSERT_TRUE(loop().block_on(caller->connect()).ok());
    BulkRegion readable = share(kRegion);
    BulkRegion writable = share(kRegion);
    // The carrier of the URL is up before the turns are counted.
    const std::uint64_t nothing = 0;
    ASSERT_TRUE(wait_for(caller->start<raw_read>(readable.handle(), nothing, nothing)).ok());
    std::vector<Access> accesses;
    for (int i = 0; i < 3; ++i) {
      accesses.push_back(begin_read(*caller, readable.handle(), 0, kRegion));
      accesses.push_back(begin_write(*caller, writable.handle(), kRegion));
    }
    // Each of the first turns, and later ones, after which some of it has moved.
    const int turns = moment < 16 ? moment / 2 : moment * 4;
    for (int turn = 0; turn < turns; ++turn) loop().run_once(0ms);
    readable.revoke();
    writable.revoke();
    const int how = moment % 4;
    if (how == 1) {
      // The calls are dropped, and their memory ends at once.
      accesses.clear();
    } else if (how == 2) {
      caller->close();
    }
    Scope scope;
    for (Access& each : accesses) scope.spawn(&note_end, *std::move(each.call), &each);
    if (how == 3) {
      loop().run_once(0ms);
      caller->close();
    }
    loop().block_on(faults::join(scope));
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      ASSERT_TRUE(accesses[i].outcome.has_value());
      const Status status = accesses[i].outcome->status();
      if (status.ok()) {
        ++whole;
        EXPECT_TRUE(i % 2 == 1 || accesses[i].memory == expected);
      } else {
        ++ended;
        const StatusCode code = status.code();
        EXPECT_TRUE(code == StatusCode::kNotFound || code == StatusCode::kCancelled ||
                    code == StatusCode::kUnavailable)
            << status.to_string();
      }
    }
    EXPECT_TRUE(turn_until(loop(), [&] { return live == 0; })) << live;
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(ended, 0);
}

TEST_P(BulkFaultsOver, AreReadByThousandsAtOnceBesideOthers) {
  constexpr std::size_t kBytes = 16 << 10;
  const std::vector<std::byte> expected = pattern(kRegion);
  BulkRegion region = share(kRegion);
  const auto many = new_client();
  const auto other = new_client();
  std::vector<Access> accesses;
  accesses.reserve(3000);
  Scope scope;
  for (std::size_t i = 0; i < 3000; ++i) {
    accesses.push_back(begin_read(*many, region.handle(), i * 301, kBytes));
    scope.spawn(&note_end, *std::move(accesses.back().call), &accesses.back());
  }
  BulkPeer peer{*other};
  std::vector<std::byte> some(kBytes);
  EXPECT_TRUE(loop().block_on(peer.read(region.handle(), 5, some)).ok());
  EXPECT_TRUE(testing::same_bytes(some, Bytes{expected}.subspan(5, kBytes)));
  EXPECT_FALSE(std::ranges::all_of(accesses, [](const Access& each) { return each.outcome.has_value(); }))
      << "the other one waited for all of them";
  loop().block_on(faults::join(scope));
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    ASSERT_TRUE(accesses[i].outcome->ok()) << i << ": " << accesses[i].outcome->status().to_string();
    ASSERT_EQ(std::memcmp(accesses[i].memory.data(), expected.data() + i * 301, kBytes), 0) << i;
  }
  region.revoke();
  EXPECT_TRUE(turn_until(loop(), [&] { return live == 0; }));
}

TEST_P(BulkFaultsOver, GiveNothingForOffsetsAndLengthsThatWrapAround) {
  BulkRegion region = share(1000);
  const BulkHandle handle = region.handle();
  const auto caller = new_client();
  const std::pair<std::uint64_t, std::uint64_t> parts[] = {
      {0, kMost},          {1, kMost}, {kMost, 1}, {kMost, kMost},
      {kMost - 999, 1000}, {1000, 1},  {501, 500}, {std::uint64_t{1} << 63, std::uint64_t{1} << 63}};
  for (const auto& [offset, bytes] : parts) {
    std::vector<std::byte> into(1000);
    const CallOptions options{.landing = into};
    const Result<void> outcome = wait_for(caller->start<raw_read>(options, handle, offset, bytes));
    EXPECT_EQ(outcome.status().code(), StatusCode::kOutOfRange) << offset << " " << bytes;
    EXPECT_TRUE(testing::all_are(into, std::byte{0}));
  }
  EXPECT_TRUE(wait_for(caller->start<raw_read>(handle, std::uint64_t{1000}, std::uint64_t{0})).ok());
  EXPECT_EQ(server->stats().protocol_errors, 0u);
}

const char* const kUrls[] = {
    "tcp://127.0.0.1:0",   "memory://bulk", "unix:///tmp/weft_bulk_faults_",
#if WEFT_BULK_OVER_TLS
    "tls://127.0.0.1:0",
#endif
#if WEFT_BULK_OVER_VERBS
    "verbs://127.0.0.1:0",
#endif
};
INSTANTIATE_TEST_SUITE_P(Each, BulkFaultsOver, ::testing::ValuesIn(kUrls));

TEST_F(BulkFaults, WhoNeverReadsWhatHeAskedForHoldsRevokedMemoryNoLongerThanAStallLasts) {
  RpcLimits limits;
  limits.stall_timeout = 200ms;
  host_on(faults::kAnyPort, limits);
  BulkRegion region = share(kRegion * 4);
  HostilePeer peer = greeted();
  for (std::uint64_t id = 1; id <= 200; ++id) {
    ASSERT_TRUE(peer.send(
        faults::request_bytes<raw_read>(id, region.handle(), std::uint64_t{0}, std::uint64_t{kRegion * 4})));
  }
  const auto honest = new_client();
  BulkPeer reads{*honest};
  std::vector<std::byte> into(kRegion);
  EXPECT_TRUE(loop().block_on(reads.read(region.handle(), 0, into)).ok());
  region.revoke();
  EXPECT_TRUE(eventually([&] { return live == 0; }));
  EXPECT_TRUE(peer.closed_by_other_side());
}

TEST_F(BulkFaults, AWriteThatIsAnnouncedAndNotSentHoldsRevokedMemoryNoLongerThanAFrameMayTake) {
  RpcLimits limits;
  limits.frame_timeout = 1s;
  host_on(faults::kAnyPort, limits);
  BulkRegion region = share(kRegion);
  HostilePeer peer = greeted();
  wire::FrameHeader header = faults::request_header<raw_write>(5);
  const std::string body = faults::body_of(region.handle(), std::uint64_t{0});
  header.flags = FrameFlags::kAttachment | FrameFlags::kInPieces | FrameFlags::kExpectsContinue;
  header.body_bytes = static_cast<std::uint32_t>(body.size());
  header.attachment_bytes = kRegion;
  std::string begun = faults::header_bytes(header);
  faults::append_padded(begun, body);
  ASSERT_TRUE(peer.send(begun));
  const auto asked = peer.receive_frame();
  ASSERT_TRUE(asked && asked->header.type == FrameType::kContinue);
  begun = faults::header_bytes(wire::PieceHead{.id = 5, .offset = 0, .bytes = 100'000}.header());
  faults::append_padded(begun, std::string(100'000, 'w'));
  ASSERT_TRUE(peer.send(begun));
  region.revoke();
  EXPECT_EQ(live, 1) << "the write, whose bytes were asked for, holds it";
  const auto answer = peer.receive_frame();
  ASSERT_TRUE(answer);
  EXPECT_EQ(wire::AnswerView{answer->header}.code(), static_cast<unsigned>(StatusCode::kUnavailable));
  EXPECT_TRUE(eventually([&] { return live == 0; }));
}

/// The same frame, which has no attachment, with its checksum.
std::string with_checksum(std::string frame) {
  std::string sum(8, '\0');
  const std::size_t size = wire::kHeaderBytes + wire::load_header(as_bytes(frame).data()).body_bytes;
  const std::uint32_t value = wire::crc32c(as_bytes(frame).first(size));
  std::memcpy(sum.data(), &value, sizeof value);
  return std::move(frame) + sum;
}

// The attachment that it is sent is copied, for there are checksums, and whole, for it knows no pieces.
TEST_F(BulkFaults, WhoTakesNoPiecesIsNotCopiedMoreThanThereIsMemoryFor) {
  RpcLimits limits;
  limits.process_memory_max = 16 << 20;
  host_on(faults::kAnyPort, limits, true);
  BulkRegion region = share(32 << 20);
  HostilePeer peer{server->urls().front()};
  peer.send(faults::hello_bytes(wire::Features::kChecksum, wire::Features::kChecksum));
  ASSERT_TRUE(peer.receive_hello());
  const auto code_of_read = [&](std::uint64_t id, std::uint64_t bytes) {
    peer.send(with_checksum(faults::request_bytes<raw_read>(id, region.handle(), std::uint64_t{0}, bytes)));
    const auto answer = peer.receive_frame(true);
    if (!answer || answer->header.id != id) return StatusCode::kUnknown;
    if (answer->header.following_bytes() != 0) peer.receive(8);  // the attachment's checksum
    return static_cast<StatusCode>(wire::AnswerView{answer->header}.code());
  };
  EXPECT_EQ(code_of_read(1, 1 << 20), StatusCode::kOk);
  EXPECT_EQ(code_of_read(2, 32 << 20), StatusCode::kResourceExhausted);
  EXPECT_EQ(code_of_read(3, 1 << 20), StatusCode::kOk);
  region.revoke();
  EXPECT_TRUE(eventually([&] { return live == 0; }));
}

TEST_F(BulkFaults, ReadsOfNothingAndGuessesByTheHundredThousandAreAnsweredAndLeaveNothing) {
  host_on(faults::kAnyPort);
  BulkRegion region = share(1000);
  HostilePeer peer = greeted();
  std::uint64_t id = 0;
  for (int batch = 0; batch < 200; ++batch) {
    std::string requests;
    for (int i = 0; i < 500; ++i) {
      BulkHandle handle = region.handle();
      if (i % 2 == 1) handle.key_low += ++id;
      requests += faults::request_bytes<raw_read>(++id, handle, std::uint64_t{999}, std::uint64_t{0});
    }
    ASSERT_TRUE(peer.send(requests));
    for (int i = 0; i < 500; ++i) {
      const auto answer = peer.receive_frame();
      ASSERT_TRUE(answer);
      const unsigned code = wire::AnswerView{answer->header}.code();
      ASSERT_TRUE(code == 0 || code == static_cast<unsigned>(StatusCode::kNotFound)) << code;
      ASSERT_EQ(answer->header.following_bytes(), 0u);
    }
  }
  region.revoke();
  EXPECT_EQ(live, 0);
}

/// Outcome of a read of 64 bytes from a server of bytes that answers it.
class BulkReadsOfAServer : public BulkFaults {
 protected:
  template <typename Answer>
  Status read_from(Answer answer) {
    HostileListener listener;
    std::thread thread{[&] {
      HostilePeer peer = listener.accept();
      if (!peer.send(faults::hello_bytes()) || !peer.receive_hello()) return;
      const auto request = peer.receive_frame();
      if (!request) return;
      peer.send(answer(request->header.id));
      while (peer.receive_frame()) {
      }
    }};
    Client& caller = client(listener.url());
    BulkPeer peer{caller};
    std::vector<std::byte> memory(64 * 3);
    BulkHandle handle{.region = 1, .bytes = 64};
    const CallOptions options{.timeout = 500ms};
    const Result<void> outcome =
        loop().block_on(peer.read(handle, 0, MutableBytes{memory}.subspan(64, 64), options));
    const auto zero = [](std::byte each) { return each == std::byte{0}; };
    EXPECT_TRUE(std::all_of(memory.begin(), memory.begin() + 64, zero));
    EXPECT_TRUE(std::all_of(memory.end() - 64, memory.end(), zero));
    caller.close();
    thread.join();
    return outcome.status();
  }
};

TEST_F(BulkReadsOfAServer, ThatSendsMoreOrFewerBytesOrNoneFailAndWriteNothingElse) {
  const auto with = [](std::size_t bytes) {
    return [bytes](std::uint64_t id) {
      return frame_bytes({.type = FrameType::kAnswer, .id = id}, "", std::string(bytes, 'a'));
    };
  };
  EXPECT_TRUE(read_from(with(64)).ok());
  EXPECT_EQ(read_from(with(63)).code(), StatusCode::kInternal);
  EXPECT_EQ(read_from(with(0)).code(), StatusCode::kInternal);
  EXPECT_EQ(read_from(with(65)).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(read_from(with(3'000'000)).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(read_from([](std::uint64_t id) {
              wire::FrameHeader header = wire::AnswerHead{.id = id, .attachment_bytes = 64}.header();
              header.flags = FrameFlags::kAttachment | FrameFlags::kInPieces;
              std::string bytes = faults::header_bytes(header);
              bytes += faults::header_bytes(
                  wire::PieceHead{.id = id, .offset = 0, .bytes = 8, .of_answer = true}.header());
              faults::append_padded(bytes, std::string(8, 'p'));
              return bytes;
            }).code(),
            StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace weft::bulk_attacks
