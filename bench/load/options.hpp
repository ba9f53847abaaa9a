// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::load {

/// Says how a thread passes the time when there is nothing to do.
enum class LoopMode : std::uint8_t {
  kBusy,      ///< never sleeps
  kAdaptive,  ///< spins for a short while, then sleeps
  kWait,      ///< sleeps at once
};

/// Options of a command that concern UCX.
struct UcxFlags {
  /// UCX's transports and network devices by name; empty means UCX chooses.
  std::vector<std::string> transports = {};
  std::vector<std::string> devices = {};
  /// UCX's error mode none instead of peer.
  bool mode_none = false;
  /// Network devices beside the loopback one.
  bool trusted_network = false;
  /// Uses UCX, with a tcp:// or unix:// URL, if the server offers it.
  bool prefer = false;
  bool any() const { return !transports.empty() || !devices.empty() || mode_none || trusted_network; }
};

/// Options of a command that concern RDMA.
struct RdmaFlags {
  /// An RDMA device by name; empty for all of them in turn.
  std::string device = {};
  /// The place of our address in the port's table of GIDs; none for the best one.
  std::optional<std::uint8_t> gid_index = {};
  /// Queue pairs are connected by rdma_cm instead of by the hello.
  bool by_rdma_cm = false;
  /// Uses RDMA, with a tcp:// or unix:// URL, if the server offers it.
  bool prefer = false;
  bool any() const { return !device.empty() || gid_index || by_rdma_cm; }
  /// Attachments are sent from, and land in, memory that the device knows.
  bool register_memory = false;
};

/// Options of a command that concern TLS.
struct TlsFlags {
  /// CAs in PEM that the peer's certificate has to be of; empty: a client believes those of the system, and a
  /// server asks for no certificate.
  std::string ca = {};
  /// This side's certificate, with its chain, and key, in PEM.
  std::string cert = {};
  std::string key = {};
  /// A client believes whoever answers.
  bool insecure = false;
  /// Carriers that may take connections of tls:// over, which do not encrypt: "ucx", "rdma".
  std::vector<std::string> beside = {};
  bool has_beside(std::string_view carrier) const {
    return std::find(beside.begin(), beside.end(), carrier) != beside.end();
  }
  bool any() const { return insecure || !ca.empty() || !cert.empty() || !key.empty(); }
};

/// Streams in place of calls: what is counted is their items.
enum class Streams : std::uint8_t {
  kNone,
  kDown,      ///< the server sends items without end
  kUp,        ///< the client sends items without end
  kPingPong,  ///< each item is sent back, and the next one follows it
};

/// Large attachments that go from side to side again and again while calls are measured.
enum class Transfers : std::uint8_t {
  kNone,
  kPull,   ///< attachments of answers, received into memory that the caller named
  kPush,   ///< attachments of requests
  kItems,  ///< no attachments: streams whose server sends items without end
};

/// The company that the measured calls of a client have.
struct BesideFlags {
  Transfers transfers = Transfers::kNone;
  unsigned in_flight = 2;
  std::uint64_t size_bytes = 64U << 20;
  /// The transfers have a connection of their own, of the same loop.
  bool apart = false;
};

/// Options of every server of a measurement.
struct ServerOptions {
  std::string listen = {};
  unsigned threads = 1;
  /// The threads are pinned to these in turn; empty means not pinned.
  std::vector<int> cpus = {};
  LoopMode mode = LoopMode::kWait;
  /// A TCP congestion control the kernel knows; empty means the system's default.
  std::string congestion = {};
  /// One write for each answer, to show what batching is worth.
  bool nobatch = false;
  UcxFlags ucx = {};
  RdmaFlags rdma = {};
  TlsFlags tls = {};
};

/// The token that a command's calls bring.
struct TokenFlags {
  /// Empty: that of the environment variable WEFT_TOKEN, if there is one.
  std::string file{};
  /// Sends it also where others on the way can read it.
  bool in_plain = false;
};

/// Options of every client of a measurement.
struct ClientOptions {
  std::string connect = {};
  std::uint64_t size_bytes = 128;
  /// Calls in flight on each connection.
  unsigned depth = 1;
  unsigned connections = 1;
  /// Each of the calls in flight has memory of its own for its answer.
  bool own_buffers = false;
  double seconds = 2;
  double warmup_seconds = 0.5;
  /// The answer's size; without it the request is echoed.
  std::optional<std::uint64_t> asked_answer_bytes = {};
  /// Calls per second over all connections (open loop); 0 means as many as the answers allow (closed loop).
  double rate = 0;
  bool attachment = false;
  /// Streams, as many at a time as there are calls in flight otherwise, of items that are as large as
  /// requests.
  Streams streams = Streams::kNone;
  LoopMode mode = LoopMode::kWait;
  std::vector<int> cpus = {};
  std::string congestion = {};
  UcxFlags ucx = {};
  RdmaFlags rdma = {};
  TlsFlags tls = {};
  /// Work beside the calls; without it none runs, and no timer is watched.
  std::optional<BesideFlags> beside = {};
  TokenFlags token = {};
  bool json = false;
  /// Shows no progress.
  bool silent = false;

  std::uint64_t answer_bytes() const { return asked_answer_bytes.value_or(size_bytes); }
};

}  // namespace weft::load
