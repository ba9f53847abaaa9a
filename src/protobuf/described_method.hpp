// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <string>

#include "weft/detail/protobuf/method.hpp"

namespace weft::protobuf::detail {

/// A method that is known by its descriptor alone: its name on the wire, and its key, which refers to the
/// name and to the descriptor.
struct DescribedMethod {
  explicit DescribedMethod(const google::protobuf::MethodDescriptor& its)
      : name(its.service()->full_name() + "/" + its.name()),
        key(make_method(
            name, its.input_type()->full_name(), its.output_type()->full_name(),
            its.options().idempotency_level() != google::protobuf::MethodOptions::IDEMPOTENCY_UNKNOWN)) {}
  DescribedMethod(const DescribedMethod&) = delete;
  DescribedMethod& operator=(const DescribedMethod&) = delete;

  const std::string name;
  const weft::detail::MethodKey key;
};

}  // namespace weft::protobuf::detail
