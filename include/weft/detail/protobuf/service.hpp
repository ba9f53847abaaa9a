// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/descriptor.h>

#include <memory>

#include "weft/detail/calls/server/call_server.hpp"
#include "weft/detail/protobuf/method.hpp"
#include "weft/detail/protobuf/stream_record.hpp"
#include "weft/detail/protobuf/unary_record.hpp"

namespace google::protobuf {
class Service;
}

namespace weft::protobuf {

/// List of methods that a service's add_methods() fills in.
class MethodList {
 public:
  /// The methods are those of `service`, which outlives the server. `owner` is kept by the server; null when
  /// another object owns the service.
  MethodList(weft::detail::CallServer& server, const google::protobuf::ServiceDescriptor& service,
             const HandlerOptions& options, std::shared_ptr<void> owner = nullptr)
      : server_(server), service_(service), options_(options), owner_(std::move(owner)) {}

  /// A method that `Handler` of `object` serves; `method` outlives the server.
  template <auto Handler, typename Object>
  void add(const weft::detail::MethodKey& method, Object* object) {
    weft::detail::MethodEntry entry{method, options_};
    entry.on_loop_only = true;
    entry.keyed = true;
    entry.takes_attachment = true;
    entry.keeps_body = false;
    entry.object = object;
    if constexpr (detail::StreamsMessages<decltype(Handler)>) {
      entry.kind = weft::detail::HandlerKind::kCoroutine;
      entry.keeps_body = true;
      entry.serve_coroutine = &detail::serve_stream<Handler>;
    } else {
      entry.kind = weft::detail::HandlerKind::kRecord;
      entry.serve_record = &detail::UnaryRecord<Handler>::serve;
    }
    add_entry(entry);
  }

 private:
  /// Registers the method with the JSON of its messages.
  void add_entry(weft::detail::MethodEntry& entry);

  weft::detail::CallServer& server_;
  const google::protobuf::ServiceDescriptor& service_;
  const HandlerOptions options_;
  const std::shared_ptr<void> owner_;
};

/// Base of every generated server class. Its methods are coroutines, which run on the loop of the calling
/// connection; with several loops, one object is called from several threads.
///
/// A method fills in `response` and returns success, or returns a failure, which the caller receives
/// unchanged. A streaming method has a Reader or a Writer in place of the message. All its parameters are
/// valid until the coroutine has ended.
class Service {
 public:
  Service() = default;
  virtual ~Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  virtual const google::protobuf::ServiceDescriptor* descriptor() const = 0;

 private:
  friend class Services;
  virtual void add_methods(MethodList& methods) = 0;
};

struct ServicesOptions {
  /// The server describes its services and messages to `weft list`, `weft describe` and `weft call`, and to
  /// every other client that can connect.
  bool reflection = true;
};

/// Registers protobuf services on a server, beside functions if there are any: `weft::protobuf::Services
/// services{server}; services.add(echo); server.start();` There may be several for a server: those with
/// reflection describe their services together. add() must be called before start(), or the process ends;
/// start() refuses a service that was added twice, or two services with a method of the same full name.
/// Thread: the one that makes the server.
class Services {
 public:
  /// `server` outlives it; it need not outlive start().
  explicit Services(weft::detail::CallServer& server, const ServicesOptions& options = {});
  ~Services();
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  /// `service` outlives the server. `options` are those of each of its methods; as they are coroutines, none
  /// can be blocking.
  void add(Service& service, const HandlerOptions& options = {});
  /// A service that protoc itself generated (cc_generic_services): see Channel for the other
  /// side. It gets a weft::protobuf::Controller and runs `done` once, now or later, from any thread.
  /// With `blocking` it is called on the server's worker threads.
  void add(google::protobuf::Service& service, const HandlerOptions& options = {});

 private:
  class Reflected;

  weft::detail::CallServer& server_;
  /// Null when reflection is switched off.
  std::shared_ptr<Reflected> reflected_;
};

}  // namespace weft::protobuf
