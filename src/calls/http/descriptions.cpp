// SPDX-License-Identifier: Apache-2.0
#include "calls/http/descriptions.hpp"

#include <utility>

#include "weft/detail/calls/terms/method_entry.hpp"

namespace weft::detail::http {

namespace {

using Shared = std::shared_ptr<const MethodDescription>;

Result<Shared> parse(const MethodEntry& method) {
  const bool has_names = method.described_text != nullptr;
  Result<MethodDescription> description =
      MethodDescription::parse(has_names ? method.described_text() : method.key.schema_text(method.key));
  if (!description.ok()) return description.status().with_context("the types of the method have no JSON");
  return Shared{std::make_shared<const MethodDescription>(*std::move(description))};
}

}  // namespace

Result<Shared> Descriptions::of(const MethodEntry& method) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(&method);
  if (found != known_.end()) return found->second;
  return known_.emplace(&method, parse(method)).first->second;
}

}  // namespace weft::detail::http
