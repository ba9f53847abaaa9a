// SPDX-License-Identifier: Apache-2.0
#include "calls/client/client_host.hpp"

#include <new>
#include <utility>

#include "calls/gate/server_gate.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/runtime/mailbox.hpp"

namespace weft::detail {

OwnedClientHost ClientHost::make(Loop& loop, const RpcLimits& limits, Duration call_timeout, Status misuse) {
  OwnedClientHost host{new ClientHost{loop, std::move(misuse)}};
  host->calls_.memory.emplace(std::make_shared<MemoryBudget>(limits.process_memory_max));
  host->calls_.peer_call_timeout = call_timeout;
  return host;
}

void ClientHost::add(const MethodEntry& entry, std::shared_ptr<void> owner) {
  WEFT_ASSERT(!prepared_, "register the handlers of a client before its first call or connect()");
  entries_.push_back(entry);
  if (owner != nullptr) owned_handlers_.push_back(std::move(owner));
}

// Without memory nothing has been decided: the next call tries again.
const Status& ClientHost::prepare() {
  prepared_ = true;
  if (entries_.empty() || !misuse_.ok()) return misuse_;
  try {
    misuse_ = build();
  } catch (const std::bad_alloc&) {
    return no_memory_;
  }
  entries_.clear();
  return misuse_;
}

Status ClientHost::build() {
  for (const MethodEntry& entry : entries_) {
    if (!entry.options.blocking) continue;
    return {StatusCode::kInvalidArgument, Layer::kRpc,
            "method '" + std::string{entry.key.name} +
                "' is blocking, and a client has no worker threads; let it be a coroutine that does "
                "co_await weft::on_worker(pool, f)"};
  }
  Result<MethodTable> methods = MethodTable::build(std::vector<MethodEntry>{entries_});
  if (!methods.ok()) return std::move(methods).status();
  methods_ = std::move(*methods);
  methods_.set_whose("client");
  // Rates and limits of the methods themselves; those of a whole server a client does not have.
  methods_.put_behind(std::make_shared<ServerGate>(GateOptions{}));
  calls_.calls = MethodCounts{methods_.entries().size()};
  calls_.methods = &methods_;
  return {};
}

// The records of coroutines end with their frames. Other records are held by a Reply, or by an answer that
// waited for room; their handlers were notified that the caller is gone.
void ClientHost::end() noexcept {
  IntrusiveList<ServedCall, ServedCallTag> left;
  left.splice_back(calls_.orphans);
  while (!left.empty()) {
    ServedCall& call = left.pop_front();
    if (call.method().kind == HandlerKind::kCoroutine) {
      call.let_go();
    } else {
      calls_.orphans.push_back(call);
    }
  }
  if (calls_.running.get() == 0) {
    delete this;
    return;
  }
  loop_.mailbox()->use().add_resident();
  calls_.on_idle = [this] {
    loop_.mailbox()->use().remove_resident();
    delete this;
  };
}

}  // namespace weft::detail
