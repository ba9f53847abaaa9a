// SPDX-License-Identifier: Apache-2.0
// CR-10: what is kept of a certificate that may say anything.
#include "weft/detail/transport/identity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::identity_tests {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string_view spiffe_of(const std::string& uri) {
  static Identity last;
  last = Identity::of_certificate({.uris = {uri}});
  return last.spiffe_id();
}

TEST(Identity, OfNobodyHasNoNames) {
  const Identity nobody;
  EXPECT_TRUE(nobody.is_anonymous());
  EXPECT_THAT(nobody.names(), IsEmpty());
  EXPECT_EQ(nobody.name(), "anonymous");
}

TEST(Identity, NamesTheMostTellingFirst) {
  const Identity both = Identity::of_certificate(
      {.subject = "CN=a,O=b", .common_name = "a", .dns_names = {"A.Example"}, .uris = {"spiffe://prod/a"}});
  EXPECT_THAT(both.names(), ElementsAre("spiffe://prod/a", "dns:a.example", "cn:a", "subject:CN=a,O=b"));
  EXPECT_EQ(both.name(), "spiffe://prod/a");
  EXPECT_EQ(both.kind(), Identity::Kind::kCertificate);
  EXPECT_THAT(Identity::of_process({.uid = 5, .gid = 6, .pid = 7}).names(), ElementsAre("uid:5", "gid:6"));
  EXPECT_THAT(Identity::of_token("ann", {"role:x"}).names(), ElementsAre("token:ann", "role:x"));
}

TEST(Identity, LeavesNamesOutThatWouldBeTakenForOthers) {
  const Identity identity = Identity::of_certificate(
      {.subject = "CN=\n",
       .common_name = std::string{"good\0evil", 9},
       .dns_names = {std::string{"good.example\0.evil", 18}, "", "with space", "tab\t", "\xC3\xA4.example",
                     std::string(254, 'a'), "good.example"},
       .uris = {std::string{"https://good\0", 13}, "https://good/\r\nX: y"}});
  EXPECT_THAT(identity.names(), ElementsAre("dns:good.example"));
  EXPECT_EQ(identity.subject(), "");
}

TEST(Identity, HasABoundOfNames) {
  Identity::Certificate contents{.subject = "CN=a", .common_name = "a"};
  for (int i = 0; i < 5000; ++i) contents.dns_names.push_back("host" + std::to_string(i));
  const Identity identity = Identity::of_certificate(contents);
  EXPECT_THAT(identity.names(), SizeIs(Identity::kNamesMax));
  EXPECT_THAT(identity.names(), Contains("subject:CN=a"));
  const std::string long_name(Identity::kNameBytesMax + 1, 'a');
  EXPECT_THAT(
      Identity::of_certificate({.subject = long_name, .common_name = long_name, .uris = {long_name}}).names(),
      IsEmpty());
}

TEST(Identity, HasASpiffeIdOnlyIfItIsOne) {
  for (const char* good : {"spiffe://prod", "spiffe://prod/a", "spiffe://prod.example/ns/A_b-c.d/sa/x"}) {
    EXPECT_EQ(spiffe_of(good), good);
  }
  for (const char* bad : {"spiffe://", "spiffe:///a", "spiffe://Prod/a", "spiffe://prod/", "spiffe://prod//a",
                          "spiffe://prod/../a", "spiffe://prod/./a", "spiffe://prod/a?b", "spiffe://prod/a#b",
                          "spiffe://user@prod/a", "spiffe://prod:1/a", "spiffe://prod/%61", "Spiffe://prod/a",
                          "https://prod/a"}) {
    EXPECT_EQ(spiffe_of(bad), "") << bad;
  }
  const Identity two = Identity::of_certificate({.uris = {"spiffe://prod/a", "spiffe://prod/b"}});
  EXPECT_EQ(two.spiffe_id(), "") << "nobody says which one it is";
  EXPECT_THAT(two.names(), Not(Contains(StartsWith("spiffe://"))));
}

}  // namespace
}  // namespace weft::identity_tests
