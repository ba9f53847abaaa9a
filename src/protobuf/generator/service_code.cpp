// SPDX-License-Identifier: Apache-2.0
#include "protobuf/generator/service_code.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/printer.h>

#include <map>
#include <sstream>
#include <string>

#include "protobuf/generator/names.hpp"

namespace weft::protobuf {

namespace {

using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;
using google::protobuf::io::Printer;

using Words = std::map<std::string, std::string>;

Words words_of(const ServiceDescriptor& service) {
  return {{"service", service.name()},
          {"full", service.full_name()},
          {"server", service.name() + "Server"},
          {"stub", service.name() + "Stub"},
          {"fleet_stub", service.name() + "FleetStub"}};
}

Words words_of(const MethodDescriptor& method) {
  Words words = words_of(*method.service());
  words["method"] = cpp_name(method.name());
  words["constant"] = "k" + method.service()->name() + "_" + method.name();
  words["wire"] = wire_name(method);
  words["in"] = cpp_class(*method.input_type());
  words["out"] = cpp_class(*method.output_type());
  words["in_name"] = method.input_type()->full_name();
  words["out_name"] = method.output_type()->full_name();
  const bool idempotent =
      method.options().idempotency_level() != google::protobuf::MethodOptions::IDEMPOTENCY_UNKNOWN;
  words["idempotent"] = idempotent ? ", true" : "";
  if (!is_streaming(method)) return words;
  words["idempotent"] =
      (idempotent ? ", true, " : ", false, ") + ("::weft::protobuf::Streams::" + streams_name(method));
  words["takes"] = method.client_streaming() ? "::weft::protobuf::Reader<" + words["in"] + ">& requests"
                                             : "const " + words["in"] + "& request";
  words["fills"] = method.server_streaming() ? "::weft::protobuf::Writer<" + words["out"] + ">& responses"
                                             : words["out"] + "& response";
  words["stream"] = "::weft::protobuf::ClientStream<" + (method.server_streaming() ? words["out"] : "void") +
                    ", " + (method.client_streaming() ? words["in"] : "void") + ", " +
                    (method.server_streaming() ? "void" : words["out"]) + ">";
  // A method that is sent one request is given it; the others are opened without.
  words["request"] = method.client_streaming() ? "" : "const " + words["in"] + "& request";
  words["and_request"] = method.client_streaming() ? "" : ", " + words["request"];
  words["given"] = method.client_streaming() ? "nullptr" : "&request";
  return words;
}

/// The words of a stub's method, as it is over one server and over a fleet.
Words over_client(Words words) {
  words["call"] = "::weft::protobuf::UnaryCall";
  words["options"] = "::weft::CallOptions";
  words["has_options"] = ", ::weft::CallOptions";
  words["over"] = "client()";
  return words;
}
Words over_fleet(Words words) {
  words["stub"] = words["fleet_stub"];
  words["call"] = "::weft::protobuf::FleetUnaryCall";
  words["options"] = "::weft::FleetCallOptions";
  words["has_options"] = "";
  words["over"] = "fleet()";
  return words;
}

template <typename Each>
void for_each_method(const ServiceDescriptor& service, Each each) {
  for (int i = 0; i < service.method_count(); ++i) each(*service.method(i));
}

/// The comments that stand at a thing of the .proto, as documentation; `fallback` where there are none.
template <typename Described>
void write_comments(const Described& described, const std::string& fallback, const std::string& indent,
                    Printer& out) {
  google::protobuf::SourceLocation location;
  std::string text;
  if (described.GetSourceLocation(&location)) text = location.leading_comments + location.trailing_comments;
  if (text.find_first_not_of(" \n\t") == std::string::npos) text = " " + fallback;
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    // Neither a backslash nor its trigraph may join the next line to the comment.
    for (std::size_t at = 0; (at = line.find("?\?/", at)) != std::string::npos;) line.insert(at + 1, " ");
    line.erase(line.find_last_not_of(" \t\r\\") + 1);
    if (!line.empty() && line.front() != ' ') line.insert(0, " ");
    line.insert(0, indent + "///");
    out.PrintRaw(line += '\n');
  }
}

void declare_call(const Words& words, Printer& out) {
  out.Print(words,
            "  $call$<const $in$&, $out$> $method$(const $in$& request) const;\n"
            "  $call$<$in$, $out$> $method$($in$&& request) const;\n"
            "  $call$<const $in$&, $out$$has_options$> $method$(\n"
            "      const $options$& options, const $in$& request) const;\n"
            "  $call$<$in$, $out$$has_options$> $method$(\n"
            "      const $options$& options, $in$&& request) const;\n\n");
}

void define_call(const Words& words, Printer& out) {
  out.Print(words,
            "$call$<const $in$&, $out$> $stub$::$method$(const $in$& request) const {\n"
            "  return {$over$, $constant$, {}, request};\n"
            "}\n"
            "$call$<$in$, $out$> $stub$::$method$($in$&& request) const {\n"
            "  return {$over$, $constant$, {}, std::move(request)};\n"
            "}\n"
            "$call$<const $in$&, $out$$has_options$> $stub$::$method$(\n"
            "    const $options$& options, const $in$& request) const {\n"
            "  return {$over$, $constant$, options, request};\n"
            "}\n"
            "$call$<$in$, $out$$has_options$> $stub$::$method$(\n"
            "    const $options$& options, $in$&& request) const {\n"
            "  return {$over$, $constant$, options, std::move(request)};\n"
            "}\n\n");
}

}  // namespace

