// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "reflection.weft.hpp"
#include "weft/detail/protobuf/service.hpp"

namespace weft::protobuf {

/// Says what services a server has. They are added before it starts; from then on it is only read.
class Services::Reflected final : public reflection::v1::ReflectionServer {
 public:
  void add(const google::protobuf::ServiceDescriptor* service);

  Task<Result<void>> List(CallContext& context, const reflection::v1::ListRequest& request,
                          reflection::v1::ListResponse& response) override;
  Task<Result<void>> Describe(CallContext& context, const reflection::v1::DescribeRequest& request,
                              reflection::v1::DescribeResponse& response) override;

 private:
  /// The file that defines `name`, if a service needs it that the caller may call; null else.
  const google::protobuf::FileDescriptor* file_of(const CallContext& context, const std::string& name) const;

  std::vector<const google::protobuf::ServiceDescriptor*> services_;
};

}  // namespace weft::protobuf
