// SPDX-License-Identifier: Apache-2.0
// CR-8: registered memory that some peers write and others read, over RDMA and with checksums: no connection
// ends.
#include <atomic>
#include <deque>
#include <optional>

#include "integration/bulk/counted_pattern.hpp"
#include "integration/bulk/shared_region_courses.hpp"
#include "integration/verbs/verbs_testing.hpp"
#include "weft/detail/bulk/bulk_host.hpp"

namespace weft::verbs_testing {
namespace {

class VerbsBulk : public VerbsTest {};

INSTANTIATE_TEST_SUITE_P(Verbs, VerbsBulk, ::testing::ValuesIn(kKinds), name_of);

TEST_P(VerbsBulk, WritersCostNoReaderTheConnectionWhereThereAreChecksums) {
  constexpr std::size_t kRegionBytes = std::size_t{1} << 20;
  std::atomic<int> live = 0;
  faults::CountingLogger logger;
  ServerOptions options{.listen = {"verbs://127.0.0.1:0"}};
  options.checksums = true;
  options.logger = &logger;
  Server server{std::move(options), transports(this->options())};
  BulkHost host{server};
  server.start().value();
  BulkRegion region =
      host.share(testing::counted_pattern(kRegionBytes, live), BulkRights::kReadAndWrite).value();
  {
    std::deque<Client> clients;
    // Each round of all takes seconds on devices of an emulated machine.
    testing::SharedRegionCourses courses{region.handle(), 3};
    const auto one_more = [&]() -> Client& {
      return clients.emplace_back(loop(), ClientOptions{.connect = server.urls().front(), .logger = &logger},
                                  transports(this->options()));
    };
    courses.write_by(one_more());
    courses.write_by(one_more());
    for (const std::size_t bytes : {kRegionBytes, std::size_t{100'000}, std::size_t{3'000}}) {
      courses.read_by(one_more(), bytes);
    }
    courses.run(loop());
    for (const Client& each : clients) EXPECT_EQ(each.stats().connections, 1u);
    EXPECT_EQ(clients.front().carried_by(), "verbs");
  }
  EXPECT_EQ(server.stats().protocol_errors, 0u);
  region.revoke();
  EXPECT_TRUE(eventually([&] { return live == 0; }));
}

}  // namespace
}  // namespace weft::verbs_testing
