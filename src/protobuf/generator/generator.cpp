// SPDX-License-Identifier: Apache-2.0
#include "protobuf/generator/generator.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/printer.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <memory>
#include <string>
#include <vector>

#include "protobuf/generator/names.hpp"
#include "protobuf/generator/service_code.hpp"

namespace weft::protobuf {

namespace {

using google::protobuf::FileDescriptor;
using google::protobuf::FileOptions;
using google::protobuf::compiler::GeneratorContext;
using google::protobuf::io::Printer;

/// Refuses names that would make C++ which does not compile: a class of ours that has a name of the file's.
bool check_names(const google::protobuf::ServiceDescriptor& service, bool fleets, std::string* error) {
  const FileDescriptor& file = *service.file();
  std::vector<std::string> classes{service.name() + "Server", service.name() + "Stub"};
  if (fleets) classes.push_back(service.name() + "FleetStub");
  for (const std::string& ours : classes) {
    bool taken = file.FindMessageTypeByName(ours) != nullptr || file.FindEnumTypeByName(ours) != nullptr ||
                 file.FindServiceByName(ours) != nullptr;
    for (int i = 0; i < service.method_count(); ++i) taken = taken || service.method(i)->name() == ours;
    if (!taken) continue;
    *error = file.name() + ": the class that is made for service " + service.full_name() + " is called " +
             ours + ", and so is something else there; rename one of them";
    return false;
  }
  return true;
}

bool check_file(const FileDescriptor& file, bool fleets, std::string* error) {
  if (file.options().optimize_for() == FileOptions::LITE_RUNTIME && file.service_count() != 0) {
    *error = file.name() + ": services need the full runtime; remove optimize_for = LITE_RUNTIME";
    return false;
  }
  for (int i = 0; i < file.service_count(); ++i) {
    if (!check_names(*file.service(i), fleets, error)) return false;
  }
  return true;
}

void open_namespace(const FileDescriptor& file, Printer& out) {
  if (!file.package().empty()) out.Print("namespace $name$ {\n\n", "name", cpp_package(file));
}

void close_namespace(const FileDescriptor& file, Printer& out) {
  if (!file.package().empty()) out.Print("}  // namespace $name$\n", "name", cpp_package(file));
}

void write_header(const FileDescriptor& file, bool fleets, Printer& out) {
  out.Print(
      "// Made by protoc-gen-weft from $file$. Do not edit.\n"
      "#pragma once\n\n"
      "$fleet_stub$#include <weft/detail/protobuf/call.hpp>\n"
      "#include <weft/detail/protobuf/client_stream.hpp>\n"
      "#include <weft/detail/protobuf/service.hpp>\n\n"
      "#include \"$base$.pb.h\"\n\n",
      "file", file.name(), "base", base_name(file), "fleet_stub",
      fleets ? "#include <weft/detail/fleet/protobuf/fleet_stub.hpp>\n" : "");
  open_namespace(file, out);
  for (int i = 0; i < file.service_count(); ++i) {
    write_server_class(*file.service(i), out);
    write_stub_class(*file.service(i), out);
    if (fleets) write_fleet_stub_class(*file.service(i), out);
  }
  close_namespace(file, out);
}

void write_source(const FileDescriptor& file, bool fleets, Printer& out) {
  out.Print(
      "// Made by protoc-gen-weft from $file$. Do not edit.\n"
      "#include \"$base$.weft.hpp\"\n\n",
      "file", file.name(), "base", base_name(file));
  open_namespace(file, out);
  for (int i = 0; i < file.service_count(); ++i) {
    write_methods(*file.service(i), out);
    write_server_source(*file.service(i), out);
    write_stub_source(*file.service(i), out);
    if (fleets) write_fleet_stub_source(*file.service(i), out);
  }
  close_namespace(file, out);
}

}  // namespace

bool Generator::Generate(const FileDescriptor* file, const std::string& parameter, GeneratorContext* context,
                         std::string* error) const {
  const bool fleets = parameter == "fleets";
  if (!parameter.empty() && !fleets) {
    *error = "weft: unknown parameter \"" + parameter + "\"; there is \"fleets\" only";
    return false;
  }
  if (!check_file(*file, fleets, error)) return false;
  const auto write = [&](const char* ending, void (*content)(const FileDescriptor&, bool, Printer&)) {
    const std::unique_ptr<google::protobuf::io::ZeroCopyOutputStream> stream{
        context->Open(base_name(*file) + ending)};
    Printer printer{stream.get(), '$'};
    content(*file, fleets, printer);
  };
  write(".weft.hpp", &write_header);
  write(".weft.cpp", &write_source);
  return true;
}

}  // namespace weft::protobuf
