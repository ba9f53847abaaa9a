// SPDX-License-Identifier: Apache-2.0
// Messages that are written around their long runs are the same bytes as those that are written whole.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <span>

#include "unit/codec/codec_testing.hpp"

namespace weft {

using namespace weft::detail;

namespace lent_runs_tests {

constexpr std::size_t kLong = LentRuns::kRunBytesMin;

struct Block {
  std::string name;
  std::vector<double> numbers;
  std::span<const std::uint16_t> words;
  bool last = false;
};
struct Grown {
  int first = 0;
  Compatible<std::string, 2> added;
};

/// Goes as a text that is made for each use.
struct Spelled {
  char letter = 'a';
};
/// Counts a text, and writes another one of that length.
struct Masked {
  std::string text;
};
/// Says that it writes what it shows.
struct Framed {
  std::string text;
};

}  // namespace lent_runs_tests

template <>
struct CodecTraits<lent_runs_tests::Spelled> {
  using Wire = std::string;
  static Wire to_wire(const lent_runs_tests::Spelled& value) {
    return std::string(lent_runs_tests::kLong, value.letter);
  }
  static bool from_wire(Wire, lent_runs_tests::Spelled&) { return true; }
};
template <>
struct CodecTraits<lent_runs_tests::Masked> {
  static constexpr std::size_t kMinEncodedSize = 4;
  static void encoded_size(auto& size, const lent_runs_tests::Masked& value) { size.add(value.text); }
  static void encode(auto& to, const lent_runs_tests::Masked& value) {
    to.write(std::string(value.text.size(), '*'));
  }
  static bool decode(auto& from, lent_runs_tests::Masked& out) { return from.read(out.text); }
  static constexpr void append_schema(auto& to) { to.template type<std::string>(); }
};
template <>
struct CodecTraits<lent_runs_tests::Framed> {
  static constexpr std::size_t kMinEncodedSize = 6;
  static constexpr bool kShowsRuns = true;
  static void encoded_size(auto& size, const lent_runs_tests::Framed& value) {
    size.skip(1);
    size.count(value.text.size());
    size.add_run(value.text.data(), value.text.size());
    size.skip(1);
  }
  static void encode(auto& to, const lent_runs_tests::Framed& value) {
    to.write('<');
    to.write_count(value.text.size());
    to.write_run(value.text.data(), value.text.size());
    to.write('>');
  }
  static bool decode(auto&, lent_runs_tests::Framed&) { return false; }
  static constexpr void append_schema(auto& to) { to.template type<std::string>(); }
};

namespace lent_runs_tests {
namespace {

using testing::encoded;

std::string text_of(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + i / 251);
  return text;
}

/// The message of `values`, put together from what is written and the runs.
template <typename... Ts>
std::vector<std::byte> put_together(LentRuns& runs, const Ts&... values) {
  find_runs(runs, values...);
  std::vector<std::byte> written(encoded_size(values...) - runs.bytes(), std::byte{0xEE});
  encode_around(written.data(), written.size(), runs, values...);
  EXPECT_TRUE(runs.is_placed());
  std::vector<std::byte> message;
  const std::byte* from = written.data();
  for (const LentRuns::Run& run : runs.runs()) {
    message.insert(message.end(), from, static_cast<const std::byte*>(run.at));
    message.insert(message.end(), run.bytes.begin(), run.bytes.end());
    EXPECT_EQ(run.bytes.size() % 8, 0u);
    from = run.at;
  }
  message.insert(message.end(), from, static_cast<const std::byte*>(written.data() + written.size()));
  return message;
}

/// Returns how many runs of `values` are lent, when all that is long lasts.
template <typename... Ts>
std::size_t lent_of(const Ts&... values) {
  LentRuns runs;
  EXPECT_EQ(put_together(runs, values...), encoded(values...));
  return runs.runs().size();
}

TEST(RunsOfMessages, AreLentFromATextOfAnyLength) {
  EXPECT_EQ(lent_of(text_of(kLong - 1)), 0u);
  for (std::size_t more = 0; more < 9; ++more) EXPECT_EQ(lent_of(text_of(kLong + more)), 1u) << more;
  const std::string text = text_of(kLong * 3);
  EXPECT_EQ(lent_of(std::string_view{text}, 7, std::string_view{text}), 2u);
}

TEST(RunsOfMessages, KeepTheAlignmentOfWhatFollows) {
  const std::vector<std::uint16_t> words(kLong / 2 + 3, 0x1234);
  for (std::size_t more = 0; more < 9; ++more) {
    const Block block{text_of(kLong + more), std::vector<double>(kLong / 8, 1.5), words, true};
    EXPECT_EQ(lent_of('c', block, std::int64_t{-1}), 3u) << more;
    EXPECT_EQ(lent_of(std::optional{block}, std::make_pair(block, block)), 8u) << "no more than eight";
  }
}

TEST(RunsOfMessages, AreFoundInShortListsAndNotLookedForInLongOnes) {
  std::vector<std::string> texts(3, text_of(kLong));
  EXPECT_EQ(lent_of(texts), 3u);
  std::map<int, std::string> table{{1, text_of(kLong)}, {2, "short"}};
  EXPECT_LE(lent_of(table), 1u);
  texts.resize(1000);
  EXPECT_EQ(lent_of(texts), 0u);
  EXPECT_EQ(lent_of(std::make_unique<std::string>(text_of(kLong))), 1u);
}

// A hook may make its bytes anew each time, and a failure's text is a copy: neither is there when it is sent.
TEST(RunsOfMessages, AreNotWhatIsMadeToBeWritten) {
  EXPECT_EQ(lent_of(Spelled{'b'}), 0u);
  EXPECT_EQ(lent_of(Masked{text_of(kLong)}), 0u);
  EXPECT_EQ(lent_of(Result<int>{Status{StatusCode::kInternal, Layer::kUser, text_of(kLong)}}), 0u);
  EXPECT_EQ(lent_of(Framed{text_of(kLong + 5)}, Framed{text_of(kLong)}), 2u);
  Grown grown{1, {}};
  grown.added = text_of(kLong);
  EXPECT_EQ(lent_of(grown), 0u) << "an addition says how long it is";
}

// The same text in a value that must be copied and in one that may be lent.
TEST(RunsOfMessages, MayBeShownTwice) {
  const Masked masked{text_of(kLong)};
  EXPECT_EQ(lent_of(masked, std::string_view{masked.text}), 1u);
}

TEST(RunsOfMessages, AreLentOnlyFromWhatLasts) {
  const std::string request = text_of(kLong * 4);
  const std::string own = text_of(kLong);
  const std::string_view view = std::string_view{request}.substr(8, kLong);
  LentRuns runs{as_bytes(request)};
  EXPECT_EQ(put_together(runs, view, own, view), encoded(view, own, view));
  EXPECT_EQ(runs.runs().size(), 2u);
  for (const std::size_t shift : {std::size_t{1}, std::size_t{8}}) {
    LentRuns before{as_bytes(view.substr(shift))};
    before.offer(as_bytes(view));
    EXPECT_TRUE(before.empty());
    LentRuns behind{as_bytes(view.substr(0, view.size() - shift))};
    behind.offer(as_bytes(view));
    EXPECT_TRUE(behind.empty());
  }
  LentRuns nothing{Bytes{}};
  nothing.offer(as_bytes(view));
  EXPECT_TRUE(nothing.empty());
}

}  // namespace
}  // namespace lent_runs_tests
}  // namespace weft
