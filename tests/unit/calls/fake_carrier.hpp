// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/detail/transport/base_carrier.hpp"
#include "weft/detail/transport/landings_ahead.hpp"

namespace weft::calls_testing {

using namespace weft::detail;

/// Carrier of which the test is the peer: it keeps what was sent, and gives what the test says has arrived.
class FakeCarrier final : public BaseCarrier {
 public:
  explicit FakeCarrier(const Capabilities& capabilities = {.name = "fake"}) : capabilities_(capabilities) {}

  const Capabilities& capabilities() const override { return capabilities_; }
  std::string local_endpoint() const override { return "fake://here"; }
  std::string remote_endpoint() const override { return "fake://there"; }

  Moved receive(std::span<const iovec> into, std::span<const iovec> landing) override {
    if (!head_behind_.empty() && !landing.empty()) return Moved::begun();
    if (arrived_.empty()) return peer_ended_ ? Moved::ended() : Moved::blocked();
    std::size_t total = 0;
    for (const iovec& place : into) {
      const std::size_t part = std::min(place.iov_len, arrived_.size());
      std::memcpy(place.iov_base, arrived_.data(), part);
      arrived_.erase(0, part);
      total += part;
    }
    return Moved::some(total, arrived_.empty() && !peer_ended_);
  }
  void read_ahead(std::size_t, LandingsAhead& ahead) override {
    if (!place_ahead_ && ahead.next(as_bytes(head_behind_)) > 0) place_ahead_ = ahead.place().kind;
  }
  Moved send(std::span<const iovec> from, std::size_t) override {
    std::size_t total = 0;
    if (shown_ != nullptr) shown_->push_back(from.size());
    for (const iovec& piece : from) {
      const std::size_t part = std::min(piece.iov_len, room_ - total);
      sent_.append(static_cast<const char*>(piece.iov_base), part);
      total += part;
    }
    room_ -= total;
    return total == 0 ? Moved::blocked() : Moved::some(total, room_ == 0);
  }
  bool gives_back_at_once(Lent) override { return !holding_; }
  Moved reclaim(Lent what) override {
    what == Lent::kAhead ? ++reclaimed_ahead_ : ++reclaimed_;
    return Moved::blocked();
  }
  void end_sending() override { ended_ = true; }
  bool all_left() const override { return all_left_; }
  void shut() override { shut_ = true; }

  /// The peer's part. Outside of the loop's turns.
  void arrive(std::string_view bytes) {
    arrived_ += bytes;
    owner().on_readable();
  }
  void end() {
    peer_ended_ = true;
    owner().on_readable();
  }
  void fail(Status why) { owner().on_failed(std::move(why)); }
  /// Lets so many bytes more be sent.
  void set_room(std::size_t bytes) {
    room_ = bytes;
    if (bytes != 0) owner().on_writable();
  }
  /// Says that the sent bytes have left the carrier, or that it still holds some.
  void set_all_left(bool all_left) {
    all_left_ = all_left;
    if (all_left) owner().on_writable();
  }
  void set_lone_piece_bytes(std::size_t bytes) { capabilities_.lone_piece_bytes = bytes; }
  /// Taking memory back would wait from now on, as for a device that has it.
  void set_holding(bool holding) { holding_ = holding; }
  /// A device fills landings from now on and is not done, and `head` is all that lies between the first one
  /// and the next attachment. Empty: landings are filled at once again.
  void read_behind_landing(std::string_view head) {
    head_behind_ = head;
    place_ahead_.reset();
  }
  /// Answer to where the attachment behind that head is to go, if that was asked.
  std::optional<Landing::Kind> place_ahead() const { return place_ahead_; }
  int reclaimed() const { return reclaimed_; }
  int reclaimed_ahead() const { return reclaimed_ahead_; }
  /// Takes memory for so many bytes each way now, and none later.
  void reserve(std::size_t bytes) {
    arrived_.reserve(bytes);
    sent_.reserve(bytes);
  }
  std::string take_sent() { return std::exchange(sent_, {}); }
  /// Notes in `shown`, which outlives it, how many segments each send() is shown from now on.
  void note_segments_in(std::vector<std::size_t>& shown) { shown_ = &shown; }
  bool ended() const { return ended_; }
  bool is_shut() const { return shut_; }

 private:
  Capabilities capabilities_;
  std::string arrived_;
  std::string sent_;
  std::vector<std::size_t>* shown_ = nullptr;
  std::size_t room_ = SIZE_MAX;
  bool peer_ended_ = false;
  bool holding_ = false;
  std::string head_behind_;
  std::optional<Landing::Kind> place_ahead_;
  int reclaimed_ = 0;
  int reclaimed_ahead_ = 0;
  bool all_left_ = true;
  bool ended_ = false;
  bool shut_ = false;
};

}  // namespace weft::calls_testing
