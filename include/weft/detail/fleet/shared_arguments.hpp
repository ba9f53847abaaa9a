// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/functions/call.hpp"

namespace weft::detail {

/// Body of an attempt: arguments that all attempts of a call refer to, and a result of its own.
template <auto M, typename Arguments>
class SharedArguments final : public CodecAnswer<ResultOfMethod<M>> {
 public:
  explicit SharedArguments(const Arguments& arguments) : arguments_(&arguments) {}

  Status check() const
    requires requires(const Arguments& arguments) { arguments.check(); }
  {
    return arguments_->check();
  }
  std::size_t bytes() const { return arguments_->bytes(); }
  void write(std::byte* to) const { arguments_->write(to); }

 private:
  const Arguments* arguments_;
};

}  // namespace weft::detail
