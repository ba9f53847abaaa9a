// SPDX-License-Identifier: Apache-2.0
// Texts of peers, before they reach logs and terminals.
#include "weft/detail/base/peer_text.hpp"

#include <gtest/gtest.h>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/utf8.hpp"

namespace weft {

using namespace weft::detail;
namespace {

TEST(PeerText, KeepsWhatPeopleWrite) {
  EXPECT_EQ(peer_text(""), "");
  EXPECT_EQ(peer_text("no page 5: 'a' -> \"b\""), "no page 5: 'a' -> \"b\"");
  EXPECT_EQ(peer_text("gr\xc3\xbcn \xe2\x82\xac \xf0\x9f\x98\x80"),
            "gr\xc3\xbcn \xe2\x82\xac \xf0\x9f\x98\x80");
}

TEST(PeerText, HasNoControlsOfAnyKind) {
  for (int byte = 0; byte < 0x20; ++byte) {
    EXPECT_EQ(peer_text(std::string(1, static_cast<char>(byte))), "?") << byte;
  }
  EXPECT_EQ(peer_text("a\x7f"
                      "b"),
            "a?b");
  for (int byte = 0x80; byte < 0xA0; ++byte) {
    EXPECT_EQ(peer_text(std::string{"\xc2"} + static_cast<char>(byte)), "?") << byte;
  }
  EXPECT_EQ(peer_text("\xc2\xa0"), "\xc2\xa0");
  for (const char* turned :
       {"\xe2\x80\x8e", "\xe2\x80\xa8", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9"}) {
    EXPECT_EQ(peer_text(turned), "?");
  }
  EXPECT_EQ(peer_text("\xe2\x80\x93 \xe2\x81\xaa"), "\xe2\x80\x93 \xe2\x81\xaa");
}

TEST(PeerText, IsUtf8WhateverCame) {
  std::uint32_t number = 1;
  for (int round = 0; round < 1000; ++round) {
    std::string bytes;
    for (int i = 0; i < 40; ++i) {
      number = number * 1664525 + 1013904223;
      bytes += static_cast<char>(number >> 24 | (number >> 10 & 0x80));
    }
    const std::string safe = peer_text(bytes);
    EXPECT_EQ(valid_utf8(as_bytes(safe)), safe.size());
    EXPECT_EQ(peer_text(safe), safe) << "once is enough";
  }
  EXPECT_EQ(peer_text("\xc0\xaf"), "??") << "an overlong form";
  EXPECT_EQ(peer_text("\xed\xa0\x80"), "???") << "a surrogate";
  EXPECT_EQ(peer_text("cut \xe2\x82"), "cut ??");
}

TEST(PeerText, IsCutInItsMiddleBetweenTwoCharacters) {
  EXPECT_EQ(peer_text("abcdefghijkl", 12), "abcdefghijkl");
  EXPECT_EQ(peer_text("abcdefghijklm", 12), "abcd ... klm");
  EXPECT_EQ(peer_text("abc\xc3\xbc"
                      "efghij\xc3\xbclm",
                      12),
            "abc ... lm");
  EXPECT_EQ(peer_text("\x01\x02\x03\x04\x05\x06\x07", 6), "? ... ");
  EXPECT_EQ(peer_text("abcdef", 3), " ... ");
  const std::string cut = peer_text(std::string(1 << 22, 'x') + "the cause");
  EXPECT_EQ(cut.size(), kPeerTextBytesMax);
  EXPECT_TRUE(cut.ends_with("xthe cause"));
  EXPECT_EQ(peer_text(cut), cut) << "once is enough";
}

TEST(PeerText, KeepsTheCauseBehindTheWordsOfManyServers) {
  std::string text = "the cause";
  for (int level = 0; level < 1000; ++level) {
    text = peer_text("the server says: level " + std::to_string(level) + ": " + text);
  }
  EXPECT_TRUE(text.starts_with("the server says: level 999: ")) << text;
  EXPECT_TRUE(text.ends_with("level 0: the cause")) << text;
}

}  // namespace
}  // namespace weft
