// SPDX-License-Identifier: Apache-2.0
#include "raw/client_connection.hpp"

#include <utility>

#include "load/cpu.hpp"

namespace weft::raw {

/// Counts runs of calls that started together as one: most of a batch did. The clock is read once, when the
/// first answer of the batch is there.
class ClientConnection::RunCounter {
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

  /// The time of the batch; 0 while nothing of it was counted.
  std::int64_t now_ns() const { return now_ns_; }

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

ClientConnection::ClientConnection(Wire wire, const load::ClientOptions& options, Bytes pattern,
                                   std::uint64_t id)
    : wire_(std::move(wire)),
      id_(id),
      depth_(options.depth),
      request_bytes_(options.size_bytes),
      answer_bytes_(options.answer_bytes()),
      pushed_(options.streams != load::Streams::kNone),
      times_(std::bit_ceil(options.depth), load::now_ns()),
      sender_(pattern),
      receiver_(options.answer_bytes(), options.own_buffers ? options.depth : 1) {}

// Counted from the time of the batch before on.
void ClientConnection::receive_pushed(Bytes message, RunCounter& run, load::Meter& meter) {
  const std::uint64_t number = answered_++;
  started_ = answered_;
  if (!load::answer_intact(message, answer_bytes_, number, request_bytes_)) return meter.fail();
  run.complete(times_[0]);
}

void ClientConnection::receive(Scratch& scratch, load::Meter& meter) {
  RunCounter run{meter};
  const auto on_answer = [&](Bytes answer) {
    // An answer to nothing: the server is not the one we think it is.
    if (pushed_) return receive_pushed(answer, run, meter);
    if (in_flight() == 0) return check(false);
    const std::uint64_t number = answered_++;
    if (!load::answer_intact(answer, answer_bytes_, tag_of(number), request_bytes_)) return meter.fail();
    run.complete(times_[number & (times_.size() - 1)]);
  };
  do {
    check(receiver_.receive(wire_, scratch, on_answer) == ReadOutcome::kOk);
  } while (alive_ && wire_.has_more());
  if (pushed_ && run.now_ns() != 0) times_[0] = run.now_ns();
}

}  // namespace weft::raw
