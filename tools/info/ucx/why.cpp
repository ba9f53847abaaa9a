// SPDX-License-Identifier: Apache-2.0
#include "info/ucx/why.hpp"

#include <algorithm>
#include <string_view>

namespace weft::info {
namespace {

bool is_shared_memory(std::string_view transport) {
  return transport == "posix" || transport == "sysv" || transport == "xpmem";
}

bool is_rdma(std::string_view transport) {
  return transport.starts_with("rc_") || transport.starts_with("dc_") || transport.starts_with("ud_");
}

bool is_cma(std::string_view transport) {
  return transport == "cma";
}

template <typename Items>
bool any(const Items& items, bool (*is)(std::string_view)) {
  return std::any_of(items.begin(), items.end(), [is](const auto& item) { return is(item.transport); });
}

std::string why_no_shared_memory(bool same_host, const UcxFacts& facts) {
  if (!same_host) return "no shared memory, because the server is on another host";
  if (!any(facts.resources, is_shared_memory)) {
    return "no shared memory, because this side opens none: look at its options and UCX_TLS";
  }
  return "no shared memory, because the server opens none, or is where it cannot reach this side's (another "
         "container, another /dev/shm)";
}

std::string why_no_rdma(const UcxFacts& facts) {
  if (!any(facts.resources, is_rdma)) return "no InfiniBand or RoCE, because this side opens no such device";
  return "no InfiniBand or RoCE, because the server opens none, or none that this side's leads to";
}

}  // namespace

std::vector<std::string> reasons(const std::vector<Lane>& lanes, bool same_host, const UcxFacts& facts,
                                 const Options& options) {
  if (lanes.empty()) return {};
  std::vector<std::string> all;
  const bool shared = any(lanes, is_shared_memory);
  if (shared) all.emplace_back("shared memory, because both sides open it and are on one host");
  if (!shared) all.push_back(why_no_shared_memory(same_host, facts));
  if (!shared && !any(lanes, is_rdma)) all.push_back(why_no_rdma(facts));
  if (shared && !options.ucx.mode_none && any(facts.resources, is_cma)) {
    all.emplace_back(
        "no copies from process to process (cma), because UCX makes them in error mode none only");
  }
  all.emplace_back(
      "of what is left UCX takes what it expects to be fastest: ucx_info -d has its latencies and "
      "bandwidths");
  return all;
}

}  // namespace weft::info
