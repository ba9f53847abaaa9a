// SPDX-License-Identifier: Apache-2.0
#include "neighbours/grpc_item_service.hpp"

#include <cstdint>
#include <span>

#include "load/payload.hpp"

namespace weft::neighbours {
namespace {

class ItemSender final : public grpc::ServerWriteReactor<Payload> {
 public:
  explicit ItemSender(const ItemsWanted& wanted) {
    item_.mutable_data()->resize(wanted.bytes());
    load::fill_pattern(data());
    if (wanted.may_wait()) how_.set_buffer_hint();
    // Otherwise the first item would wait for company with the head of the answer, and none would come.
    StartSendInitialMetadata();
    send();
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    send();
  }
  void OnDone() override { delete this; }

 private:
  void send() {
    load::write_tag(data(), next_++);
    StartWrite(&item_, how_);
  }
  MutableBytes data() { return std::as_writable_bytes(std::span{*item_.mutable_data()}); }

  Payload item_;
  grpc::WriteOptions how_;
  std::uint64_t next_ = 0;
};

class ItemTaker final : public grpc::ServerReadReactor<Payload> {
 public:
  explicit ItemTaker(Taken& taken) : taken_(taken) { StartRead(&item_); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    const Bytes data = as_bytes(item_.data());
    if (load::answer_intact(data, data.size(), load::read_tag(data), data.size()))
      taken_.set_items(taken_.items() + 1);
    StartRead(&item_);
  }
  void OnDone() override { delete this; }

 private:
  Payload item_;
  Taken& taken_;
};

class ItemEcho final : public grpc::ServerBidiReactor<Payload, Payload> {
 public:
  ItemEcho() { StartRead(&item_); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    StartWrite(&item_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&item_);
  }
  void OnDone() override { delete this; }

 private:
  Payload item_;
};

}  // namespace

grpc::ServerWriteReactor<Payload>* send_items(const ItemsWanted& wanted) {
  return new ItemSender{wanted};
}

grpc::ServerReadReactor<Payload>* take_items(Taken& taken) {
  return new ItemTaker{taken};
}

grpc::ServerBidiReactor<Payload, Payload>* echo_items() {
  return new ItemEcho;
}

}  // namespace weft::neighbours
