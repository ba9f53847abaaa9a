// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/terms/transports.hpp"

#include <algorithm>
#include <string>

namespace weft {

Result<detail::Transport*> Transports::find(const detail::Url& url) const {
  for (const auto& transport : *all_) {
    if (transport->handles(url.scheme)) return transport.get();
  }
  std::string known;
  for (const std::string_view scheme : detail::kKnownSchemes) {
    const auto handles = [scheme](const auto& transport) { return transport->handles(scheme); };
    if (std::ranges::any_of(*all_, handles))
      known += (known.empty() ? "" : ", ") + std::string{scheme} + "://";
  }
  return Status{StatusCode::kInvalidArgument, Layer::kRpc,
                "no transport for '" + url.to_string() + "': this program has none for '" + url.scheme +
                    "://'" + (known.empty() ? "" : "; it has them for " + known)};
}

Result<MemoryLease> Transports::register_memory(std::span<const std::string> urls,
                                                MutableBytes memory) const {
  MemoryLease all;
  for (const std::string& text : urls) {
    const Result<detail::Url> url = detail::Url::parse(text);
    if (!url.ok()) return url.status();
    const Result<detail::Transport*> transport = find(*url);
    if (!transport.ok()) return transport.status();
    auto lease = (*transport)->register_memory(*url, memory);
    if (!lease.ok()) return std::move(lease).status().with_context("registering memory for " + text);
    all.add(std::move(*lease));
  }
  return all;
}

}  // namespace weft
