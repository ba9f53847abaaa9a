// SPDX-License-Identifier: Apache-2.0
// A loop knows whether anybody has lately done what would wait behind long transfers.
#include "weft/detail/runtime/company.hpp"

#include <gtest/gtest.h>

#include "unit/runtime/loops.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kComes{1h};

TEST(CompanyOfTransfers, IsNobodyAtFirst) {
  EXPECT_FALSE(Company{}.is_there(kComes));
}

TEST(CompanyOfTransfers, StaysForAWhileAfterItCameLast) {
  Company company;
  company.came(kComes);
  EXPECT_TRUE(company.is_there(kComes));
  company.came(kComes + Company::kStays - 1ns);
  EXPECT_TRUE(company.is_there(kComes + Company::kStays));
  EXPECT_FALSE(company.is_there(kComes + 2 * Company::kStays - 1ns));
}

}  // namespace
}  // namespace weft
