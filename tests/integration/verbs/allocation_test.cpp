// SPDX-License-Identifier: Apache-2.0
// CR-18: what calls by RDMA allocate, both sides together. On real devices only, for simulated ones do
// allocate.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "integration/verbs/verbs_testing.hpp"
#include "support/heap_count.hpp"

namespace weft::verbs_testing {
namespace {

using Payload = std::array<std::uint64_t, 8>;

Payload echo(Payload payload) {
  return payload;
}

class VerbsAllocations : public VerbsTest {
 protected:
  static constexpr std::size_t kAttachmentBytes = std::size_t{64} << 10;

  Server& serve() {
    return world.serve(options(), World::Where::kHere, "verbs://127.0.0.1:0", [this](Server& its) {
      its.register_handler<echo>();
      its.register_handler("lend", [this](CallContext& context) {
        context.set_attachment(Buffer::adopt(MutableBytes{lent}, nullptr, [](void*) noexcept {}));
        return 0;
      });
    });
  }
  /// Returns how many allocations `calls` calls took, after as many others.
  template <typename Call>
  static Task<std::size_t> allocations_of(Call call, int calls) {
    std::size_t before = 0;
    for (int i = 0; i < 2 * calls; ++i) {
      if (i == calls) before = testing::heap_allocations();
      auto answer = co_await call();
      EXPECT_TRUE(answer.ok()) << answer.status().to_string();
    }
    co_return testing::heap_allocations() - before;
  }

  std::vector<std::byte> lent = pattern(kAttachmentBytes, 3);
};

INSTANTIATE_TEST_SUITE_P(Verbs, VerbsAllocations, ::testing::Values("plain"), name_of);

TEST_P(VerbsAllocations, SmallCallsAllocateNothing) {
  Client& caller = world.client(serve().urls().front(), options());
  const auto call = [&caller] { return caller.call<echo>(Payload{}); };
  EXPECT_EQ(loop().block_on(allocations_of(call, 1000)), 0u);
}

// The server's: a share of its budget for what lands, and the lease of what is answered.
TEST_P(VerbsAllocations, RegisteredAttachmentsAllocateTwoRecordsForEachCall) {
  Server& server = serve();
  Client& caller = world.client(server.urls().front(), options());
  std::vector<std::byte> sent = pattern(kAttachmentBytes);
  std::vector<std::byte> landing(kAttachmentBytes);
  const MemoryLease of_sent = caller.register_memory(sent).value();
  const MemoryLease of_landing = caller.register_memory(landing).value();
  const MemoryLease of_lent = server.register_memory(lent).value();
  const CallOptions both{.attachment = Bytes{sent}, .landing = landing};
  const auto call = [&] { return caller.call<remote<"lend", int()>>(both); };
  constexpr int kCalls = 100;
  EXPECT_LE(loop().block_on(allocations_of(call, kCalls)), std::size_t{2} * kCalls);
  EXPECT_TRUE(landing == lent);
}

}  // namespace
}  // namespace weft::verbs_testing
