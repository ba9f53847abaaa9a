// SPDX-License-Identifier: Apache-2.0
// CR-10: what `weft info` says of TLS in the kernel, by answers that a kernel gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "info/report.hpp"
#include "info/stream_carrier.hpp"
#include "info/tls/kernel_tls.hpp"

namespace weft::info {
namespace {

using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Word kernel_word(int error, const std::string& listed = "mptcp") {
  return kernel_tls_words({.error = error, .listed = listed}).front();
}

Report report_of_kernel(const KernelAnswer& answer) {
  Carriers carriers;
  carriers.push_back(stream_carrier(answer));
  return {std::move(carriers), Probe{}};
}

TEST(InfoKernelTls, IsHereWhenTheKernelKnowsIt) {
  for (const int error : {0, ENOTCONN, 524}) {
    EXPECT_EQ(kernel_word(error).value, "here") << error;
    EXPECT_THAT(kernel_word(error).note, IsEmpty());
  }
}

TEST(InfoKernelTls, ThatIsNotHereHasItsReason) {
  EXPECT_EQ(kernel_word(ENOENT).value, "not here");
  EXPECT_THAT(kernel_word(ENOENT).note, HasSubstr("module, tls, is not loaded or was not built"));
  EXPECT_THAT(kernel_word(ENOENT).note, HasSubstr("over TCP the kernel has mptcp"));
  EXPECT_THAT(kernel_word(ENOENT, "").note, HasSubstr("the kernel has nothing that it lists"));
  EXPECT_THAT(kernel_word(ENOPROTOOPT).note, HasSubstr("since 4.13"));
}

TEST(InfoKernelTls, IsNotKnownWhenTheKernelCannotBeAsked) {
  EXPECT_EQ(kernel_word(EMFILE).value, "not known");
  EXPECT_THAT(kernel_word(EMFILE).note, HasSubstr("asking the kernel failed: Too many open files"));
}

TEST(InfoKernelTls, IsNotUsedAndTheReportSaysWhy) {
  for (const int error : {0, ENOENT}) {
    const Report report = report_of_kernel({.error = error, .listed = "tls"});
    const std::string text = to_text(report, {});
    EXPECT_THAT(text, HasSubstr(error == 0 ? "kernel TLS            here\n" : "not here (its module, tls"));
    EXPECT_THAT(text, HasSubstr("used by tls://        no (OpenSSL encrypts in memory of Weft's"));
    const auto json = nlohmann::json::parse(to_json(report, {}));
    EXPECT_THAT(json["tls"]["kernel"].get<std::string>(), StartsWith(error == 0 ? "here" : "not here: "));
    EXPECT_THAT(json["tls"]["kernel_is_used"].get<std::string>(), HasSubstr("no: OpenSSL encrypts"));
  }
}

TEST(InfoKernelTls, IsAskedOfTheKernelOfThisMachine) {
  const KernelAnswer answer = ask_kernel();
  EXPECT_THAT(answer.error, AnyOf(Eq(0), Eq(ENOTCONN), Eq(ENOENT), Eq(ENOPROTOOPT)));
  EXPECT_EQ(answer.listed.find("tls") != std::string::npos, kernel_tls_words(answer).front().value == "here");
}

}  // namespace
}  // namespace weft::info
