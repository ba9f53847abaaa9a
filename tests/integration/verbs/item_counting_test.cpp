// SPDX-License-Identifier: Apache-2.0
// CR-18: what an item of a stream costs each side by RDMA. On real devices only, for simulated ones allocate
// and ask no kernel. An emulated device is asked by system calls where another has registers.
#include <gtest/gtest.h>

#include "integration/counted_items.hpp"
#include "integration/verbs/verbs_testing.hpp"

namespace weft::verbs_testing {
namespace {

using counted_items::read_items;
using counted_items::write_and_read_items;
using counted_items::write_items;

class VerbsItems : public counted_items::CountedItems {
 protected:
  VerbsItems()
      : CountedItems("verbs://127.0.0.1:0",
                     [] { return transports(options_of("plain", testing::rdma_devices())); }) {}
};

TEST_F(VerbsItems, FromTheServerAllocateNothing) {
  ASSERT_NO_FATAL_FAILURE(count(1, read_items));
  expect_no_allocations();
}
TEST_F(VerbsItems, FromTheClientAllocateNothing) {
  ASSERT_NO_FATAL_FAILURE(count(1, write_items));
  expect_no_allocations();
}
TEST_F(VerbsItems, ThatAreAnsweredOnAHundredStreamsAllocateNothing) {
  ASSERT_NO_FATAL_FAILURE(count(100, write_and_read_items));
  expect_no_allocations();
}
TEST_F(VerbsItems, FromTheServerHardlyAskTheKernel) {
  ASSERT_NO_FATAL_FAILURE(count(1, read_items));
  expect_few_kernel_calls();
}
TEST_F(VerbsItems, FromTheClientHardlyAskTheKernel) {
  ASSERT_NO_FATAL_FAILURE(count(1, write_items));
  expect_few_kernel_calls();
}

}  // namespace
}  // namespace weft::verbs_testing
