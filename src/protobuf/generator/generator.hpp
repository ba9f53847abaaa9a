// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/compiler/code_generator.h>

#include <cstdint>
#include <string>

namespace weft::protobuf {

/// Makes x.weft.hpp and x.weft.cpp of each x.proto: for each service an abstract server class and a stub.
/// The parameter "fleets" adds a stub over fleets, for which users link weft::fleet_protobuf.
class Generator final : public google::protobuf::compiler::CodeGenerator {
 public:
  bool Generate(const google::protobuf::FileDescriptor* file, const std::string& parameter,
                google::protobuf::compiler::GeneratorContext* context, std::string* error) const override;
  std::uint64_t GetSupportedFeatures() const override { return FEATURE_PROTO3_OPTIONAL; }
};

}  // namespace weft::protobuf
