// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/base64.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

std::string base64(std::string_view bytes) {
  std::string text;
  detail::append_base64(text, as_bytes(bytes));
  return text;
}
/// The bytes of `text`; "refused" when it is no base64.
std::string decoded_base64(std::string_view text) {
  const auto size = detail::base64_decoded_size(text);
  if (!size) return "refused";
  std::string bytes(*size, '\0');
  const bool good = detail::decode_base64(text, reinterpret_cast<std::byte*>(bytes.data()));
  return good ? bytes : "refused";
}

// The examples of RFC 4648, section 10.
TEST(Base64, WritesAndReadsBytes) {
  for (const auto& [bytes, text] :
       {std::pair{"", ""}, std::pair{"f", "Zg=="}, std::pair{"fo", "Zm8="}, std::pair{"foo", "Zm9v"},
        std::pair{"foob", "Zm9vYg=="}, std::pair{"fooba", "Zm9vYmE="}, std::pair{"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(base64(bytes), text);
    EXPECT_EQ(decoded_base64(text), bytes);
  }
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

TEST(Base64, RefusesEverythingElse) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "Zm 9", "====", "Z===", "Zg==Zg==", "Zm9-",
                           "Zg=a", "=m9v", "Zm\x80v"}) {
    EXPECT_EQ(decoded_base64(text), "refused") << text;
  }
}

}  // namespace
}  // namespace weft
