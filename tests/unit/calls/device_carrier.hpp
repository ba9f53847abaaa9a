// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/transport/base_carrier.hpp"

namespace weft::calls_testing {

using namespace weft::detail;

/// Device that reads and writes memory when the test says so: until then the memory is lent.
class DeviceCarrier final : public BaseCarrier {
 public:
  struct Operation {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
    bool done = false;
    bool active() const { return memory != nullptr && !done; }
    bool uses(Bytes other) const {
      return active() && memory < other.data() + other.size() && other.data() < memory + bytes;
    }
  };
  using Memory = UniqueFunction<Buffer(std::size_t)>;

  /// `there` is true as long as it is. `memory` gives what it lands in.
  DeviceCarrier(bool& there, std::size_t piece_bytes, Memory memory)
      : there_(there), memory_(std::move(memory)) {
    capabilities_.piece_bytes = piece_bytes;
    there_ = true;
  }
  ~DeviceCarrier() override { there_ = false; }

  const Capabilities& capabilities() const override { return capabilities_; }
  Moved send(std::span<const iovec> from, std::size_t leased) override {
    if (sending.active()) return Moved::begun(sending.bytes);
    if (sending.done) return Moved::some(std::exchange(sending, {}).bytes, false);
    if (leased > 0) {
      sending = {static_cast<std::byte*>(from[0].iov_base), leased, false};
      return Moved::begun(leased);
    }
    sent.append(static_cast<const char*>(from[0].iov_base), from[0].iov_len);
    return Moved::some(from[0].iov_len, false);
  }
  Moved receive(std::span<const iovec> into, std::span<const iovec> places) override {
    if (landing.active()) return Moved::begun();
    if (landing.done) return Moved::some(std::exchange(landing, {}).bytes, arrived.empty());
    if (arrived.empty()) return Moved::blocked();
    const std::size_t part = std::min(into[0].iov_len, arrived.size());
    if (!places.empty()) {
      const iovec& place = places[0];
      landing = {static_cast<std::byte*>(place.iov_base), std::min(place.iov_len, arrived.size()), false};
      return Moved::begun();
    }
    std::memcpy(into[0].iov_base, arrived.data(), part);
    arrived.erase(0, part);
    return Moved::some(part, arrived.empty());
  }
  Moved reclaim(Lent what) override {
    Operation& lent = what == Lent::kSending ? sending : landing;
    if (lent.active()) ++waited;
    what == Lent::kSending ? finish_sending() : finish_landing();
    return lent.done ? Moved::some(std::exchange(lent, {}).bytes, false) : Moved::blocked();
  }
  bool gives_back_at_once(Lent what) override {
    return what == Lent::kSending ? !sending.active() : !landing.active();
  }
  Buffer landing_memory(std::size_t bytes) override { return memory_(bytes); }
  void end_sending() override {}
  void shut() override { sending = landing = {}; }

  void finish_sending() {
    if (!sending.active()) return;
    sent.append(reinterpret_cast<const char*>(sending.memory), sending.bytes);
    sending.done = true;
  }
  void finish_landing() {
    if (!landing.active()) return;
    std::memcpy(landing.memory, arrived.data(), landing.bytes);
    arrived.erase(0, landing.bytes);
    landing.done = true;
  }
  CarrierOwner& its_owner() { return owner(); }

  Operation sending;
  Operation landing;
  std::string arrived;
  std::string sent;
  /// Times that somebody waited for it to be done with memory.
  int waited = 0;

 private:
  bool& there_;
  Memory memory_;
  Capabilities capabilities_{.name = "device", .lease_bytes_min = 1024};
};

}  // namespace weft::calls_testing
