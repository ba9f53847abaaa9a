// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/detail/describe/description.hpp"
#include "weft/untyped.hpp"

namespace weft {
class Client;
}

namespace weft::services {

/// A call of a function that takes or gives a stream, in JSON. Thread: the client's loop.
class FunctionStream {
 public:
  /// The client outlives it. The stream is on its way when this returns.
  FunctionStream(Client& client, const UntypedMethod& function, detail::MethodDescription types,
                 Bytes arguments, const CallOptions& options);

  bool writes() const noexcept { return types_.items_in.has_value(); }
  bool reads() const noexcept { return types_.items_out.has_value(); }
  /// Waits for the next item, in JSON; nothing after the last one. Fails for an item that has no JSON.
  Task<Result<std::optional<std::string>>> next();
  /// Sends an item: returns false when the function takes no more. Errors: kInvalidArgument, and the item is
  /// not sent.
  Task<Result<bool>> write(std::string json);
  void end_writing() noexcept;
  /// Ends writing, and waits for the end: the result in JSON, or nothing for a function without a result.
  Task<Result<std::string>> finish();
  void cancel() noexcept;

 private:
  const detail::MethodDescription types_;
  UntypedStream stream_;
};

/// The functions of a server that this program was not compiled for, as the server describes them. Thread:
/// the client's loop.
class RemoteFunctions {
 public:
  /// `client` outlives it.
  explicit RemoteFunctions(Client& client) : client_(client) {}

  /// Returns the functions called `name`, or all of them if it is empty. Errors: kUnimplemented if the server
  /// does not describe its functions, and those of calls.
  Task<Result<std::vector<UntypedMethod>>> list(std::string name, CallOptions options = {});
  /// Calls `function` with `json` as its arguments; gives the result in JSON, "null" for void. Errors:
  /// kInvalidArgument for other arguments than it takes, with their place.
  Task<Result<std::string>> call(const UntypedMethod* function, std::string json, CallOptions options);
  /// Calls `function`, which streams. Errors: as call(); failures of the call itself are those of the stream.
  Result<std::unique_ptr<FunctionStream>> open(const UntypedMethod& function, const std::string& json,
                                               const CallOptions& options);

 private:
  Client& client_;
};

}  // namespace weft::services
