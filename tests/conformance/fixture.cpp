// SPDX-License-Identifier: Apache-2.0
#include "conformance/fixture.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "support/pattern.hpp"
#include "weft/detail/transport/shared_memory.hpp"

#if WEFT_TEST_TLS
#include "support/test_ca.hpp"
#include "weft/detail/transport/tls.hpp"
#endif
#if WEFT_TEST_UCX
#include "weft/detail/transport/ucx.hpp"
#endif
#if WEFT_TEST_VERBS
#include "support/rdma_devices.hpp"
#include "support/routed_host.hpp"
#include "support/tight_verbs.hpp"
#include "weft/detail/transport/verbs.hpp"
#endif

namespace weft::conformance {

using namespace weft::detail;

Status Recorder::on_hello(const wire::Hello& hello) {
  EXPECT_FALSE(closed()) << "a hello after the end";
  hellos.push_back(hello);
  if (during_hello) during_hello();
  return {};
}

Status Recorder::on_frames(std::span<const Frame> batch, const ChunkRef& chunk) {
  EXPECT_FALSE(closed()) << "frames after the end";
  EXPECT_EQ(hellos.size(), 1u) << "frames before the hello";
  batches.push_back(batch.size());
  for (const Frame& frame : batch) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(frame.body.data()) % 8, 0u) << "a body is not aligned";
    frames.push_back({frame.header, std::string{as_text(frame.body)}, {}, false});
  }
  if (retained != nullptr) retained->push_back(chunk);
  return during_frames ? during_frames(batch) : Status{};
}

Landing Recorder::on_attachment(const Frame& frame) {
  EXPECT_FALSE(closed()) << "an attachment after the end";
  ++asked_landing;
  if (landing == Landing::Kind::kSkip) return Landing::skip();
  memory.assign(frame.header.attachment_bytes, '?');
  return Landing::into({reinterpret_cast<std::byte*>(memory.data()), memory.size()});
}

Status Recorder::on_attachment_end(const Frame& frame, const ChunkRef& chunk, bool landed) {
  EXPECT_FALSE(closed()) << "the end of an attachment after the end";
  EXPECT_TRUE(chunk) << "a body without its chunk";
  frames.push_back({frame.header, std::string{as_text(frame.body)}, landed ? memory : std::string{}, landed});
  return {};
}

void Recorder::on_closed(Status status) {
  ++closings;
  EXPECT_EQ(closings, 1) << "closed twice";
  why = std::move(status);
}

std::string hello_text() {
  return wire::encode_hello({});
}

std::string pattern(std::size_t size, unsigned seed) {
  return std::string{as_text(testing::pattern(size, seed))};
}

void Peer::send_hello(wire::Hello hello) {
  hello.carriers = connection->carrier_offers();
  const std::string text = wire::encode_hello(hello);
  std::memcpy(outbox().append(text.size()), text.data(), text.size());
}

void Peer::send(wire::FrameHeader header, std::string_view body, bool checksum) {
  const std::string text = frame_head(header, body, checksum);
  std::memcpy(outbox().append(text.size()), text.data(), text.size());
}

void Peer::request_with(std::uint64_t id, CountedLease& lease, std::string_view body, bool checksum) {
  send({.type = wire::FrameType::kRequest,
        .flags = wire::FrameFlags::kAttachment,
        .id = id,
        .attachment_bytes = lease.bytes.size()},
       body, checksum);
  ASSERT_TRUE(outbox().append_leased(as_bytes(lease.bytes), lease));
}

void Peer::send_raw(std::string_view bytes) {
  CountedLease lease{std::string{bytes}};
  while (!lease.bytes.empty()) {
    CountedLease piece{lease.bytes.substr(0, 1000)};
    lease.bytes.erase(0, piece.bytes.size());
    ASSERT_TRUE(outbox().append_leased(as_bytes(piece.bytes), piece, true));
    ASSERT_EQ(piece.released, 1) << "small pieces are copied";
  }
}

std::vector<const char*> all_transports() {
  std::vector<const char*> all{"memory", "tcp4", "tcp6", "unix", "shm", "shm_tight"};
#if WEFT_TEST_TLS
  all.push_back("tls");
#else
  std::puts("[  LEFT OUT ] the conformance suite over TLS: this build has none");
#endif
#if WEFT_TEST_UCX
  all.insert(all.end(), {"ucx_tcp", "ucx_shm", "ucx_none"});
#else
  std::puts("[  LEFT OUT ] the conformance suite over UCX: this build has none");
#endif
#if WEFT_TEST_VERBS
  all.insert(all.end(), {"verbs", "verbs_tight", "verbs_cm"});
#else
  std::puts("[  LEFT OUT ] the conformance suite over RDMA: this build has none");
#endif
  return all;
}

