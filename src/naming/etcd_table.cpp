// SPDX-License-Identifier: Apache-2.0
#include "naming/etcd_table.hpp"

#include <utility>

#include "naming/endpoint_text.hpp"

namespace weft::detail {

EtcdNews EtcdTable::begin(std::string_view range, const NameSnapshot& before) {
  EtcdNews news;
  auto read = read_range(range);
  if (!read.ok()) {
    news.failure = std::move(read).status();
    return news;
  }
  news.revision = read->revision;
  news.failure = apply(std::move(read->entries));
  news.changed = news.failure.ok();
  if (news.changed) news.list = list(before);
  return news;
}

EtcdNews EtcdTable::follow(std::string_view lines, const NameSnapshot& before) {
  EtcdNews news;
  for (std::size_t end; (end = lines.find('\n')) != lines.npos; lines.remove_prefix(end + 1)) {
    auto entries = read_watch(lines.substr(0, end));
    if (!entries.ok()) {
      news.failure = std::move(entries).status();
      return news;
    }
    news.changed = news.changed || !entries->empty();
    news.failure = apply(std::move(*entries));
    if (!news.failure.ok()) return news;
  }
  if (news.changed) news.list = list(before);
  return news;
}

Status EtcdTable::apply(std::vector<EtcdEntry> entries) {
  for (EtcdEntry& entry : entries) {
    if (!entry.key.starts_with(prefix_)) return bad_name("etcd tells of a key that was not asked for");
    const auto found = entries_.find(entry.key);
    if (found != entries_.end()) {
      bytes_ -= found->second.size();
      entries_.erase(found);
    }
    if (entry.deleted) continue;
    bytes_ += entry.value.size();
    entries_.insert_or_assign(std::move(entry.key), std::move(entry.value));
    if (entries_.size() > limits_.endpoints_max || bytes_ > bytes_max_) {
      return {StatusCode::kResourceExhausted, Layer::kRuntime,
              "etcd has more servers under the name than NameOptions allows; raise endpoints_max if that is "
              "right"};
    }
  }
  return {};
}

// One server that registers garbage takes no other one with it.
JudgedList EtcdTable::list(const NameSnapshot& before) const {
  std::vector<Endpoint> endpoints;
  std::uint64_t skipped = 0;
  Status first_skipped;
  for (const auto& [key, value] : entries_) {
    auto endpoint = parse_endpoint(value);
    if (endpoint.ok()) {
      endpoints.push_back(std::move(*endpoint));
    } else if (++skipped == 1) {
      first_skipped = endpoint.status();
    }
  }
  const bool all_skipped = endpoints.empty() && !entries_.empty();
  JudgedList judged = all_skipped ? refused_list(bad_name("no key of etcd under the name holds an endpoint"))
                                  : judge(std::move(endpoints), limits_, before);
  judged.skipped = skipped;
  judged.first_skipped = std::move(first_skipped);
  return judged;
}

}  // namespace weft::detail
