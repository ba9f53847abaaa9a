// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/shared_object.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::detail {
namespace {

using ::testing::HasSubstr;

double (*cosine)(double) = nullptr;
void (*absent)() = nullptr;
int looks = 0;

bool find_cosine(void* handle) {
  ++looks;
  return SharedObject::find(handle, "cos", cosine);
}

bool find_absent(void* handle) {
  ++looks;
  return SharedObject::find(handle, "weft_no_such_function", absent);
}

TEST(SharedObjects, GiveTheirFunctionsOnce) {
  SharedObject library{"libm.so.6", "libc6"};
  looks = 0;
  ASSERT_TRUE(library.load(find_cosine).ok());
  ASSERT_TRUE(library.load(find_cosine).ok());
  EXPECT_EQ(looks, 1);
  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine(0.0), 1.0);
}

TEST(SharedObjects, ThatAreMissingNameTheirPackage) {
  SharedObject library{"libweft-no-such.so.1", "libweft-no-such1"};
  looks = 0;
  const Status failure = library.load(find_cosine);
  EXPECT_EQ(failure.code(), StatusCode::kUnimplemented);
  EXPECT_THAT(failure.message(), HasSubstr("libweft-no-such.so.1"));
  EXPECT_THAT(failure.message(), HasSubstr("on Debian, install libweft-no-such1"));
  EXPECT_EQ(looks, 0);
}

TEST(SharedObjects, ThatLackAFunctionNameIt) {
  SharedObject library{"libm.so.6", "libc6"};
  looks = 0;
  for (int times = 1; times <= 2; ++times) {
    const Status failure = library.load(find_absent);
    EXPECT_EQ(failure.code(), StatusCode::kUnimplemented);
    EXPECT_THAT(failure.message(), HasSubstr("weft_no_such_function"));
    EXPECT_EQ(looks, times);
  }
}

}  // namespace
}  // namespace weft::detail
