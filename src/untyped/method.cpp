// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/untyped/method.hpp"

#include <utility>

#include "weft/detail/describe/description.hpp"
#include "weft/detail/functions/function_caller.hpp"
#include "weft/detail/protobuf/method.hpp"

namespace weft {

namespace {

/// The calls of functions of any caller.
class FunctionsOf final : public detail::FunctionCaller<FunctionsOf> {
 public:
  explicit FunctionsOf(Caller& client) : client_(client) {}
  detail::CallTarget& target() const { return client_.target(); }

 private:
  Caller& client_;
};

}  // namespace

std::shared_ptr<UntypedMethod::State> UntypedMethod::of_function(std::string name, std::string types,
                                                                 std::uint32_t schema) {
  auto state = std::make_shared<State>();
  state->name = std::move(name);
  state->types = std::move(types);
  detail::MethodKey& key = state->key;
  key.id = detail::hash_name(state->name);
  key.schema = schema;
  key.name = state->name;
  // An error of the server's, that types differ, shows both texts.
  key.takes = state->types;
  key.schema_text = [](const detail::MethodKey& self) { return std::string{self.takes}; };
  return state;
}

Result<UntypedMethod> UntypedMethod::function(std::string name, std::string types) {
  const Result<detail::MethodDescription> parsed = detail::MethodDescription::parse(types);
  if (!parsed.ok()) return Status{parsed.status()}.with_context(name);
  if (!parsed->schema) {
    return Status{StatusCode::kUnimplemented, Layer::kCodec,
                  name +
                      ": the result contains itself, so its schema does not follow from its text: take the "
                      "method from describe_methods()"};
  }
  auto state = of_function(std::move(name), std::move(types), *parsed->schema);
  state->takes_stream = parsed->items_in.has_value();
  state->gives_stream = parsed->items_out.has_value();
  state->key.streams = state->takes_stream || state->gives_stream;
  return UntypedMethod{std::move(state)};
}

UntypedMethod UntypedMethod::protobuf(std::string name, std::string input, std::string output,
                                      bool takes_stream, bool gives_stream) {
  using protobuf::Streams;
  auto state = std::make_shared<State>();
  state->name = std::move(name);
  state->input = std::move(input);
  state->output = std::move(output);
  state->takes_stream = takes_stream;
  state->gives_stream = gives_stream;
  auto streams = takes_stream ? Streams::kRequests : Streams::kNone;
  if (gives_stream) streams = takes_stream ? Streams::kBoth : Streams::kResponses;
  state->key = protobuf::make_method(state->name, state->input, state->output, false, streams);
  return UntypedMethod{std::move(state)};
}

UntypedMethod::UntypedMethod(detail::DescribedFunction described) {
  auto state = of_function(std::move(described.name), std::move(described.types), described.schema);
  state->takes_stream = described.takes_stream;
  state->gives_stream = described.gives_stream;
  state->key.streams = described.takes_stream || described.gives_stream;
  state_ = std::move(state);
}

Task<Result<std::vector<UntypedMethod>>> describe_methods(Caller& client, std::string name,
                                                          CallOptions options) {
  FunctionsOf functions{client};
  auto described = co_await functions.call<detail::kDescribedFunctions>(options, name);
  if (!described.ok()) co_return std::move(described).status();
  std::vector<UntypedMethod> methods;
  methods.reserve(described->size());
  for (detail::DescribedFunction& each : *described) methods.emplace_back(std::move(each));
  co_return methods;
}

}  // namespace weft
