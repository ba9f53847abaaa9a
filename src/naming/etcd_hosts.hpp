// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/base/result.hpp"

namespace weft::detail {

/// The members of an etcd and the prefix of a name's keys, from `//host:port,host:port/prefix`.
class EtcdHosts {
 public:
  /// Errors: kInvalidArgument, with the fault.
  static Result<EtcdHosts> parse(std::string_view rest);

  /// `/services/kv/`: the keys of the name begin with it.
  const std::string& prefix() const noexcept { return prefix_; }
  /// Returns the URL of `method`, such as kv/range, at the member in use.
  std::string url(std::string_view method) const;
  /// Takes the next member, after a failure of this one.
  void next() noexcept { in_use_ = (in_use_ + 1) % hosts_.size(); }

 private:
  std::vector<std::string> hosts_;
  std::string prefix_;
  std::size_t in_use_ = 0;
};

}  // namespace weft::detail
