// SPDX-License-Identifier: Apache-2.0
#include "raw/exchange.hpp"

#include <utility>
#include <vector>

#include "load/payload.hpp"
#include "raw/frame_receiver.hpp"
#include "raw/frame_sender.hpp"
#include "raw/outbox.hpp"

namespace weft::raw {
namespace {

/// The batching limit: the frames that one receive brought go back in one send, from where they lie.
class SmallEcho final : public Exchange {
 public:
  SmallEcho(std::uint64_t payload_bytes, bool nobatch) : reader_(payload_bytes), nobatch_(nobatch) {}

  bool on_readable(Wire& wire, Scratch& scratch) override {
    const auto batch = reader_.read(wire, scratch);
    if (batch.outcome != ReadOutcome::kOk) return false;
    const std::size_t step = nobatch_ ? reader_.frame_bytes() : batch.frames.size();
    for (std::size_t at = 0; at < batch.frames.size(); at += step) {
      if (!outbox_.send(wire, batch.frames.subspan(at, step))) return false;
    }
    return true;
  }
  bool on_writable(Wire& wire) override { return outbox_.flush(wire); }
  bool wants_read() const override { return !outbox_.blocked(); }
  bool wants_write() const override { return outbox_.blocked(); }

 private:
  SmallFrameReader reader_;
  ByteOutbox outbox_;
  bool nobatch_;
};

/// A large frame goes back in one send from the buffer it was received into.
class LargeEcho final : public Exchange {
 public:
  explicit LargeEcho(std::uint64_t payload_bytes) : reader_(payload_bytes), outbox_(reader_.frame_bytes()) {}

  bool on_readable(Wire& wire, Scratch&) override {
    if (reader_.read(wire) != ReadOutcome::kOk) return false;
    if (!reader_.full()) return true;
    outbox_.add(reader_.exchange(outbox_.take_buffer()));
    return outbox_.flush(wire);
  }
  bool on_writable(Wire& wire) override { return outbox_.flush(wire); }
  bool wants_read() const override { return !outbox_.full(); }
  bool wants_write() const override { return outbox_.blocked(); }

 private:
  LargeFrameReader reader_;
  EchoOutbox outbox_;
};

/// Answers of another size than the requests: the request's tag and the pattern.
class Generated final : public Exchange {
 public:
  Generated(const Hello& hello, bool nobatch)
      : receiver_(hello.request_bytes), pattern_(hello.answer_bytes), sender_(pattern_), nobatch_(nobatch) {
    load::fill_pattern(pattern_);
  }

  bool on_readable(Wire& wire, Scratch& scratch) override {
    bool alive = true;
    const auto outcome = receiver_.receive(wire, scratch, [&](Bytes payload) {
      alive = alive && sender_.add(wire, scratch, load::read_tag(payload));
      if (nobatch_) alive = alive && sender_.finish(wire, scratch);
    });
    return outcome == ReadOutcome::kOk && alive && sender_.finish(wire, scratch);
  }
  bool on_writable(Wire& wire) override { return sender_.flush(wire); }
  bool wants_read() const override { return !sender_.full(); }
  bool wants_write() const override { return sender_.blocked(); }

 private:
  FrameReceiver receiver_;
  std::vector<std::byte> pattern_;
  FrameSender sender_;
  bool nobatch_;
};

/// One way only: the pattern with one number after another, as fast as the socket takes it.
class Pushed final : public Exchange {
 public:
  explicit Pushed(std::uint64_t payload_bytes)
      : pattern_(payload_bytes),
        sender_(pattern_),
        is_large_(payload_bytes >= kLargeBytes),
        batch_(is_large_ ? FrameSender::kLargeFramesMax : kScratchBytes / (kLengthBytes + payload_bytes)) {
    load::fill_pattern(pattern_);
  }

  bool on_readable(Wire& wire, Scratch&) override {
    std::byte nothing[64];
    return wire.receive(nothing, sizeof nothing) == 0;
  }
  bool on_writable(Wire& wire) override {
    if (!sender_.flush(wire)) return false;
    if (sender_.blocked()) return true;
    for (std::size_t i = 0; i < batch_; ++i) {
      if (!sender_.add(wire, scratch_, next_++)) return false;
    }
    return sender_.finish(wire, scratch_);
  }
  bool wants_read() const override { return true; }
  bool wants_write() const override { return true; }

 private:
  std::vector<std::byte> pattern_;
  FrameSender sender_;
  bool is_large_;
  std::size_t batch_;
  Scratch scratch_;
  std::uint64_t next_ = 0;
};

}  // namespace

std::unique_ptr<Exchange> make_exchange(const Hello& hello, bool nobatch) {
  if (hello.pushed()) return std::make_unique<Pushed>(hello.request_bytes);
  if (!hello.echo()) return std::make_unique<Generated>(hello, nobatch);
  if (hello.request_bytes >= kLargeBytes) return std::make_unique<LargeEcho>(hello.request_bytes);
  return std::make_unique<SmallEcho>(hello.request_bytes, nobatch);
}

}  // namespace weft::raw
