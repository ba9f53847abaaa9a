// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace google::protobuf {
class ServiceDescriptor;
namespace io {
class Printer;
}
}  // namespace google::protobuf

/// The parts of the code generated for one service.
namespace weft::protobuf {

void write_server_class(const google::protobuf::ServiceDescriptor& service,
                        google::protobuf::io::Printer& out);
void write_stub_class(const google::protobuf::ServiceDescriptor& service, google::protobuf::io::Printer& out);
void write_fleet_stub_class(const google::protobuf::ServiceDescriptor& service,
                            google::protobuf::io::Printer& out);
/// The constants that these classes use.
void write_methods(const google::protobuf::ServiceDescriptor& service, google::protobuf::io::Printer& out);
void write_server_source(const google::protobuf::ServiceDescriptor& service,
                         google::protobuf::io::Printer& out);
void write_stub_source(const google::protobuf::ServiceDescriptor& service,
                       google::protobuf::io::Printer& out);
void write_fleet_stub_source(const google::protobuf::ServiceDescriptor& service,
                             google::protobuf::io::Printer& out);

}  // namespace weft::protobuf
