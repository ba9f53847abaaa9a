// SPDX-License-Identifier: Apache-2.0
#include "raw/client_connection.hpp"

#include <utility>

#include "load/cpu.hpp"

namespace weft::raw {
namespace {

/// Counts runs of calls that started together as one: most of a batch did. The clock is read once, when the
/// first answer of the batch is there.
class RunCounter {
 public:
  explicit RunCounter(load::Meter& meter) : meter_(meter) {}
  ~RunCounter() { flush(); }
  RunCounter(const RunCounter&) = delete;
  RunCounter& operator=(const RunCounter&) = delete;

  void complete(std::int64_t started_ns) {
    if (now_ns_ == 0) now_ns_ = load::now_ns();
    if (started_ns != started_ns_) flush();
    started_ns_ = started_ns;
    ++calls_;
  }

 private:
  void flush() {
    if (calls_ > 0) meter_.complete(started_ns_, now_ns_, calls_);
    calls_ = 0;
  }

  load::Meter& meter_;
  std::int64_t now_ns_ = 0;
  std::int64_t started_ns_ = 0;
  std::uint64_t calls_ = 0;
};

}  // namespace

ClientConnection::ClientConnection(Wire wire, const load::ClientOptions& options, Bytes pattern,
                                   std::uint64_t id)
    : wire_(std::move(wire)),
      id_(id),
      depth_(options.depth),
      request_bytes_(options.size_bytes),
      reply_bytes_(options.answer_bytes()),
      times_(std::bit_ceil(options.depth)),
      sender_(pattern),
      receiver_(options.answer_bytes()) {}

void ClientConnection::receive(Scratch& scratch, load::Meter& meter) {
  RunCounter run{meter};
  const auto on_reply = [&](Bytes reply) {
    // An answer to nothing: the server is not the one we think it is.
    if (in_flight() == 0) return check(false);
    const std::uint64_t number = answered_++;
    if (!load::reply_intact(reply, reply_bytes_, tag_of(number), request_bytes_)) return meter.fail();
    run.complete(times_[number & (times_.size() - 1)]);
  };
  do {
    check(receiver_.receive(wire_, scratch, on_reply) == ReadOutcome::kOk);
  } while (alive_ && wire_.has_more());
}

}  // namespace weft::raw
