// SPDX-License-Identifier: Apache-2.0
#include "calls/http/descriptions.hpp"

#include <utility>

#include "weft/detail/calls/terms/method_entry.hpp"

namespace weft::detail::http {

const Result<MethodDescription>& Descriptions::of(const MethodEntry& method) {
  const auto found = known_.find(&method);
  if (found != known_.end()) return found->second;
  const bool has_names = method.described_text != nullptr;
  Result<MethodDescription> description =
      MethodDescription::parse(has_names ? method.described_text() : method.key.schema_text(method.key));
  if (!description.ok()) {
    description = description.status().with_context("the types of the method have no JSON");
  }
  return known_.emplace(&method, std::move(description)).first->second;
}

}  // namespace weft::detail::http
