// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/functions/described_functions.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "weft/detail/calls/serve/call_context.hpp"
#include "weft/detail/calls/server/call_server.hpp"
#include "weft/detail/functions/handler.hpp"

namespace weft::detail {

namespace {

/// The functions of a server. The texts are made for the first caller that asks, and cost nothing before.
class FunctionList {
 public:
  /// `server` outlives it.
  explicit FunctionList(const CallServer& server) : server_(server) {}

  std::vector<DescribedFunction> described(CallContext& context, std::string_view name);

 private:
  const std::vector<DescribedFunction>& all();

  const CallServer& server_;
  std::mutex mutex_;
  bool made_ = false;
  /// Read without the mutex once it is made.
  std::vector<DescribedFunction> all_;
};

constexpr auto kServed = method<&FunctionList::described, "weft.functions.v1">;

DescribedFunction described_function(const MethodEntry& method) {
  return {.name = std::string{method.key.name},
          .types = method.described_text(method),
          .schema = method.key.schema,
          .takes_stream = method.takes_items,
          .gives_stream = method.gives_items};
}

const std::vector<DescribedFunction>& FunctionList::all() {
  const std::lock_guard lock(mutex_);
  if (made_) return all_;
  std::vector<DescribedFunction> all;
  for (const MethodEntry& method : server_.methods()) {
    if (method.described_text != nullptr) all.push_back(described_function(method));
  }
  std::ranges::sort(all, {}, [](const DescribedFunction& each) {
    return std::pair{std::string_view{each.name}, each.schema};
  });
  all_ = std::move(all);
  made_ = true;
  return all_;
}

std::vector<DescribedFunction> FunctionList::described(CallContext& context, std::string_view name) {
  std::vector<DescribedFunction> seen;
  for (const DescribedFunction& each : all()) {
    if ((name.empty() || each.name == name) && context.may_call(each.name)) seen.push_back(each);
  }
  return seen;
}

}  // namespace

void describe_functions(CallServer& server) {
  auto list = std::make_shared<FunctionList>(server);
  server.register_last(HandlerOf<kServed>::entry(list.get(), {}), list);
}

}  // namespace weft::detail
