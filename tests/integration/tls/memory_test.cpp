// SPDX-License-Identifier: Apache-2.0
// CR-10: when memory is out within OpenSSL a connection fails, and nothing else.
#include <openssl/crypto.h>

#include <atomic>
#include <cstdlib>

#include "integration/tls/tls_testing.hpp"

namespace weft::testing::tls_memory_tests {
namespace {

// How many allocations still succeed; negative: all do.
std::atomic<long> left{-1};

bool fails() {
  if (left.load() < 0) return false;
  return left.fetch_sub(1) == 0;
}
void* allocate(std::size_t bytes, const char*, int) {
  return fails() ? nullptr : std::malloc(bytes);
}
void* reallocate(void* memory, std::size_t bytes, const char*, int) {
  return fails() ? nullptr : std::realloc(memory, bytes);
}
void release(void* memory, const char*, int) {
  std::free(memory);
}
// Before anything of OpenSSL allocates.
const int replaced = CRYPTO_set_mem_functions(allocate, reallocate, release);

using OutOfMemory = TlsTest;

TEST_F(OutOfMemory, WithinOpensslEndsAConnectionOnly) {
  ASSERT_EQ(replaced, 1);
  const std::string url = serve(of_server());
  ASSERT_TRUE(outcome(url, of_client()).ok());
  int failed = 0;
  int hit = 0;
  for (long count = 0; count < 4000; count += 1 + count / 20) {
    const auto caller = client(url, of_client());
    left = count;
    const CallOptions options{.timeout = 2s};
    const Status status = loop_->block_on(caller->call<echoed>(options, "under want")).status();
    hit += left.exchange(-1) < 0 ? 1 : 0;
    failed += status.ok() ? 0 : 1;
  }
  EXPECT_GT(hit, 20);
  EXPECT_GT(failed, 10);
  const Status status = outcome(url, of_client());
  EXPECT_TRUE(status.ok()) << status.to_string();
}

}  // namespace
}  // namespace weft::testing::tls_memory_tests
