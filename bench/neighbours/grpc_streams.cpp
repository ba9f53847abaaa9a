// SPDX-License-Identifier: Apache-2.0
#include "neighbours/grpc_streams.hpp"

#include <atomic>
#include <span>

#include "load/payload.hpp"
#include "payload.grpc.pb.h"

namespace weft::neighbours {
namespace {

/// An item that this side writes again and again, with one number after another.
class NumberedItem {
 public:
  NumberedItem(std::uint64_t bytes, std::uint64_t first_tag) : tag_(first_tag) {
    payload_.mutable_data()->resize(bytes);
    load::fill_pattern(data());
    load::write_tag(data(), tag_);
  }

  void advance() { load::write_tag(data(), ++tag_); }
  std::uint64_t tag() const { return tag_; }
  const Payload* payload() const { return &payload_; }

 private:
  MutableBytes data() { return std::as_writable_bytes(std::span{*payload_.mutable_data()}); }

  Payload payload_;
  std::uint64_t tag_;
};

class DownStream final : public ClientStream, public grpc::ClientReadReactor<Payload> {
 public:
  DownStream(const std::shared_ptr<grpc::Channel>& channel, Shared& shared, std::uint64_t bytes,
             bool may_wait)
      : stub_(Echo::NewStub(channel)), shared_(shared) {
    wanted_.set_bytes(bytes);
    wanted_.set_may_wait(may_wait);
  }

  void start() override {
    last_ns_ = load::now_ns();
    stub_->async()->Send(&context_, &wanted_, this);
    StartRead(&item_);
    StartCall();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    const std::int64_t now_ns = load::now_ns();
    const std::uint64_t bytes = wanted_.bytes();
    const bool intact = load::answer_intact(as_bytes(item_.data()), bytes, tag_++, bytes);
    is_over_ = !shared_.count(intact, last_ns_, now_ns);
    last_ns_ = now_ns;
    if (is_over_) return context_.TryCancel();
    StartRead(&item_);
  }

  void OnDone(const grpc::Status&) override {
    if (!is_over_) shared_.fail();
    shared_.end_one();
  }

 private:
  std::unique_ptr<Echo::Stub> stub_;
  Shared& shared_;
  ItemsWanted wanted_;
  Payload item_;
  grpc::ClientContext context_;
  std::uint64_t tag_ = 0;
  std::int64_t last_ns_ = 0;
  bool is_over_ = false;
};

class UpStream final : public ClientStream, public grpc::ClientWriteReactor<Payload> {
 public:
  UpStream(const std::shared_ptr<grpc::Channel>& channel, Shared& shared, std::uint64_t bytes, bool may_wait,
           std::uint64_t first_tag)
      : stub_(Echo::NewStub(channel)), shared_(shared), item_(bytes, first_tag) {
    if (may_wait) how_.set_buffer_hint();
  }

  void start() override {
    last_ns_ = load::now_ns();
    stub_->async()->Take(&context_, &taken_, this);
    StartWrite(item_.payload(), how_);
    StartCall();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return;
    const std::int64_t now_ns = load::now_ns();
    ++written_;
    const bool goes_on = shared_.count(true, last_ns_, now_ns);
    last_ns_ = now_ns;
    if (!goes_on) return StartWritesDone();
    item_.advance();
    StartWrite(item_.payload(), how_);
  }

  void OnDone(const grpc::Status& status) override {
    if (!status.ok()) {
      shared_.fail();
    } else if (taken_.items() != written_) {
      shared_.fail(written_ - taken_.items());
    }
    shared_.end_one();
  }

 private:
  std::unique_ptr<Echo::Stub> stub_;
  Shared& shared_;
  NumberedItem item_;
  Taken taken_;
  grpc::WriteOptions how_;
  grpc::ClientContext context_;
  std::uint64_t written_ = 0;
  std::int64_t last_ns_ = 0;
};

class PingPong final : public ClientStream, public grpc::ClientBidiReactor<Payload, Payload> {
 public:
  PingPong(const std::shared_ptr<grpc::Channel>& channel, Shared& shared, std::uint64_t bytes,
           std::uint64_t first_tag)
      : stub_(Echo::NewStub(channel)), shared_(shared), item_(bytes, first_tag) {}

  void start() override {
    stub_->async()->SayAgain(&context_, this);
    say();
    StartCall();
  }

  void OnWriteDone(bool ok) override {
    if (ok) one_of_two();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    const std::int64_t now_ns = load::now_ns();
    const std::uint64_t bytes = item_.payload()->data().size();
    const bool intact = load::answer_intact(as_bytes(back_.data()), bytes, item_.tag(), bytes);
    goes_on_ = shared_.count(intact, started_ns_, now_ns);
    one_of_two();
  }

  void OnDone(const grpc::Status& status) override {
    if (!status.ok()) shared_.fail();
    shared_.end_one();
  }

 private:
  void say() {
    missing_.store(2, std::memory_order_relaxed);
    started_ns_ = load::now_ns();
    StartRead(&back_);
    StartWrite(item_.payload());
  }

  /// The item came back, or gRPC is done with its writing; either may be the first, on another thread.
  void one_of_two() {
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (!goes_on_) return StartWritesDone();
    item_.advance();
    say();
  }

  std::unique_ptr<Echo::Stub> stub_;
  Shared& shared_;
  NumberedItem item_;
  Payload back_;
  grpc::ClientContext context_;
  std::atomic<int> missing_ = 0;
  bool goes_on_ = true;
  std::int64_t started_ns_ = 0;
};

}  // namespace

std::unique_ptr<ClientStream> make_stream(const std::shared_ptr<grpc::Channel>& channel, Shared& shared,
                                          const load::ClientOptions& options, bool may_wait,
                                          std::uint64_t first_tag) {
  switch (options.streams) {
    case load::Streams::kDown:
      return std::make_unique<DownStream>(channel, shared, options.size_bytes, may_wait);
    case load::Streams::kUp:
      return std::make_unique<UpStream>(channel, shared, options.size_bytes, may_wait, first_tag);
    default:
      return std::make_unique<PingPong>(channel, shared, options.size_bytes, first_tag);
  }
}

}  // namespace weft::neighbours
