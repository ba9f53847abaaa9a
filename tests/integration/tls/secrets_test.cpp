// SPDX-License-Identifier: Apache-2.0
// CR-10: a private key's text leaves nothing behind in memory that is given back.
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

#include "integration/tls/tls_files.hpp"
#include "integration/tls/tls_testing.hpp"
#include "support/heap_count.hpp"
#include "support/sanitizers.hpp"

namespace weft::testing::tls_secrets_tests {
namespace {

/// The text that is looked for, while it is set, in memory that is given back.
std::atomic<const std::string*> wanted{nullptr};
std::atomic<int> found{0};

[[maybe_unused]] void look_into(const void* memory) noexcept {
  const std::string* const text = wanted.load();
  if (memory == nullptr || text == nullptr) return;
  const std::string_view bytes{static_cast<const char*>(memory),
                               ::malloc_usable_size(const_cast<void*>(memory))};
  if (bytes.find(*text) != std::string_view::npos) ++found;
}

class Secrets : public TlsTest {
 protected:
  Secrets() : certificate_(ca_.issue()) {  // A line in the midst of it.
    part_ = certificate_.key_pem.substr(certificate_.key_pem.find('\n') + 20, 30);
    wanted = &part_;
  }
  ~Secrets() override { wanted = nullptr; }

  void SetUp() override {
    if (!kHeapIsCounted) GTEST_SKIP() << "the heap is the sanitizer's";
  }

  void serve_and_call(TlsOptions options) {
    auto credentials = shared(std::move(options));
    EXPECT_TRUE(outcome(serve(credentials), of_client()).ok());
    EXPECT_TRUE(credentials->reload().ok());
    EXPECT_TRUE(outcome(server_->urls().front(), of_client()).ok());
    server_.reset();
  }

  const TlsCertificate certificate_;
  std::string part_;
};

TEST_F(Secrets, AreFoundByThisTest) {
  {
    const std::string left_behind = certificate_.key_pem;
  }
  EXPECT_EQ(found.exchange(0), 1);
}

TEST_F(Secrets, AreWipedWhereTheyWereGivenInMemory) {
  serve_and_call({.certificates = {certificate_}});
  EXPECT_EQ(found.exchange(0), 0);
}

TEST_F(Secrets, AreWipedWhereTheyWereReadFromAFile) {
  wanted = nullptr;
  const TlsFiles files;
  // Longer than what is read at once: the text has to grow.
  files.write("own.key", certificate_.key_pem + std::string(6000, '\n'));
  files.write("own.pem", certificate_.chain_pem);
  wanted = &part_;
  serve_and_call(
      {.certificates = {{.chain_file = files.path("own.pem"), .key_file = files.path("own.key")}}});
  EXPECT_EQ(found.exchange(0), 0);
}

}  // namespace
}  // namespace weft::testing::tls_secrets_tests

#if !WEFT_ADDRESS_SANITIZER && !WEFT_THREAD_SANITIZER

void operator delete(void* memory) noexcept {
  weft::testing::tls_secrets_tests::look_into(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}
void* operator new(std::size_t bytes) {
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc{};
  return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return std::malloc(bytes);
}

#endif
