// SPDX-License-Identifier: Apache-2.0
// Cap'n Proto's own RPC, one event loop a side, under the loads of bench/compare grid.
#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <kj/async-unix.h>
#include <kj/exception.h>

#include <csignal>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "load/meter.hpp"
#include "load/payload.hpp"
#include "neighbours/command.hpp"
#include "payload.capnp.h"

namespace weft::neighbours {
namespace {

/// Lets the message have one segment, whatever the payload.
capnp::MessageSize size_of_message(std::uint64_t payload_bytes) {
  constexpr std::uint64_t kHeadWords = 32;
  return {payload_bytes / sizeof(capnp::word) + kHeadWords, 0};
}

Bytes bytes_of(capnp::Data::Reader data) {
  return std::as_bytes(std::span{data.begin(), data.size()});
}

class EchoServer final : public Echo::Server {
  kj::Promise<void> say(SayContext context) override {
    const capnp::Data::Reader payload = context.getParams().getPayload();
    context.getResults(size_of_message(payload.size())).setPayload(payload);
    return kj::READY_NOW;
  }
};

int serve(const load::ServerOptions& options) {
  kj::UnixEventPort::captureSignal(SIGTERM);
  auto io = kj::setupAsyncIo();
  const std::string address = host_and_port(options.listen);
  auto where = io.provider->getNetwork().parseAddress(address.c_str()).wait(io.waitScope);
  auto listener = where->listen();
  capnp::TwoPartyServer server{kj::heap<EchoServer>()};
  auto serving = server.listen(*listener).eagerlyEvaluate(nullptr);
  say_listening(options.listen, listener->getPort());
  io.unixEventPort.onSignal(SIGTERM).wait(io.waitScope);
  return 0;
}

class Connection {
 public:
  explicit Connection(kj::Own<kj::AsyncIoStream> stream) : stream_(kj::mv(stream)), rpc_(*stream_) {}
  Echo::Client echo() { return rpc_.bootstrap().castAs<Echo>(); }

 private:
  kj::Own<kj::AsyncIoStream> stream_;
  capnp::TwoPartyClient rpc_;
};

/// State of all calls of a measurement.
class Measurement {
 public:
  explicit Measurement(const load::ClientOptions& options)
      : pattern_(options.size_bytes), meter_(options, load::now_ns()) {
    load::fill_pattern(pattern_);
  }

  /// One of the calls in flight, made again and again until the end.
  kj::Promise<void> call_again_and_again(Echo::Client echo, std::uint64_t tag) {
    const std::int64_t started_ns = load::now_ns();
    if (!meter_.tick(started_ns)) return kj::READY_NOW;
    auto request = echo.sayRequest(size_of_message(pattern_.size()));
    capnp::Data::Builder payload = request.initPayload(static_cast<unsigned>(pattern_.size()));
    std::memcpy(payload.begin(), pattern_.data(), pattern_.size());
    load::write_tag(std::as_writable_bytes(std::span{payload.begin(), payload.size()}), tag);
    return request.send().then(
        [this, started_ns, tag, echo = kj::mv(echo)](capnp::Response<Echo::SayResults>&& answer) mutable {
          if (load::answer_intact(bytes_of(answer.getPayload()), pattern_.size(), tag, pattern_.size())) {
            meter_.complete(started_ns, load::now_ns());
          } else {
            meter_.fail();
          }
          return call_again_and_again(kj::mv(echo), tag + 1);
        });
  }

  load::Report report() const { return meter_.report(); }

 private:
  std::vector<std::byte> pattern_;
  load::Meter meter_;
};

int measure(const load::ClientOptions& options) {
  auto io = kj::setupAsyncIo();
  const std::string address = host_and_port(options.connect);
  auto where = io.provider->getNetwork().parseAddress(address.c_str()).wait(io.waitScope);
  std::vector<std::unique_ptr<Connection>> connections;
  connections.reserve(options.connections);
  for (unsigned i = 0; i < options.connections; ++i) {
    connections.push_back(std::make_unique<Connection>(where->connect().wait(io.waitScope)));
  }
  Measurement measurement{options};
  kj::Vector<kj::Promise<void>> calls;
  for (std::uint64_t i = 0; i < std::uint64_t{options.depth} * options.connections; ++i) {
    calls.add(measurement.call_again_and_again(connections[i % connections.size()]->echo(), i << 40));
  }
  kj::joinPromises(calls.releaseAsArray()).wait(io.waitScope);
  load::print_report(measurement.report(), options);
  return 0;
}

}  // namespace
}  // namespace weft::neighbours

int main(int argc, char** argv) {
  int code = 1;
  const auto failure = kj::runCatchingExceptions([&] {
    code = weft::neighbours::run(argc, argv, "Cap'n Proto under the loads of `weft raw`",
                                 weft::neighbours::serve, weft::neighbours::measure);
  });
  KJ_IF_MAYBE (exception, failure) std::fprintf(stderr, "%s\n", exception->getDescription().cStr());
  return code;
}