void write_server_class(const ServiceDescriptor& service, Printer& out) {
  const Words words = words_of(service);
  write_comments(service, "The service " + service.full_name() + ".", "", out);
  out.Print(words,
            "///\n"
            "/// Derive from it and give it to ::weft::protobuf::Services::add().\n"
            "class $server$ : public ::weft::protobuf::Service {\n"
            " public:\n");
  for_each_method(service, [&](const MethodDescriptor& method) {
    write_comments(method, "Serves " + wire_name(method) + ".", "  ", out);
    if (is_streaming(method)) {
      out.Print(words_of(method),
                "  virtual ::weft::Task<::weft::Result<void>> $method$(::weft::CallContext& context,\n"
                "      $takes$,\n"
                "      $fills$) = 0;\n\n");
      return;
    }
    out.Print(words_of(method),
              "  virtual ::weft::Task<::weft::Result<void>> $method$(::weft::CallContext& context,\n"
              "      const $in$& request,\n"
              "      $out$& response) = 0;\n\n");
  });
  out.Print(words,
            "  const ::google::protobuf::ServiceDescriptor* descriptor() const override;\n\n"
            " private:\n"
            "  void add_methods(::weft::protobuf::MethodList& methods) override;\n"
            "};\n\n");
}

void write_stub_class(const ServiceDescriptor& service, Printer& out) {
  const Words words = words_of(service);
  out.Print(words,
            "/// Calls the service $full$ over a client, which outlives it.\n"
            "class $stub$ : public ::weft::protobuf::Stub {\n"
            " public:\n"
            "  using Stub::Stub;\n\n");
  for_each_method(service, [&](const MethodDescriptor& method) {
    const Words its = words_of(method);
    write_comments(method, "Calls " + wire_name(method) + ".", "  ", out);
    if (is_streaming(method)) {
      out.Print(its,
                "  $stream$ $method$($request$) const;\n"
                "  $stream$ $method$(\n"
                "      const ::weft::CallOptions& options$and_request$) const;\n\n");
      return;
    }
    declare_call(over_client(its), out);
  });
  out.Print("};\n\n");
}

void write_fleet_stub_class(const ServiceDescriptor& service, Printer& out) {
  out.Print(words_of(service),
            "/// Calls the service $full$ over the servers of a fleet, which outlives it.\n"
            "class $fleet_stub$ : public ::weft::protobuf::FleetStub {\n"
            " public:\n"
            "  using FleetStub::FleetStub;\n\n");
  for_each_method(service, [&](const MethodDescriptor& method) {
    const Words its = words_of(method);
    if (is_streaming(method)) {
      out.Print(its,
                "  /// Does not compile: a stream has one server. $stub$ opens it.\n"
                "  template <typename... Given>\n"
                "  void $method$(const Given&...) const {\n"
                "    explain_stream<Given...>();\n"
                "  }\n\n");
      return;
    }
    write_comments(method, "Calls " + wire_name(method) + ".", "  ", out);
    declare_call(over_fleet(its), out);
  });
  out.Print("};\n\n");
}

void write_methods(const ServiceDescriptor& service, Printer& out) {
  out.Print("namespace {\n\n");
  for_each_method(service, [&](const MethodDescriptor& method) {
    out.Print(words_of(method),
              "constexpr ::weft::detail::MethodKey $constant$ = ::weft::protobuf::make_method(\n"
              "    \"$wire$\",\n"
              "    \"$in_name$\", \"$out_name$\"$idempotent$);\n\n");
  });
  out.Print("}  // namespace\n\n");
}

void write_server_source(const ServiceDescriptor& service, Printer& out) {
  Words words = words_of(service);
  out.Print(words,
            "const ::google::protobuf::ServiceDescriptor* $server$::descriptor() const {\n"
            "  static const ::google::protobuf::ServiceDescriptor* const found =\n"
            "      ::google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(\"$full$\");\n"
            "  return found;\n"
            "}\n\n"
            "void $server$::add_methods([[maybe_unused]] ::weft::protobuf::MethodList& methods) {\n");
  for_each_method(service, [&](const MethodDescriptor& method) {
    out.Print(words_of(method), "  methods.add<&$server$::$method$>($constant$, this);\n");
  });
  out.Print("}\n\n");
}

void write_stub_source(const ServiceDescriptor& service, Printer& out) {
  for_each_method(service, [&](const MethodDescriptor& method) {
    if (is_streaming(method)) {
      out.Print(words_of(method),
                "$stream$ $stub$::$method$($request$) const {\n"
                "  return {client(), $constant$, ::weft::CallOptions{}, $given$};\n"
                "}\n"
                "$stream$ $stub$::$method$(\n"
                "    const ::weft::CallOptions& options$and_request$) const {\n"
                "  return {client(), $constant$, options, $given$};\n"
                "}\n\n");
      return;
    }
    define_call(over_client(words_of(method)), out);
  });
}

void write_fleet_stub_source(const ServiceDescriptor& service, Printer& out) {
  for_each_method(service, [&](const MethodDescriptor& method) {
    if (!is_streaming(method)) define_call(over_fleet(words_of(method)), out);
  });
}

}  // namespace weft::protobuf
