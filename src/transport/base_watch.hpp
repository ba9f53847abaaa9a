// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "transport/bring_up_host.hpp"
#include "weft/detail/transport/base_carrier.hpp"

namespace weft::detail {

/// Watches the base carrier after another carrier took over: the only remaining event is the peer's end.
/// Thread: the loop's.
class BaseWatch final : public CarrierOwner {
 public:
  /// Both must outlive it.
  BaseWatch(BaseCarrier& base, BringUpHost& host) : base_(base), host_(host) {}

  /// The base carrier reports here from now on.
  void begin() { base_.report_to(*this); }
  /// Checks whether the base carrier has ended. Events before begin() are not repeated.
  void look();
  /// Returns how a connection ends whose peer sends on the base carrier after it moved.
  Status stray_bytes() const;

  bool receives() const override { return true; }
  void on_readable() override { look(); }
  void on_writable() override {}
  void on_failed(Status why) override;

 private:
  BaseCarrier& base_;
  BringUpHost& host_;
  bool gone_ = false;
};

}  // namespace weft::detail
