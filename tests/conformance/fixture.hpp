// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/wire_bytes.hpp"
#include "weft/detail/runtime/clock.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/transport/memory.hpp"
#include "weft/detail/transport/tcp.hpp"
#include "weft/detail/wire/heads.hpp"
#include "weft/detail/wire/hello.hpp"

namespace weft::conformance {

using namespace weft::detail;
using testing::frame_head;

/// A frame as a test remembers it.
struct Seen {
  wire::FrameHeader header;
  std::string body;
  std::string attachment;
  bool landed = false;
};

/// Notes everything a connection says, and answers as the test wants.
class Recorder final : public FrameSink {
 public:
  Status on_hello(const wire::Hello& hello) override;
  Status on_frames(std::span<const Frame> batch, const ChunkRef& chunk) override;
  Landing on_attachment(const Frame& frame) override;
  Status on_attachment_end(const Frame& frame, const ChunkRef& chunk, bool landed) override;
  void on_drained() override { ++drained; }
  void on_closed(Status why) override;

  bool closed() const { return closings > 0; }

  // What happened.
  std::vector<wire::Hello> hellos;
  std::vector<Seen> frames;
  std::vector<std::size_t> batches;
  int drained = 0;
  int asked_landing = 0;
  int closings = 0;
  Status why;

  // What to do.
  Landing::Kind landing = Landing::Kind::kInto;
  std::function<Status(std::span<const Frame>)> during_frames;
  std::function<void()> during_hello;
  std::vector<ChunkRef>* retained = nullptr;
  std::string memory;  ///< where attachments land
};

/// A lease that counts, over bytes that it owns.
class CountedLease final : public SendLease {
 public:
  explicit CountedLease(std::string its) : bytes(std::move(its)) {}
  void on_released(bool sent) noexcept override {
    ++released;
    was_sent = sent;
  }
  std::string bytes;
  int released = 0;
  bool was_sent = false;
};

/// One end: a connection and who listens to it.
struct Peer {
  std::unique_ptr<Connection> connection;
  Recorder sink;

  Outbox& outbox() { return connection->outbox(); }
  /// Sends a hello with what the connection offers.
  void send_hello(wire::Hello hello = {});
  /// Queues a frame. The length fields of `header` are filled in here.
  void send(wire::FrameHeader header, std::string_view body = {}, bool checksum = false);
  void request(std::uint64_t id, std::string_view body = {}) {
    send(wire::RequestHead{.id = id, .method = 7}.header(), body);
  }
  /// A request with an attachment, which stays in `lease`.
  void request_with(std::uint64_t id, CountedLease& lease, std::string_view body = {}, bool checksum = false);
  /// Queues bytes as they are, of any number, and sends them.
  void send_raw(std::string_view bytes);
};

std::string hello_text();
/// `size` bytes that differ from place to place.
std::string pattern(std::size_t size, unsigned seed = 1);

/// The transports that every test of the suite runs over; says which are left out, and why.
std::vector<const char*> all_transports();

/// Runs each test over each transport: memory on a manual clock, so that waiting costs nothing, and sockets.
class ConformanceTest : public ::testing::TestWithParam<const char*> {
 protected:
  ConformanceTest();
  ~ConformanceTest() override;

  bool in_memory() const { return std::string_view{GetParam()} == "memory"; }
  /// Bytes go by another carrier than the base carrier once the hellos are exchanged.
  bool leaves_base() const {
    const std::string_view kind = GetParam();
    return kind.starts_with("ucx") || kind.starts_with("verbs") || kind.starts_with("shm");
  }
  /// The base carrier is a Unix socket.
  bool over_unix() const {
    const std::string_view kind = GetParam();
    return kind == "unix" || kind.starts_with("shm");
  }
  /// A time in which hellos are there, for tests that wait until it is over. A handshake of TLS comes before
  /// those, and takes longer on a busy machine.
  Duration short_patience() const {
    return std::chrono::milliseconds{std::string_view{GetParam()} == "tls" ? 1000 : 20};
  }
  /// A lease of `bytes` that lasts longer than the connections, also where a test ends in its middle.
  CountedLease& lent(std::string bytes) { return leases_.emplace_back(std::move(bytes)); }
  /// Makes client and server and starts both.
  void connect(const ConnectionOptions& client_options = {}, const ConnectionOptions& server_options = {});
  /// connect(), and both have heard the other's hello.
  void greet(const ConnectionOptions& client_options = {}, const ConnectionOptions& server_options = {});
  Result<std::unique_ptr<Connection>> try_connect(const Url& url, const ConnectOptions& options = {});
  /// Runs the loop until `done`; false when it does not come true in a while. With a manual clock, time
  /// jumps from timer to timer once nothing else is left to do.
  bool until(const std::function<bool()>& done);
  /// Runs the loop until nothing is left to do now.
  void run_until_idle();
  std::unique_ptr<Listener> listen(const Url& url);
  Url any_url() const;

  std::deque<CountedLease> leases_;
  ManualClock clock_;
  std::unique_ptr<Loop> loop_;
  MemoryOptions memory_options_;
  std::unique_ptr<Transport> transport_;
  MemoryNetwork* network_ = nullptr;
  std::string directory_;
  Url url_;
  std::unique_ptr<Listener> listener_;
  std::vector<std::unique_ptr<Incoming>> incoming_;
  Peer client_;
  Peer server_;
};

}  // namespace weft::conformance
