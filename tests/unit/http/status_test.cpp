// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/http/status.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft::detail::http {
namespace {

TEST(HttpStatus, FollowsTheMappingOfGoogleRpcCode) {
  // google/rpc/code.proto, in the order of its numbers.
  constexpr int kPublished[] = {200, 499, 500, 400, 504, 404, 409, 403, 429,
                                400, 409, 400, 501, 500, 503, 500, 401};
  for (unsigned number = 0; is_status_code(number); ++number) {
    EXPECT_EQ(http_status_of(static_cast<StatusCode>(number)), kPublished[number]) << number;
  }
}

TEST(HttpStatus, OfACodeComesBackFromTheCodeOfTheStatus) {
  for (unsigned number = 0; is_status_code(number); ++number) {
    const int status = http_status_of(static_cast<StatusCode>(number));
    EXPECT_EQ(http_status_of(status_code_of(status)), status) << number;
  }
}

TEST(HttpStatus, OtherNumbersHaveACodeToo) {
  EXPECT_EQ(status_code_of(204), StatusCode::kOk);
  EXPECT_EQ(status_code_of(418), StatusCode::kFailedPrecondition);
  EXPECT_EQ(status_code_of(413), StatusCode::kResourceExhausted);
  EXPECT_EQ(status_code_of(502), StatusCode::kUnavailable);
  for (const int status : {-1, 0, 100, 301, 599, 1000})
    EXPECT_EQ(status_code_of(status), StatusCode::kUnknown);
}

TEST(HttpStatus, HasAPhraseForEachStatusOfACodeAndOfTheParser) {
  for (unsigned number = 0; is_status_code(number); ++number) {
    EXPECT_FALSE(reason_phrase(http_status_of(static_cast<StatusCode>(number))).empty()) << number;
  }
  for (const int status : {400, 411, 413, 414, 417, 431, 501, 503, 505}) {
    EXPECT_FALSE(reason_phrase(status).empty()) << status;
  }
  EXPECT_TRUE(reason_phrase(299).empty());
}

}  // namespace
}  // namespace weft::detail::http
