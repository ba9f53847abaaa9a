// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "load/cpu.hpp"
#include "load/meter.hpp"
#include "load/options.hpp"
#include "load/payload.hpp"
#include "load/schedule.hpp"
#include "weft/weft.hpp"

namespace weft::perf {

/// State that all calls of one measurement share. Thread: the client's loop.
class Measurement {
 public:
  /// `carrier` is what carries the calls.
  Measurement(const load::ClientOptions& options, Loop& loop, std::string_view carrier)
      : options_(options),
        loop_(&loop),
        reads_clock_(reads_clock(options, carrier)),
        pattern_(options.size_bytes),
        start_ns_(load::now_ns()),
        meter_(options, start_ns_) {
    load::fill_pattern(pattern_);
    if (options.rate > 0) schedule_.emplace(options.rate, start_ns_);
    if (options.attachment) {
      landings_.resize(std::size_t{options.depth} * options.connections * options.answer_bytes());
    }
  }

  /// All memory of attachments, for all clients that share `client`'s transports.
  Status register_memory(const Client& client) {
    for (auto* const memory : {&pattern_, &landings_}) {
      auto lease = client.register_memory(*memory);
      if (!lease.ok()) return std::move(lease).status();
      leases_.add(*std::move(lease));
    }
    return {};
  }
  /// Returns where one caller's attachments are to land.
  MutableBytes take_landing() {
    const MutableBytes rest = MutableBytes{landings_}.subspan(landings_taken_);
    landings_taken_ += options_.answer_bytes();
    return rest.first(options_.answer_bytes());
  }

  const load::ClientOptions& options() const { return options_; }
  Bytes pattern() const { return pattern_; }
  load::Meter& meter() { return meter_; }
  std::optional<load::Schedule>& schedule() { return schedule_; }

  /// Returns what the clock says with one call in flight; with more the time of the loop's turn, which is
  /// read when answers have arrived: a turn serves a whole batch of them. Over UCX and RDMA the clock again,
  /// because the time of a loop with pollers stands still for longer than a call takes.
  std::int64_t now_ns() const {
    if (reads_clock_) return load::now_ns();
    return Duration{loop_->now().time_since_epoch()}.count();
  }

  /// A call got no answer.
  void fail(Status why) {
    meter_.fail();
    if (first_failure_.ok()) first_failure_ = std::move(why);
  }
  const Status& first_failure() const { return first_failure_; }

 private:
  // Items that come without end are no calls in flight, and many are there in one turn.
  static bool reads_clock(const load::ClientOptions& options, std::string_view carrier) {
    if (options.streams == load::Streams::kDown || options.streams == load::Streams::kUp) return false;
    return options.depth == 1 || carrier == "ucx" || carrier == "verbs";
  }

  load::ClientOptions options_;
  Loop* loop_;
  bool reads_clock_;
  std::vector<std::byte> pattern_;
  std::vector<std::byte> landings_;
  std::size_t landings_taken_ = 0;
  MemoryLease leases_;  // ends before the memory
  std::int64_t start_ns_;
  load::Meter meter_;
  std::optional<load::Schedule> schedule_;
  Status first_failure_;
};

}  // namespace weft::perf
