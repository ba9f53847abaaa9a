// SPDX-License-Identifier: Apache-2.0
// The options that a coroutine may give in braces in the expression that it awaits.
// tests/checks/awaited_options.py finds those that are missing here.
#include <type_traits>

#include "weft/bulk.hpp"
#include "weft/coroutines.hpp"
#include "weft/fleet.hpp"
#include "weft/weft.hpp"
#if __has_include(<ucp/api/ucp.h>)
#include "weft/ucx.hpp"
#endif
#if __has_include(<infiniband/verbs.h>)
#include "weft/verbs.hpp"
#endif

namespace weft {
namespace {

/// Destroying it does nothing, so that doing it twice does no harm.
template <typename Options>
constexpr bool kDiesOnce = std::is_trivially_copyable_v<Options>;

static_assert(kDiesOnce<BroadcastOptions>);
static_assert(kDiesOnce<CallOptions>);
static_assert(kDiesOnce<FleetCallOptions>);
static_assert(kDiesOnce<FleetRetry>);
static_assert(kDiesOnce<RetryPolicy>);
#if __has_include(<ucp/api/ucp.h>)
static_assert(kDiesOnce<ucx::AmSendOptions>);
#endif
#if __has_include(<infiniband/verbs.h>)
static_assert(kDiesOnce<verbs::ConnectOptions>);
#endif

}  // namespace
}  // namespace weft
