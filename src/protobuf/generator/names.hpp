// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace google::protobuf {
class Descriptor;
class FileDescriptor;
class MethodDescriptor;
class ServiceDescriptor;
}  // namespace google::protobuf

/// Names of things of a .proto in C++.
namespace weft::protobuf {

/// "dir/echo" of dir/echo.proto.
std::string base_name(const google::protobuf::FileDescriptor& file);
/// "demo::v1" of package demo.v1.
std::string cpp_package(const google::protobuf::FileDescriptor& file);
/// "::demo::v1::Outer_Inner", as protoc names the class.
std::string cpp_class(const google::protobuf::Descriptor& message);
/// A method's or a service's name, with an underscore if it is a word of C++.
std::string cpp_name(const std::string& name);
/// "demo.v1.Echo/Say": what the method's id is made of.
std::string wire_name(const google::protobuf::MethodDescriptor& method);
bool is_streaming(const google::protobuf::MethodDescriptor& method);
/// Its value of ::weft::protobuf::Streams.
std::string streams_name(const google::protobuf::MethodDescriptor& method);

}  // namespace weft::protobuf
