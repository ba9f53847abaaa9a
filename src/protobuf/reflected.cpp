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

/// Appends `file` behind what it imports.
void append_with_imports(const FileDescriptor* file, Files& files) {
  if (std::ranges::find(files, file) != files.end()) return;
  for (int i = 0; i < file->dependency_count(); ++i) append_with_imports(file->dependency(i), files);
  files.push_back(file);
}

}  // namespace

void Services::Reflected::add(const ServiceDescriptor* service) {
  const auto at = std::ranges::lower_bound(services_, service->full_name(), {},
                                           [](const auto* each) { return each->full_name(); });
  services_.insert(at, service);
  append_with_imports(service->file(), files_);
}

Task<Result<void>> Services::Reflected::List(CallContext&, const reflection::v1::ListRequest&,
                                             reflection::v1::ListResponse& response) {
  for (const ServiceDescriptor* service : services_) response.add_services(service->full_name());
  co_return Result<void>{};
}

Task<Result<void>> Services::Reflected::Describe(CallContext&, const reflection::v1::DescribeRequest& request,
                                                 reflection::v1::DescribeResponse& response) {
  const FileDescriptor* file = file_of(request.name());
  if (file == nullptr) {
    co_return Status{StatusCode::kNotFound, Layer::kUser,
                     "no service here, and nothing that a service's messages are made of, is called '" +
                         request.name() + "'"};
  }
  Files files;
  append_with_imports(file, files);
  for (const FileDescriptor* each : files) each->CopyTo(response.mutable_files()->add_file());
  co_return Result<void>{};
}

const FileDescriptor* Services::Reflected::file_of(const std::string& name) const {
  for (const ServiceDescriptor* service : services_) {
    // Only what was added is told of, though the pool may know more.
    if (service->full_name() == name) return service->file();
  }
  for (const FileDescriptor* file : files_) {
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
