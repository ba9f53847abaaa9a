// SPDX-License-Identifier: Apache-2.0
#include "calls/http/method_json.hpp"

#include <utility>

#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/describe/json.hpp"

namespace weft::detail::http {

namespace {

constexpr FixedFailure kNoSuchPart{StatusCode::kUnimplemented, Layer::kRpc, Retry::kNever,
                                   "the method has no stream in this direction"};

}  // namespace

/// JSON of a method by the description of its types.
class MethodJson::Described final : public MessageJson {
 public:
  explicit Described(MethodDescription description) : description_(std::move(description)) {}

  bool has(CallPart part) const override { return types_of(part) != nullptr; }
  std::string_view no_arguments() const override { return "[]"; }
  Status from_json(CallPart part, std::string_view json, std::vector<std::byte>& message,
                   std::size_t bytes_max) const override {
    const TypeDescription* const types = types_of(part);
    return types != nullptr ? detail::from_json(*types, json, message, bytes_max) : Status::of<kNoSuchPart>();
  }
  Status to_json(CallPart part, Bytes message, std::string& json, std::size_t bytes_max) const override {
    if (const TypeDescription* const types = types_of(part)) {
      return detail::to_json(*types, message, json, bytes_max);
    }
    if (part != CallPart::kResult) return Status::of<kNoSuchPart>();
    json = "null";
    return {};
  }

 private:
  const TypeDescription* types_of(CallPart part) const {
    const auto if_any = [](const std::optional<TypeDescription>& types) { return types ? &*types : nullptr; };
    switch (part) {
      case CallPart::kArguments:
        return &description_.arguments;
      case CallPart::kResult:
        return if_any(description_.result);
      case CallPart::kItemIn:
        return if_any(description_.items_in);
      default:
        return if_any(description_.items_out);
    }
  }

  const MethodDescription description_;
};

MethodJson::MethodJson() = default;
MethodJson::~MethodJson() = default;

Result<const MessageJson*> MethodJson::of(const MethodEntry& method) {
  if (method.json != nullptr) return method.json;
  auto found = described_.find(&method);
  if (found == described_.end()) {
    const bool has_names = method.described_text != nullptr;
    Result<MethodDescription> types = MethodDescription::parse(
        has_names ? method.described_text(method) : method.key.schema_text(method.key));
    Result<std::unique_ptr<const Described>> json =
        types.status().with_context("the types of the method have no JSON");
    if (types.ok()) json = std::make_unique<const Described>(*std::move(types));
    found = described_.emplace(&method, std::move(json)).first;
  }
  if (!found->second.ok()) return found->second.status();
  return found->second->get();
}

}  // namespace weft::detail::http
