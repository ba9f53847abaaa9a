// SPDX-License-Identifier: Apache-2.0
// `weft info` in a build without libibverbs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "info_report.hpp"

namespace weft::info {
namespace {

using ::testing::HasSubstr;

TEST(InfoRdma, SaysWhichPackageIsMissing) {
  const Report report = report_of(UcxFacts{}, Probe{}, rdma_facts({}));
  EXPECT_THAT(to_text(report, {}), HasSubstr("libibverbs-dev"));
  EXPECT_EQ(exit_code_of(report, {}), 0);
}

TEST(InfoRdma, FailsForADeviceThatWasAskedFor) {
  Options options;
  options.rdma.device = "mlx5_0";
  EXPECT_EQ(exit_code_of(report_of(UcxFacts{}, Probe{}, rdma_facts(options)), options), 1);
}

TEST(InfoRdma, VerbsUrlsSayWhichPackageIsMissing) {
  Options options;
  options.connect = "verbs://127.0.0.1:1";
  const Status status = blocking_probe(options).status();
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(status.to_string(), HasSubstr("libibverbs-dev"));
}

}  // namespace
}  // namespace weft::info
