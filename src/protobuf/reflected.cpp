// SPDX-License-Identifier: Apache-2.0
#include "protobuf/reflected.hpp"

#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <string>

namespace weft::protobuf {

namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;
using google::protobuf::ServiceDescriptor;

using Files = std::vector<const FileDescriptor*>;

/// Appends `file` after its imports.
void append_with_imports(const FileDescriptor* file, Files& files) {
  if (std::ranges::find(files, file) != files.end()) return;
  for (int i = 0; i < file->dependency_count(); ++i) append_with_imports(file->dependency(i), files);
  files.push_back(file);
}

/// A caller sees only the methods that it may call.
bool may_call(const CallContext& context, const google::protobuf::MethodDescriptor& method) {
  return context.may_call(method.service()->full_name() + "/" + method.name());
}

bool may_see(const CallContext& context, const ServiceDescriptor& service) {
  for (int i = 0; i < service.method_count(); ++i) {
    if (may_call(context, *service.method(i))) return true;
  }
  return service.method_count() == 0 && context.may_call(service.full_name() + "/");
}

/// The file without the services, and the methods, that the caller does not hear of.
void copy_seen(const CallContext& context, const FileDescriptor& file,
               google::protobuf::FileDescriptorProto& into) {
  file.CopyTo(&into);
  into.clear_service();
  for (int i = 0; i < file.service_count(); ++i) {
    const ServiceDescriptor& service = *file.service(i);
    if (!may_see(context, service)) continue;
    auto& seen = *into.add_service();
    service.CopyTo(&seen);
    seen.clear_method();
    for (int j = 0; j < service.method_count(); ++j) {
      if (may_call(context, *service.method(j))) service.method(j)->CopyTo(seen.add_method());
    }
  }
}

}  // namespace

void Services::Reflected::add(const ServiceDescriptor* service) {
  const auto at = std::ranges::lower_bound(services_, service->full_name(), {},
                                           [](const auto* each) { return each->full_name(); });
  services_.insert(at, service);
}

Task<Result<void>> Services::Reflected::List(CallContext& context, const reflection::v1::ListRequest&,
                                             reflection::v1::ListResponse& response) {
  for (const ServiceDescriptor* service : services_) {
    if (may_see(context, *service)) response.add_services(service->full_name());
  }
  co_return Result<void>{};
}

Task<Result<void>> Services::Reflected::Describe(CallContext& context,
                                                 const reflection::v1::DescribeRequest& request,
                                                 reflection::v1::DescribeResponse& response) {
  const FileDescriptor* file = file_of(context, request.name());
  if (file == nullptr) {
    co_return Status{StatusCode::kNotFound, Layer::kUser,
                     "no service here, and nothing that a service's messages are made of, is called '" +
                         request.name() + "'"};
  }
  Files files;
  append_with_imports(file, files);
  for (const FileDescriptor* each : files) copy_seen(context, *each, *response.mutable_files()->add_file());
  co_return Result<void>{};
}

const FileDescriptor* Services::Reflected::file_of(const CallContext& context,
                                                   const std::string& name) const {
  Files seen;
  for (const ServiceDescriptor* service : services_) {
    if (!may_see(context, *service)) continue;
    // Only registered files are reported, though the pool may contain more.
    if (service->full_name() == name) return service->file();
    append_with_imports(service->file(), seen);
  }
  for (const FileDescriptor* file : seen) {
    const DescriptorPool& pool = *file->pool();
    const auto* message = pool.FindMessageTypeByName(name);
    const auto* values = message == nullptr ? pool.FindEnumTypeByName(name) : nullptr;
    if ((message != nullptr && message->file() == file) || (values != nullptr && values->file() == file)) {
      return file;
    }
  }
  return nullptr;
}

}  // namespace weft::protobuf