namespace {

// UCX's own TCP, shared memory with failures, and shared memory without them, where each connection has a
// worker of its own.
std::unique_ptr<Transport> make_ucx([[maybe_unused]] std::string_view kind) {
#if WEFT_TEST_UCX
  UcxOptions options;
  options.transports = {kind == "ucx_tcp" ? "tcp" : "posix", "cma", "self"};
  if (kind == "ucx_none") options.error_mode = UcxErrorMode::kNone;
  return detail::make_ucx_transport(detail::make_tcp_transport(), options);
#else
  return nullptr;
#endif
}

// As it is by default, with as little credit and as small messages as there may be, and by rdma_cm.
std::unique_ptr<Transport> make_verbs([[maybe_unused]] std::string_view kind) {
#if WEFT_TEST_VERBS
  VerbsOptions options = kind == "verbs_tight" ? weft::testing::tight_verbs() : VerbsOptions{};
  if (kind == "verbs_cm") options.connect_by = VerbsConnect::kRdmaCm;
  options.driver = &weft::testing::rdma_devices();
  return detail::make_verbs_transport(detail::make_tcp_transport(), options);
#else
  return nullptr;
#endif
}

std::string host_for([[maybe_unused]] std::string_view kind) {
#if WEFT_TEST_VERBS
  if (kind == "verbs_cm") return weft::testing::routed_host(weft::testing::rdma_devices());
#endif
  return "127.0.0.1";
}

std::unique_ptr<Transport> make_base([[maybe_unused]] std::string_view kind) {
#if WEFT_TEST_TLS
  if (kind == "tls") {
    static const weft::testing::TestCa ca;
    return detail::make_tls_transport(detail::make_tcp_transport(),
                                      {.certificates = {ca.issue()}, .ca_pem = ca.pem()});
  }
#endif
  return detail::make_tcp_transport();
}

// Shared memory as it is by default, and with the smallest rings.
std::unique_ptr<Transport> make_shared_memory(std::string_view kind) {
  SharedMemoryOptions options{.connecting = CarrierPolicy::kRequire, .listening = CarrierPolicy::kPrefer};
  if (kind == "shm_tight") options.ring_bytes = 4096;
  return detail::make_shared_memory_transport(detail::make_tcp_transport(), options);
}

std::unique_ptr<Transport> make_that_leaves_base(std::string_view kind) {
  if (kind.starts_with("shm")) return make_shared_memory(kind);
  return kind.starts_with("ucx") ? make_ucx(kind) : make_verbs(kind);
}

}  // namespace

ConformanceTest::ConformanceTest() {
  LoopOptions options{.mode = WaitMode::kWait, .chunks = {.chunk_bytes = 64 * 1024}};
  if (in_memory()) {
    options.clock = &clock_;
    auto network = std::make_unique<MemoryNetwork>();
    network_ = network.get();
    transport_ = std::move(network);
  } else {
    transport_ = leaves_base() ? make_that_leaves_base(GetParam()) : make_base(GetParam());
  }
  if (over_unix()) {
    char name[] = "/tmp/weft-conformance-XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  loop_ = Loop::create(options).value();
}

ConformanceTest::~ConformanceTest() {
  client_.connection.reset();
  server_.connection.reset();
  incoming_.clear();
  listener_.reset();
  if (loop_) {
    EXPECT_EQ(loop_->chunks().chunks_out(), 0u) << "a chunk is still held";
    EXPECT_EQ(loop_->timers_armed(), 0u) << "a timer is still armed";
  }
  if (!directory_.empty()) {
    EXPECT_EQ(::rmdir(directory_.c_str()), 0) << "a socket file was left";
  }
}

Url ConformanceTest::any_url() const {
  const std::string_view kind = GetParam();
  if (kind == "memory") return {"memory", "server", 0};
  if (over_unix()) return {"unix", directory_ + "/socket", 0};
  if (leaves_base()) return {kind.starts_with("ucx") ? "ucx" : "verbs", host_for(kind), 0};
  if (kind == "tls") return {"tls", "127.0.0.1", 0};
  return {"tcp", kind == "tcp6" ? "::1" : "127.0.0.1", 0};
}

std::unique_ptr<Listener> ConformanceTest::listen(const Url& url) {
  auto listener = transport_->listen(*loop_, url);
  EXPECT_TRUE(listener.ok()) << listener.status().to_string();
  if (!listener.ok()) return nullptr;
  (*listener)->start([this](std::unique_ptr<Incoming> peer) { incoming_.push_back(std::move(peer)); });
  return *std::move(listener);
}

Result<std::unique_ptr<Connection>> ConformanceTest::try_connect(const Url& url,
                                                                 const ConnectOptions& options) {
  return loop_->block_on(transport_->connect(*loop_, url, options));
}

void ConformanceTest::connect(const ConnectionOptions& client_options,
                              const ConnectionOptions& server_options) {
  if (network_ != nullptr) network_->set_options(memory_options_);
  if (!listener_) listener_ = listen(any_url());
  ASSERT_TRUE(listener_);
  url_ = listener_->local_url();
  auto made = try_connect(url_, {.connection = client_options});
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  client_.connection = *std::move(made);
  ASSERT_TRUE(until([&] { return !incoming_.empty(); }));
  auto adopted = incoming_.front()->adopt_connection(*loop_, server_options);
  incoming_.clear();
  ASSERT_TRUE(adopted.ok()) << adopted.status().to_string();
  server_.connection = *std::move(adopted);
  client_.connection->start(client_.sink);
  server_.connection->start(server_.sink);
}

void ConformanceTest::greet(const ConnectionOptions& client_options,
                            const ConnectionOptions& server_options) {
  ASSERT_NO_FATAL_FAILURE(connect(client_options, server_options));
  client_.send_hello();
  server_.send_hello();
  ASSERT_TRUE(until([&] { return !client_.sink.hellos.empty() && !server_.sink.hellos.empty(); }));
}

bool ConformanceTest::until(const std::function<bool()>& done) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  while (!done()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    if (!in_memory()) {
      loop_->run_once(std::chrono::milliseconds{100});
      continue;
    }
    if (loop_->run_until_idle() > 0) continue;
    const auto next = loop_->next_timer();
    if (!next) return done();
    clock_.set(std::max(*next, clock_.now()));
  }
  return true;
}

void ConformanceTest::run_until_idle() {
  loop_->run_until_idle();
}

}  // namespace weft::conformance
