// SPDX-License-Identifier: Apache-2.0
// Allocations and calls of the system that an item of a stream costs each side by shared memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "integration/counted_items.hpp"

namespace weft::shared_memory_counting_tests {
namespace {

using counted_items::read_items;
using counted_items::write_and_read_items;
using counted_items::write_items;

class SharedMemoryItems : public counted_items::CountedItems {
 protected:
  SharedMemoryItems()
      : CountedItems("unix://" + ::testing::TempDir() + "weft-counting-" + std::to_string(::getpid()),
                     &transports) {}

 private:
  static TransportOptions transports() {
    TransportOptions options;
    options.shared_memory.connecting = options.shared_memory.listening = CarrierPolicy::kRequire;
    return options;
  }
};

TEST_F(SharedMemoryItems, FromTheServerAllocateNothing) {
  ASSERT_NO_FATAL_FAILURE(count(1, read_items));
  expect_no_allocations();
}
TEST_F(SharedMemoryItems, FromTheClientAllocateNothing) {
  ASSERT_NO_FATAL_FAILURE(count(1, write_items));
  expect_no_allocations();
}
TEST_F(SharedMemoryItems, ThatAreAnsweredOnAHundredStreamsAllocateNothing) {
  ASSERT_NO_FATAL_FAILURE(count(100, write_and_read_items));
  expect_no_allocations();
}
TEST_F(SharedMemoryItems, FromTheServerHardlyAskTheKernel) {
  ASSERT_NO_FATAL_FAILURE(count(1, read_items));
  expect_few_kernel_calls();
}
TEST_F(SharedMemoryItems, FromTheClientHardlyAskTheKernel) {
  ASSERT_NO_FATAL_FAILURE(count(1, write_items));
  expect_few_kernel_calls();
}

}  // namespace
}  // namespace weft::shared_memory_counting_tests
