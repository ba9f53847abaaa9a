// SPDX-License-Identifier: Apache-2.0
#include "protobuf/generator/names.hpp"

#include <google/protobuf/descriptor.h>

#include <array>
#include <string_view>

namespace weft::protobuf {

namespace {

constexpr auto kWords = std::to_array<std::string_view>(
    {"alignas",       "alignof",     "and",        "and_eq",   "asm",       "auto",
     "bitand",        "bitor",       "bool",       "break",    "case",      "catch",
     "char",          "class",       "compl",      "concept",  "const",     "consteval",
     "constexpr",     "constinit",   "const_cast", "continue", "co_await",  "co_return",
     "co_yield",      "decltype",    "default",    "delete",   "do",        "double",
     "dynamic_cast",  "else",        "enum",       "explicit", "export",    "extern",
     "false",         "float",       "for",        "friend",   "goto",      "if",
     "inline",        "int",         "long",       "mutable",  "namespace", "new",
     "noexcept",      "not",         "not_eq",     "nullptr",  "operator",  "or",
     "or_eq",         "private",     "protected",  "public",   "register",  "reinterpret_cast",
     "requires",      "return",      "short",      "signed",   "sizeof",    "static",
     "static_assert", "static_cast", "struct",     "switch",   "template",  "this",
     "thread_local",  "throw",       "true",       "try",      "typedef",   "typeid",
     "typename",      "union",       "unsigned",   "using",    "virtual",   "void",
     "volatile",      "wchar_t",     "while",      "xor",      "xor_eq"});

// What the classes around a method have already.
constexpr auto kTaken =
    std::to_array<std::string_view>({"descriptor", "add_methods", "client", "fleet", "explain_stream"});

template <typename Names>
bool contains(const Names& names, std::string_view name) {
  for (const std::string_view each : names) {
    if (each == name) return true;
  }
  return false;
}

std::string with_colons(const std::string& dotted) {
  std::string result;
  std::string part;
  for (const char c : dotted + '.') {
    if (c != '.') {
      part += c;
      continue;
    }
    result += (result.empty() ? "" : "::") + (contains(kWords, part) ? part + '_' : part);
    part.clear();
  }
  return result;
}

}  // namespace

std::string base_name(const google::protobuf::FileDescriptor& file) {
  const std::string& name = file.name();
  for (const std::string_view ending : {".proto", ".protodevel"}) {
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  }
  return name;
}

std::string cpp_package(const google::protobuf::FileDescriptor& file) {
  return with_colons(file.package());
}

std::string cpp_class(const google::protobuf::Descriptor& message) {
  std::string name = message.name();
  for (const auto* outer = message.containing_type(); outer != nullptr; outer = outer->containing_type()) {
    name.insert(0, outer->name() + "_");
  }
  if (contains(kWords, name)) name += '_';
  const std::string package = cpp_package(*message.file());
  return (package.empty() ? "::" : "::" + package + "::") + name;
}

std::string cpp_name(const std::string& name) {
  return contains(kWords, name) || contains(kTaken, name) ? name + '_' : name;
}

std::string wire_name(const google::protobuf::MethodDescriptor& method) {
  return method.service()->full_name() + "/" + method.name();
}

bool is_streaming(const google::protobuf::MethodDescriptor& method) {
  return method.client_streaming() || method.server_streaming();
}

std::string streams_name(const google::protobuf::MethodDescriptor& method) {
  if (method.client_streaming()) return method.server_streaming() ? "kBoth" : "kRequests";
  return method.server_streaming() ? "kResponses" : "kNone";
}

}  // namespace weft::protobuf
