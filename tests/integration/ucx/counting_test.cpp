// SPDX-License-Identifier: Apache-2.0
// BU-1: what an item of a stream costs each side over UCX's shared memory.
#include <gtest/gtest.h>

#include "integration/counted_items.hpp"
#include "integration/ucx/ucx_handlers.hpp"

namespace weft::ucx_counting_tests {
namespace {

using counted_items::read_items;
using counted_items::write_and_read_items;
using counted_items::write_items;

class UcxItems : public counted_items::CountedItems {
 protected:
  UcxItems() : CountedItems("ucx://127.0.0.1:0", &transports) {}

 private:
  static TransportOptions transports() {
    TransportOptions options;
    options.ucx = ucx_testing::options_of("peer_shm");
    return options;
  }
};

TEST_F(UcxItems, FromTheServerAllocateNothing) {
  ASSERT_NO_FATAL_FAILURE(count(1, read_items));
  expect_no_allocations();
}
TEST_F(UcxItems, FromTheClientAllocateNothing) {
  ASSERT_NO_FATAL_FAILURE(count(1, write_items));
  expect_no_allocations();
}
TEST_F(UcxItems, ThatAreAnsweredOnAHundredStreamsAllocateNothing) {
  ASSERT_NO_FATAL_FAILURE(count(100, write_and_read_items));
  expect_no_allocations();
}
TEST_F(UcxItems, FromTheServerHardlyAskTheKernel) {
  ASSERT_NO_FATAL_FAILURE(count(1, read_items));
  expect_few_kernel_calls();
}
TEST_F(UcxItems, FromTheClientHardlyAskTheKernel) {
  ASSERT_NO_FATAL_FAILURE(count(1, write_items));
  expect_few_kernel_calls();
}

}  // namespace
}  // namespace weft::ucx_counting_tests
