// SPDX-License-Identifier: Apache-2.0
#include "naming/judged_list.hpp"

#include <algorithm>
#include <utility>

namespace weft::detail {

namespace {

std::size_t bytes_of(const std::vector<Endpoint>& endpoints) {
  std::size_t bytes = 0;
  for (const Endpoint& endpoint : endpoints) bytes += endpoint.url.size() + endpoint.zone.size();
  return bytes;
}

JudgedList of(JudgedList::Verdict verdict, Status why) {
  JudgedList list;
  list.verdict = verdict;
  list.failure = std::move(why);
  return list;
}

}  // namespace

JudgedList refused_list(Status why) {
  return of(JudgedList::Verdict::kRefused, std::move(why));
}

JudgedList no_list(Status why) {
  return of(JudgedList::Verdict::kNoAnswer, std::move(why));
}

JudgedList judge(std::vector<Endpoint> endpoints, const NameLimits& limits, const NameSnapshot& before) {
  if (endpoints.empty()) {
    return of(JudgedList::Verdict::kEmpty,
              {StatusCode::kNotFound, Layer::kRuntime,
               "the answer names no server; the last good list is kept, see that servers are registered"});
  }
  if (endpoints.size() > limits.endpoints_max || bytes_of(endpoints) > limits.bytes_max) {
    return refused_list(
        {StatusCode::kResourceExhausted, Layer::kRuntime,
         "the answer is larger than NameOptions allows; raise endpoints_max or bytes_max if it is right"});
  }
  std::sort(endpoints.begin(), endpoints.end());
  const auto same_url = [](const Endpoint& a, const Endpoint& b) { return a.url == b.url; };
  const auto last = std::unique(endpoints.begin(), endpoints.end(), same_url);
  JudgedList list;
  list.duplicates = static_cast<std::uint64_t>(endpoints.end() - last);
  endpoints.erase(last, endpoints.end());
  list.compared_with = before->version;
  list.is_same = endpoints == before->endpoints;
  list.endpoints = std::move(endpoints);
  return list;
}

}  // namespace weft::detail
