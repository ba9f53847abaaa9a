// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/stream/opened_stream.hpp"
#include "weft/detail/calls/terms/call_options.hpp"
#include "weft/detail/calls/terms/method_key.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/describe/description.hpp"
#include "weft/detail/functions/described_functions.hpp"

namespace weft {
class Client;
}

namespace weft::services {

using detail::DescribedFunction;

/// A call of a function that takes or gives a stream, in JSON. Thread: the client's loop.
class FunctionStream {
 public:
  /// The client outlives it. The stream is on its way when this returns.
  FunctionStream(Client& client, const DescribedFunction& function, detail::MethodDescription types,
                 std::vector<std::byte> arguments, const CallOptions& options);
  ~FunctionStream();
  FunctionStream(const FunctionStream&) = delete;
  FunctionStream& operator=(const FunctionStream&) = delete;

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
  class Record;

  const std::string name_;
  const detail::MethodDescription types_;
  detail::MethodKey key_;
  std::unique_ptr<Record> record_;
};

/// The functions of a server that this program was not compiled for, as the server describes them. Thread:
/// the client's loop.
class RemoteFunctions {
 public:
  /// `client` outlives it.
  explicit RemoteFunctions(Client& client) : client_(client) {}

  /// Returns the functions called `name`, or all of them if it is empty. Errors: kUnimplemented if the server
  /// does not describe its functions, and those of calls.
  Task<Result<std::vector<DescribedFunction>>> list(std::string name, CallOptions options = {});
  /// Calls `function` with `json` as its arguments; gives the result in JSON, "null" for void. Errors:
  /// kInvalidArgument for other arguments than it takes, with their place.
  Task<Result<std::string>> call(const DescribedFunction* function, std::string json, CallOptions options);
  /// Calls `function`, which streams. Errors: as call(); failures of the call itself are those of the stream.
  Result<std::unique_ptr<FunctionStream>> open(const DescribedFunction& function, const std::string& json,
                                               const CallOptions& options);

 private:
  Client& client_;
};

}  // namespace weft::services
