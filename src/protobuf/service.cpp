// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/protobuf/service.hpp"

#include <google/protobuf/message.h>
#include <google/protobuf/service.h>

#include "protobuf/generic_record.hpp"
#include "protobuf/protobuf_json.hpp"
#include "protobuf/reflected.hpp"

namespace weft::protobuf {

namespace {

/// Makes protobuf build the type descriptors of the messages of `service` now. Otherwise protobuf builds them
/// inside std::call_once when the type of a message is first used, which the failure of a malformed request
/// does. Without memory an exception leaves std::call_once; where malloc fails too, that ends the process.
void prepare_messages(const google::protobuf::ServiceDescriptor& service) {
  google::protobuf::MessageFactory& factory = *google::protobuf::MessageFactory::generated_factory();
  const auto prepare = [&factory](const google::protobuf::Descriptor& type) {
    // Only generated messages have a prototype here; other messages are made with their descriptor.
    if (const google::protobuf::Message* const prototype = factory.GetPrototype(&type)) {
      static_cast<void>(prototype->GetDescriptor());
    }
  };
  for (int i = 0; i < service.method_count(); ++i) {
    prepare(*service.method(i)->input_type());
    prepare(*service.method(i)->output_type());
  }
}

}  // namespace

// The JSON lives as long as the handler may run.
void MethodList::add_entry(weft::detail::MethodEntry& entry) {
  struct Kept {
    Kept(const google::protobuf::MethodDescriptor& method, std::shared_ptr<void> its_owner)
        : json(method), owner(std::move(its_owner)) {}
    const detail::ProtobufJson json;
    const std::shared_ptr<void> owner;
  };
  const std::string_view name = entry.key.name.substr(entry.key.name.rfind('/') + 1);
  const google::protobuf::MethodDescriptor* const method = service_.FindMethodByName(std::string{name});
  if (method == nullptr) return server_.register_method(entry, owner_);
  auto kept = std::make_shared<Kept>(*method, owner_);
  entry.json = &kept->json;
  server_.register_method(entry, std::move(kept));
}

Services::Services(weft::detail::CallServer& server, const ServicesOptions& options) : server_(server) {
  if (!options.reflection) return;
  // One for a server, however many of us there are.
  std::shared_ptr<void>& of_server = server_.layer_state(typeid(Reflected));
  reflected_ = std::static_pointer_cast<Reflected>(of_server);
  if (reflected_ != nullptr) return;
  of_server = reflected_ = std::make_shared<Reflected>();
  MethodList methods{server_, *reflected_->descriptor(), HandlerOptions{}, reflected_};
  static_cast<Service&>(*reflected_).add_methods(methods);
  reflected_->add(reflected_->descriptor());
}

Services::~Services() = default;

void Services::add(Service& service, const HandlerOptions& options) {
  MethodList methods{server_, *service.descriptor(), options};
  service.add_methods(methods);
  prepare_messages(*service.descriptor());
  if (reflected_ != nullptr) reflected_->add(service.descriptor());
}

void Services::add(google::protobuf::Service& service, const HandlerOptions& options) {
  const google::protobuf::ServiceDescriptor& descriptor = *service.GetDescriptor();
  prepare_messages(descriptor);
  if (reflected_ != nullptr) reflected_->add(&descriptor);
  for (int i = 0; i < descriptor.method_count(); ++i) {
    auto owned = std::make_shared<detail::GenericMethod>(service, *descriptor.method(i));
    weft::detail::MethodEntry entry{owned->described.key, options};
    entry.kind = options.blocking ? weft::detail::HandlerKind::kBlocking : weft::detail::HandlerKind::kRecord;
    entry.delayed = true;
    entry.keyed = true;
    entry.takes_attachment = true;
    // A worker parses later.
    entry.keeps_body = options.blocking;
    entry.object = owned.get();
    entry.json = &owned->json;
    entry.serve_record = &detail::GenericRecord::serve;
    server_.register_method(entry, std::move(owned));
  }
}

}  // namespace weft::protobuf
