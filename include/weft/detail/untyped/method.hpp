// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/call/caller.hpp"
#include "weft/detail/calls/terms/call_options.hpp"
#include "weft/detail/calls/terms/method_key.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/functions/described_functions.hpp"

namespace weft {

/// A method that is known at run time: its name, and the types of its messages. Cheap to copy; copies share
/// the description, which is immutable, and calls and handlers keep it alive.
class UntypedMethod {
 public:
  /// A function, by the text of its types: "({x: f64, y: f64}, i32) -> (string)", with "stream of (T), " in
  /// front of it or ", stream of (T)" behind it for streams. Names of fields may be left out. Errors:
  /// kInvalidArgument for text that is malformed; kUnimplemented for types with an encoding of their own, and
  /// for a result whose schema does not follow from its text.
  static Result<UntypedMethod> function(std::string name, std::string types);
  /// A method of a service of Protocol Buffers: "package.Service/Method", and the full names of its messages.
  static UntypedMethod protobuf(std::string name, std::string input, std::string output,
                                bool takes_stream = false, bool gives_stream = false);
  /// A function as its server describes it.
  explicit UntypedMethod(detail::DescribedFunction described);

  const std::string& name() const noexcept { return state_->name; }
  /// Returns the text of the types; empty for a method of Protocol Buffers.
  const std::string& types() const noexcept { return state_->types; }
  /// Items of a stream follow the request, or come before the answer.
  bool takes_stream() const noexcept { return state_->takes_stream; }
  bool gives_stream() const noexcept { return state_->gives_stream; }
  bool streams() const noexcept { return state_->key.streams; }

  /// The seam for calls and handlers; it lives as long as a copy of this.
  const detail::MethodKey& key() const noexcept { return state_->key; }

 private:
  struct State {
    std::string name;
    std::string types;
    std::string input;
    std::string output;
    bool takes_stream = false;
    bool gives_stream = false;
    detail::MethodKey key{};
  };

  explicit UntypedMethod(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}
  static std::shared_ptr<State> of_function(std::string name, std::string types, std::uint32_t schema);

  std::shared_ptr<const State> state_;
};

/// Asks the server of `client` for its functions called `name`, or for all of them if it is empty. Functions
/// of one name and different types are listed one by one. `client` outlives the task. Errors: those of calls;
/// kUnimplemented if the server does not describe its functions (ServerOptions::describe_functions). Thread:
/// the client's loop.
Task<Result<std::vector<UntypedMethod>>> describe_methods(Caller& client, std::string name = {},
                                                          CallOptions options = {});

}  // namespace weft
