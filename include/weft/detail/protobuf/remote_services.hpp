// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/client/call_client.hpp"
#include "weft/detail/calls/terms/call_options.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/protobuf/method.hpp"

namespace google::protobuf {
class MethodDescriptor;
}

namespace weft::protobuf {

/// A call of a method that streams, in JSON; the methods of weft::protobuf::ClientStream. Must not outlive
/// the RemoteServices that opened it. Thread: the client's loop.
class RemoteStream {
 public:
  RemoteStream(RemoteStream&&) noexcept;
  RemoteStream& operator=(RemoteStream&&) noexcept;
  ~RemoteStream();

  /// The method takes a stream of requests.
  bool writes() const noexcept;
  /// The method gives a stream of responses.
  bool reads() const noexcept;

  /// Waits for the next response: JSON in one line; nothing after the last one, and then finish() returns the
  /// outcome. Fails for a response that JSON cannot represent.
  Task<Result<std::optional<std::string>>> next();
  /// Sends a request: returns false when the method takes no more requests. Errors: kInvalidArgument for JSON
  /// that is not a valid request, which is not sent; the stream goes on.
  Task<Result<bool>> write(std::string json);
  void end_writing() noexcept;
  /// Ends writing, and waits for the end: the response in JSON, or nothing when they are streamed. It is
  /// called once.
  Task<Result<std::string>> finish();
  void cancel() noexcept;

 private:
  friend class RemoteServices;
  class State;

  explicit RemoteStream(std::unique_ptr<State> state) noexcept;

  std::unique_ptr<State> state_;
};

/// The services of a server that this program was not compiled for, as the server's reflection describes
/// them; answers are cached. Errors of all functions: a call's; kUnimplemented when the server has no
/// reflection. Thread: the client's loop.
class RemoteServices {
 public:
  /// `client` outlives it.
  explicit RemoteServices(Caller& client);
  ~RemoteServices();
  RemoteServices(const RemoteServices&) = delete;
  RemoteServices& operator=(const RemoteServices&) = delete;

  /// The full names of all services, sorted.
  Task<Result<std::vector<std::string>>> list();
  /// The definition of a service with its messages, of a message or of an enum, as it would stand in a
  /// .proto; of a method (package.Service/Method) with its messages. Errors: kNotFound.
  Task<Result<std::string>> describe(std::string name);
  /// Calls `method`, "package.Service/Method", with a request in JSON; gives the answer in JSON.
  /// Errors: kNotFound for the method, with the names of those there are; kInvalidArgument for JSON that is
  /// none or no such request, with the place.
  /// kFailedPrecondition for a method that streams.
  Task<Result<std::string>> call(std::string method, std::string json, CallOptions options = {});
  /// The methods of a service that stream, each as its .proto says: "Watch (demo.Symbol) returns (stream
  /// demo.Quote)".
  Task<Result<std::vector<std::string>>> streams_of(std::string service);
  /// Returns which sides of a method stream. Errors: as call().
  Task<Result<Streams>> streams(std::string method, CallOptions options = {});
  /// Calls a streaming method. `json` is the request of a method with a single request, and is ignored
  /// otherwise. Errors: as for call(); failures of the call itself are reported through the stream.
  Task<Result<RemoteStream>> open(std::string method, std::string json, CallOptions options = {});

 private:
  class Known;

  Task<Result<std::string>> describe_method(std::string service, std::string method);
  Task<Result<const google::protobuf::MethodDescriptor*>> find(const std::string* method,
                                                               const CallOptions* options);
  Task<Result<void>> learn(const std::string* name, const CallOptions* options);

  Caller& client_;
  std::unique_ptr<Known> known_;
};

}  // namespace weft::protobuf
