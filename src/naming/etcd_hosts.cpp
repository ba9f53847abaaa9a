// SPDX-License-Identifier: Apache-2.0
#include "naming/etcd_hosts.hpp"

#include <utility>

#include "naming/endpoint_text.hpp"

namespace weft::detail {

namespace {

constexpr std::size_t kBytesMax = 4096;
constexpr std::string_view kOfHost = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]";

Status wrong_hosts(std::string_view why) {
  return bad_name(std::string{why} + " (etcd://127.0.0.1:2379/services/kv)");
}

}  // namespace

Result<EtcdHosts> EtcdHosts::parse(std::string_view rest) {
  if (!rest.starts_with("//") || rest.size() > kBytesMax)
    return wrong_hosts("behind etcd: stands no //, or too much");
  rest.remove_prefix(2);
  const std::size_t slash = rest.find('/');
  if (slash == rest.npos) return wrong_hosts("the name has no prefix of keys");
  EtcdHosts made;
  made.prefix_ = rest.substr(slash);
  while (made.prefix_.ends_with('/')) made.prefix_.pop_back();
  if (made.prefix_.empty()) return wrong_hosts("the prefix of keys is empty");
  made.prefix_ += '/';
  rest = rest.substr(0, slash);
  for (;;) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const std::string_view host = rest.substr(0, end);
    if (host.find_first_not_of(kOfHost) != host.npos || host.find(':') == host.npos ||
        host.starts_with(':')) {
      return wrong_hosts("a host of etcd is not host:port");
    }
    made.hosts_.emplace_back(host);
    if (end == rest.size()) return made;
    rest.remove_prefix(end + 1);
  }
}

std::string EtcdHosts::url(std::string_view method) const {
  return "http://" + hosts_[in_use_] + "/v3/" + std::string{method};
}

}  // namespace weft::detail
