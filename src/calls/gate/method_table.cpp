// SPDX-License-Identifier: Apache-2.0
#include "calls/gate/method_table.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "calls/gate/server_gate.hpp"
#include "calls/terms/option_checks.hpp"

namespace weft::detail {

namespace {

Status registered_already(const MethodEntry& entry, const MethodEntry& other) {
  std::string text = "method '" + std::string{entry.key.name} + "' is registered already";
  if (entry.key.name != other.key.name) text += " (as '" + std::string{other.key.name} + "')";
  if (!entry.keyed || !other.keyed) {
    text += "; give one of them a key: register_handler<weft::method<f, \"key\">>()";
  }
  return {StatusCode::kAlreadyExists, Layer::kRpc, std::move(text)};
}

Status misuse_of(const MethodEntry& entry, std::string_view why) {
  return {StatusCode::kInvalidArgument, Layer::kRpc,
          "method '" + std::string{entry.key.name} + "' " + std::string{why}};
}

Status check_entry(const MethodEntry& entry) {
  if (entry.options.blocking && entry.on_loop_only) {
    return misuse_of(
        entry,
        "is a coroutine and cannot be blocking: it runs on a loop; let it be an ordinary function, "
        "or not blocking");
  }
  if (entry.options.running_max != 0 && entry.kind == HandlerKind::kInline) {
    return misuse_of(entry,
                     "is an ordinary function, of which a loop runs one at a time, and has a "
                     "HandlerOptions::running_max; leave that out, or let it be blocking");
  }
  if (entry.options.adaptive_limit && entry.kind == HandlerKind::kInline) {
    return misuse_of(entry,
                     "is an ordinary function, of which a loop runs one at a time, and has a "
                     "HandlerOptions::adaptive_limit; leave that out, or let it be blocking");
  }
  if (entry.options.rate) {
    if (Status status = check_rate(*entry.options.rate, "HandlerOptions::rate"); !status.ok()) {
      return misuse_of(entry, status.message());
    }
  }
  if (entry.options.adaptive_limit) {
    Status status = check_adaptive(*entry.options.adaptive_limit, "HandlerOptions::adaptive_limit");
    if (!status.ok()) return misuse_of(entry, status.message());
  }
  if (entry.options.waiting_max != 0 && entry.kind != HandlerKind::kBlocking) {
    return misuse_of(
        entry,
        "has a HandlerOptions::waiting_max, but only calls of blocking handlers wait; leave it out, "
        "or let the method be blocking");
  }
  return {};
}

}  // namespace

Result<MethodTable> MethodTable::build(std::vector<MethodEntry> entries, std::size_t calls_running_max) {
  MethodTable table;
  RunningLimit* whole = nullptr;
  if (calls_running_max != 0) {
    table.limits_.push_back(std::make_unique<RunningLimit>(calls_running_max));
    whole = table.limits_.back().get();
  }
  table.entries_ = std::move(entries);
  table.slots_.resize(std::bit_ceil(table.entries_.size() * 2 + 2), nullptr);
  for (MethodEntry& entry : table.entries_) {
    if (Status status = check_entry(entry); !status.ok()) return status;
    entry.running = whole;
    entry.straight = entry.kind == HandlerKind::kInline;
    entry.index = static_cast<std::size_t>(&entry - table.entries_.data()) + 1;
    // Of blocking calls the workers' queue runs no more than may, and lets the others wait.
    if (entry.options.running_max != 0 && entry.kind != HandlerKind::kBlocking) {
      table.limits_.push_back(std::make_unique<RunningLimit>(entry.options.running_max, whole));
      entry.running = table.limits_.back().get();
    }
    const MethodEntry* other = table.find_any(entry.key.id);
    if (other != nullptr && !entry.keyed && !other->keyed) other = table.find(entry.key.id, entry.key.schema);
    if (other != nullptr) {
      return registered_already(entry, *other);
    }
    std::size_t at = table.home(entry.key.id);
    while (table.slots_[at] != nullptr) at = (at + 1) & (table.slots_.size() - 1);
    table.slots_[at] = &entry;
  }
  return table;
}

void MethodTable::put_behind(std::shared_ptr<ServerGate> gate, bool timed) {
  gate_ = std::move(gate);
  for (MethodEntry& entry : entries_) {
    entry.gate = gate_->gate_of(entry);
    const bool plain = entry.straight && entry.gate == nullptr;
    entry.straight = plain && !timed;
    entry.timed = plain && timed;
  }
}

bool MethodTable::has_blocking() const {
  return std::ranges::any_of(entries_, [](const MethodEntry& entry) { return entry.options.blocking; });
}

}  // namespace weft::detail
