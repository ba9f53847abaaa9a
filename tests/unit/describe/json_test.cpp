// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/describe/json.hpp"

#include <bit>
#include <chrono>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <variant>

#include "unit/describe/describe_testing.hpp"

namespace weft::testing {
namespace {

using namespace std::chrono_literals;

struct Spot {
  double x = 0;
  double y = 0;
};
struct Route {
  Spot from;
  Spot to;
  std::string label;
  std::optional<std::int32_t> colour;
};
struct Link {
  std::int32_t value = 0;
  std::vector<Link> children;
  std::unique_ptr<Link> next;
};
struct Grown {
  std::uint32_t id = 0;
  Compatible<std::string, 3> note;
  Compatible<std::optional<double>, 2> weight;
};
struct Hollow {};
enum class Colour : std::uint8_t { kRed = 1, kBlue = 200 };

template <typename T>
constexpr T kLowest = std::numeric_limits<T>::lowest();
template <typename T>
constexpr T kHighest = std::numeric_limits<T>::max();

TEST(Json, IntegersAreExact) {
  expect_json("[-9223372036854775808,9223372036854775807,18446744073709551615,9007199254740993]",
              kLowest<std::int64_t>, kHighest<std::int64_t>, kHighest<std::uint64_t>,
              std::int64_t{9007199254740993});
  expect_json("[-128,127,255,-32768,65535,-2147483648]", kLowest<std::int8_t>, kHighest<std::int8_t>,
              kHighest<std::uint8_t>, kLowest<std::int16_t>, kHighest<std::uint16_t>, kLowest<std::int32_t>);
  expect_read(R"(["-9223372036854775808","18446744073709551615","7"])", kLowest<std::int64_t>,
              kHighest<std::uint64_t>, std::int8_t{7});
  expect_read("[-0]", std::int32_t{0});
}

TEST(Json, IntegersOf128BitsAreExact) {
  const TypeDescription types = parsed("(i128, u128)");
  const std::string least = "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 80 ";
  const std::string most = "ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff ff";
  const std::string text =
      "[-170141183460469231731687303715884105728,340282366920938463463374607431768211455]";
  EXPECT_EQ(json_of(types, from_hex(least + most)), text);
  EXPECT_EQ(message_of(types, text), least + most);
  EXPECT_EQ(message_of(types, "[0,340282366920938463463374607431768211456]"),
            "value[1]: an integer is expected");
}

TEST(Json, IntegersThatDoNotFitAreRefused) {
  expect_refused<std::int8_t>("[128]", "value[0]: the number does not fit into a signed integer of 8 bits");
  expect_refused<std::int8_t>("[-129]", "value[0]: the number does not fit into a signed integer of 8 bits");
  expect_refused<std::uint64_t>("[-1]",
                                "value[0]: the number does not fit into an unsigned integer of 64 bits");
  expect_refused<std::uint64_t>("[18446744073709551616]",
                                "value[0]: the number does not fit into an unsigned integer of 64 bits");
  expect_refused<std::int64_t>("[9223372036854775808]",
                               "value[0]: the number does not fit into a signed integer of 64 bits");
  for (const char* text : {"[1.0]", "[1e3]", "[\"1.0\"]", "[\"01\"]", "[\"-0\"]", "[\"\"]", "[\"-\"]",
                           "[\" 1\"]", "[\"+1\"]", "[\"1x\"]", "[true]", "[null]", "[[1]]"}) {
    expect_refused<std::int64_t>(text, "value[0]: an integer is expected");
  }
}

TEST(Json, FloatingPointNumbersAreExact) {
  expect_json("[0.1,-0,5e-324,1.7976931348623157e+308,3]", 0.1, -0.0, 5e-324, kHighest<double>, 3.0);
  expect_json("[0.1,1e-45,3.4028235e+38]", 0.1F, std::numeric_limits<float>::denorm_min(), kHighest<float>);
  expect_read("[1,-1,18446744073709551615,1E2,-0.0]", 1.0, -1.0, 18446744073709551615.0, 100.0, -0.0);
  expect_read("[16777217]", 16777216.0F);
}

TEST(Json, FloatingPointNumbersWithoutANumberInJsonAreStrings) {
  constexpr double kNan = std::bit_cast<double>(0x7FF8'0000'0000'0000U);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  expect_json(R"(["NaN","Infinity","-Infinity"])", kNan, kInfinity, -kInfinity);
  expect_json(R"x(["-NaN","NaN(0x7ff8000000000001)"])x", std::bit_cast<double>(0xFFF8'0000'0000'0000U),
              std::bit_cast<double>(0x7FF8'0000'0000'0001U));
  expect_json(R"x(["NaN","-Infinity","NaN(0xff800001)"])x", std::bit_cast<float>(0x7FC0'0000U),
              -std::numeric_limits<float>::infinity(), std::bit_cast<float>(0xFF80'0001U));
  for (const char* text :
       {"[\"nan\"]", "[\"inf\"]", "[\"1\"]", "[\"NaN(0x1)\"]", "[\"NaN(0x3ff8000000000001)\"]",
        "[\"NaN(0x7ff0000000000000)\"]", "[\"NaN(0x7ff8000000000001\"]", "[\"--NaN\"]"}) {
    expect_refused<double>(
        text, R"(value[0]: a number, or a string like "NaN", "Infinity" or "-Infinity", is expected)");
  }
}

TEST(Json, NumbersOutOfRangeAreRefusedWithTheirPlace) {
  expect_refused<double>("[1e999]", "value[0]: a number is too large for any type");
  expect_refused<Route>(R"([{"from":{"x":1,"y":-1e999}}])",
                        "value[0].from.y: a number is too large for any type");
  expect_refused<float>("[1e39]", "value[0]: the number is too large or too small for its type");
  expect_refused<double>("[1e-400]", "value[0]: the number is too large or too small for its type");
}

TEST(Json, LongDoublesAreExact) {
  expect_json("[0.1,-2,0]", static_cast<long double>(0.1), -2.0L, 0.0L);
  const TypeDescription types = parsed("(f128)");
  for (const auto& [bits, text] : {
           std::pair{"01 00 00 00 00 00 00 00 00 00 00 00 00 00 ff 3f",
                     R"(["0x1.0000000000000000000000000001p0"])"},
           std::pair{"00 00 00 00 00 00 00 00 00 00 00 00 00 80 ff fe", R"(["-0x1.8p16128"])"},
           std::pair{"01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
                     R"(["0x0.0000000000000000000000000001p-16382"])"},
           std::pair{"00 00 00 00 00 00 00 00 00 00 00 00 00 80 ff 7f", R"(["NaN"])"},
           std::pair{"00 00 00 00 00 00 00 00 00 00 00 00 00 00 ff ff", R"(["-Infinity"])"},
           std::pair{"00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 80", "[-0]"},
       }) {
    EXPECT_EQ(json_of(types, from_hex(bits)), text);
    EXPECT_EQ(message_of(types, text), bits);
  }
  expect_read("[5e-324]", static_cast<long double>(5e-324));
  for (const char* text :
       {"[\"0x1\"]", "[\"0x2p0\"]", "[\"0x1.p0\"]", "[\"0x1p16384\"]", "[\"0x0p0\"]", "[\"0x1p0x\"]"}) {
    EXPECT_EQ(message_of(types, text).substr(0, 18), "value[0]: a number") << text;
  }
}

TEST(Json, BoolsCharactersAndEnumerations) {
  expect_json("[true,false]", true, false);
  expect_refused<bool>("[1]", "value[0]: true or false is expected");
  expect_json(R"(["a","\u0000",200])", 'a', '\0', static_cast<char>(200));
  expect_read("[97]", 'a');
  expect_refused<char>(R"(["ab"])", "value[0]: one ASCII character or a number from 0 to 255 is expected");
  expect_refused<char>("[256]", "value[0]: one ASCII character or a number from 0 to 255 is expected");
  expect_json("[1,200,7]", Colour::kRed, Colour::kBlue, static_cast<Colour>(7));
}

TEST(Json, TextIsUtf8) {
  expect_json(R"(["a \"b\" \\ \n\t\r\b\f\u0001 \u001f/ ü 😀"])",
              std::string{"a \"b\" \\ \n\t\r\b\f\x01 \x1f/ ü 😀"});
  expect_read(R"(["\u00fc\ud83d\ude00\/"])", std::string{"ü😀/"});
  expect_json(R"(["\u0000"])", std::string(1, '\0'));
}

TEST(Json, TextThatIsNoUtf8IsBase64) {
  expect_json(R"([{"base64":"/2E="}])", std::string{"\xff"
                                                    "a"});
  expect_read(R"([{"base64":"YQ=="}])", std::string{"a"});
  for (const char* text : {"[5]", "[{}]", R"([{"base65":"YQ=="}])", R"([{"base64":5}])",
                           R"([{"base64":"YQ==","a":1}])", "[[\"a\"]]"}) {
    expect_refused<std::string>(
        text, R"(value[0]: a string, or {"base64": "..."} for bytes that are no UTF-8, is expected)");
  }
  expect_refused<std::string>(R"([{"base64":"YQ"}])", "value[0]: the string is no base64");
}

TEST(Json, BytesAreBase64) {
  using ByteVector = std::vector<std::uint8_t>;
  expect_json(R"(["AQID","","YQBi"])", ByteVector{1, 2, 3}, ByteVector{}, std::vector<char>{'a', '\0', 'b'});
  expect_json(R"(["AQID"])", std::array<std::byte, 3>{std::byte{1}, std::byte{2}, std::byte{3}});
  expect_read("[[1,2,3],[]]", ByteVector{1, 2, 3}, ByteVector{});
  expect_read("[[1,2]]", std::array<std::uint8_t, 2>{1, 2});
  expect_refused<ByteVector>(R"(["AQI"])", "value[0]: the string is no base64");
  expect_refused<ByteVector>("[[1,256]]",
                             "value[0][1]: the number does not fit into an unsigned integer of 8 bits");
  expect_refused<std::array<std::uint8_t, 2>>(R"(["AQID"])", "value[0]: an array of 2 elements is expected");
  // Sets and signed bytes are numbers.
  expect_json("[[1,2],[-1]]", std::set<std::uint8_t>{1, 2}, std::vector<std::int8_t>{-1});
}

TEST(Json, SequencesAndSetsAreArrays) {
  expect_json("[[1,2],[[],[3]],[true,false]]", std::vector<std::int16_t>{1, 2},
              std::vector<std::vector<std::int64_t>>{{}, {3}}, std::vector<bool>{true, false});
  expect_json("[5,[1.5],[[1,2],[3,4]]]", std::uint8_t{5}, std::vector<double>{1.5},
              std::array<std::pair<std::int8_t, std::int32_t>, 2>{{{1, 2}, {3, 4}}});
  expect_refused<std::vector<int>>("[{}]", "value[0]: an array is expected");
  expect_refused<std::array<int, 2>>("[[1]]", "value[0]: an array of 2 elements is expected");
  expect_refused<std::set<int>>("[[1,2,1]]", "value[0]: a value stands twice in a set");
  expect_json("[[1,1]]", std::multiset<int>{1, 1});
}

TEST(Json, MapsOfTextAndIntegersAreObjects) {
  expect_json(R"([{"a":1,"b":2},{"-5":"x"}])", std::map<std::string, int>{{"a", 1}, {"b", 2}},
              std::map<std::int64_t, std::string>{{-5, "x"}});
  expect_json(R"([{}])", std::unordered_map<std::string, int>{});
  expect_json("[[[1.5,2]],[[\"a\",1],[\"a\",2]]]", std::map<double, int>{{1.5, 2}},
              std::multimap<std::string, int>{{"a", 1}, {"a", 2}});
  expect_read(R"([[["a",1],["b",2]]])", std::map<std::string, int>{{"a", 1}, {"b", 2}});
  using Map = std::map<std::string, std::map<std::int32_t, bool>>;
  expect_refused<Map>(R"([{"k":{"x":true}}])", "value[0][\"k\"][\"x\"]: the key is no integer");
  expect_refused<Map>(R"([{"k":{"1":5}}])", "value[0][\"k\"][\"1\"]: true or false is expected");
  expect_refused<Map>(R"([{"k":{},"k":{}}])", "value[0]: a key stands twice in a map");
  expect_refused<Map>(R"([{"b":{},"a":{},"b":{}}])", "value[0]: a key stands twice in a map");
  expect_refused<Map>(R"([[["k",{},1]]])", "value[0][0]: [key, value] is expected");
  expect_refused<Map>("[5]", "value[0]: an object, or an array of [key, value], is expected");
  expect_refused<std::map<double, int>>("[{}]", "value[0]: an array of [key, value] is expected");
}

TEST(Json, MapsWithKeysThatAreNoUtf8ArePairs) {
  expect_json(R"([{"1":[["a",1]]},[[{"base64":"/w=="},2]]])",
              std::map<std::int32_t, std::map<std::string, int>>{{1, {{"a", 1}}}},
              std::map<std::string, int>{{"\xff", 2}});
}

TEST(Json, MembersHaveNames) {
  const Route route{{1, 2}, {3.5, 4}, "home", 7};
  expect_json(R"([{"from":{"x":1,"y":2},"to":{"x":3.5,"y":4},"label":"home","colour":7}])", route);
  expect_read(R"([{"label":"home","to":{"y":4,"x":3.5},"colour":7,"from":{"x":1,"y":2}}])", route);
  expect_read(R"([[[1,2],{"0":3.5,"1":4},"home",7]])", route);
  expect_read(R"({"0":{"from":[1,2],"1":[3.5,4],"label":"home","3":7}})", route);
  expect_json("[[1,\"a\"],{}]", std::tuple{1, std::string{"a"}}, Hollow{});
  EXPECT_EQ(json_of(parsed(schema_text<Spot>()), encoded(Spot{1, 2})), "[[1,2]]");
}

TEST(Json, MembersThatAreUnknownMissingOrDoubleAreRefused) {
  expect_refused<Route>(R"([{"from":{"x":1,"z":2}}])", "value[0].from.z: there is no such member");
  expect_refused<Route>(R"([{"from":{"x":1}}])", "value[0].from.y: the value is missing");
  expect_refused<Route>(R"([{"from":{"x":1,"y":1,"x":2}}])", "value[0].from.x: the member stands twice");
  expect_refused<Route>(R"([{"from":{"x":1,"0":1}}])", "value[0].from.0: the member stands twice");
  expect_refused<Spot>(R"([{"2":1}])", "value[0].2: there is no such member");
  expect_refused<Spot>("[[1,2,3]]", "value[0]: at most 2 elements are expected");
  expect_refused<Spot>("[[1]]", "value[0].y: the value is missing");
  expect_refused<Spot>("[5]", "value[0]: an object or an array is expected");
  expect_refused<int>("[]", "value[0]: the value is missing");
  expect_refused<int>("5", "value: an object or an array is expected");
  expect_refused<Spot>(R"([{"\u001b[31m":1}])", "value[0].?[31m: there is no such member");
}

TEST(Json, OptionalsAreNullOrMissing) {
  expect_json("[null,5]", std::optional<int>{}, std::optional<int>{5});
  using Twice = std::optional<std::optional<int>>;
  expect_json("[null,[null],[5]]", Twice{}, Twice{std::optional<int>{}}, Twice{5});
  expect_refused<Twice>("[5]", "value[0]: null, or an array of one value, is expected");
  expect_read(R"([{"from":[1,2],"to":[3,4],"label":""}])", Route{{1, 2}, {3, 4}, "", {}});
}

TEST(Json, VariantsNameTheirAlternative) {
  using Choice = std::variant<std::monostate, std::int32_t, std::string>;
  expect_json(R"([{"0":{}},{"1":5},{"2":"x"}])", Choice{}, Choice{5}, Choice{"x"});
  for (const char* text :
       {"[5]", "[{}]", R"([{"3":5}])", R"([{"01":5}])", R"([{"1":5,"2":"x"}])", R"([{"-1":5}])"}) {
    expect_refused<Choice>(
        text, "value[0]: an object of one member, whose name is the number of an alternative, is expected");
  }
  expect_refused<Choice>(R"([{"1":"x"}])", "value[0].1: an integer is expected");
}

TEST(Json, RecursiveTypes) {
  Link link{1, {}, nullptr};
  link.children.push_back(Link{2, {}, nullptr});
  link.next = std::make_unique<Link>(Link{3, {}, nullptr});
  expect_json(R"([{"value":1,"children":[{"value":2,"children":[],"next":null}],)"
              R"("next":{"value":3,"children":[],"next":null}}])",
              link);
  expect_refused<Link>(R"([{"value":1,"children":[{"value":2,"children":[{"value":"x"}]}]}])",
                       "value[0].children[0].children[0].value: an integer is expected");
}

TEST(Json, DurationsHaveAUnit) {
  expect_json(R"(["1500ms","-3s","2min","0h","9223372036854775807ns"])", 1500ms, -3s, 2min, 0h,
              std::chrono::nanoseconds::max());
  expect_read(R"(["1.5s","60s","0.5ms","1.000000000000000000s","-0s"])", 1500ms, 1min, 500us, 1s, 0s);
  for (const char* text :
       {"[\"1.0005s\"]", "[\"5\"]", "[5]", "[\"s\"]", "[\".5s\"]", "[\"5.s\"]", "[\"1 s\"]", "[\"1e3s\"]",
        "[\"1.2.3s\"]", "[\"+1s\"]", "[\"1234567890123456789012345s\"]"}) {
    expect_refused<std::chrono::milliseconds>(
        text, R"(value[0]: a duration like "1.5s" or "20ms", as precise as its type, is expected)");
  }
  expect_refused<std::chrono::nanoseconds>(
      R"(["9223372036854775808ns"])", "value[0]: the number does not fit into a signed integer of 64 bits");
  // Ticks without a unit are numbers.
  expect_json("[7,1.5]", std::chrono::duration<std::int32_t, std::ratio<1, 60>>{7},
              std::chrono::duration<double>{1.5});
}

TEST(Json, TimesAreThoseOfRfc3339) {
  using std::chrono::sys_days, std::chrono::sys_time;
  constexpr sys_days kDay = std::chrono::year{2026} / 11 / 29;
  expect_json(R"(["2026-11-29T12:22:45.000000007Z","2026-11-29T00:00:00Z","1969-12-31T23:59:59.999Z"])",
              sys_time<std::chrono::nanoseconds>{kDay + 12h + 22min + 45s + 7ns},
              sys_time<std::chrono::seconds>{kDay}, sys_time<std::chrono::milliseconds>{-1ms});
  expect_read(R"(["2026-11-29T01:30:00.0+01:30","1969-12-31T16:00:00-08:00"])",
              sys_time<std::chrono::seconds>{kDay}, sys_time<std::chrono::minutes>{});
  // Years that have not four digits.
  expect_json(R"(["9223372036854775807s","-100000000h"])", sys_time<std::chrono::seconds>::max(),
              sys_time<std::chrono::hours>{-100'000'000h});
  expect_json(R"(["1500ms"])",
              std::chrono::time_point<std::chrono::steady_clock, std::chrono::milliseconds>{1500ms});
  for (const char* text :
       {"[\"2026-11-29T12:22:45.5Z\"]", "[\"2026-13-01T00:00:00Z\"]", "[\"2026-02-29T00:00:00Z\"]",
        "[\"2026-11-29T24:00:00Z\"]", "[\"2026-11-29T00:00:60Z\"]", "[\"2026-11-29 00:00:00Z\"]",
        "[\"2026-11-29T00:00:00\"]", "[\"2026-11-29T00:00:00.Z\"]", "[\"2026-11-29T00:00:00+24:00\"]",
        "[1764374400]", "[\"\"]"}) {
    expect_refused<sys_time<std::chrono::seconds>>(
        text, R"(value[0]: a time like "2026-11-29T12:00:00Z", as precise as its type, is expected)");
  }
}

TEST(Json, ResultsHaveAValueOrAnError) {
  expect_json(R"([{"value":5},{"value":null}])", Result<int>{5}, Result<void>{});
  Status failure{StatusCode::kNotFound, Layer::kUser, "gone \xff", -7, Retry::kElsewhere};
  const std::string error =
      R"({"error":{"code":"NOT_FOUND","layer":"user","retry":"elsewhere","native":-7,"message":)";
  expect_json("[" + error + R"("gone"}}])",
              Result<int>{Status{StatusCode::kNotFound, Layer::kUser, "gone", -7, Retry::kElsewhere}});
  failure.set_retry_after(250ms);
  expect_json("[" + error + R"({"base64":"Z29uZSD/"},"retry_after_ms":250,"details":"AAE="}}])",
              Result<void>{failure.with_details(std::string_view{"\0\1", 2})});
  expect_read(R"([{"error":{"code":"ABORTED"}}])",
              Result<int>{Status{StatusCode::kAborted, Layer::kNone, "", 0, Retry::kNever}});
  expect_refused<Result<int>>(R"([{"error":{"code":"OK"}}])", "value[0].error.code: the name is unknown");
  expect_refused<Result<int>>(R"([{"error":{"layer":"user"}}])", "value[0].error.code: the value is missing");
  expect_refused<Result<int>>(R"([{"error":{"code":"ABORTED","why":1}}])",
                              "value[0].error.why: there is no such member");
  expect_refused<Result<int>>(R"([{"error":{"code":"ABORTED","code":"ABORTED"}}])",
                              "value[0].error.code: the member stands twice");
  expect_refused<Result<int>>(R"([{"value":"x"}])", "value[0].value: an integer is expected");
  expect_refused<Result<int>>("[5]", R"(value[0]: an object of one member, "value" or "error", is expected)");
  expect_refused<Result<void>>(R"([{"value":5}])", "value[0].value: null is expected");
}

TEST(Json, AdditionsAreNullOrMissing) {
  expect_json(R"([{"id":7,"note":null,"weight":null}])", Grown{7, {}, {}});
  expect_json(R"([{"id":7,"note":"n","weight":null}])", Grown{7, "n", {}});
  expect_json(R"([{"id":7,"note":null,"weight":[null]}])", Grown{7, {}, std::optional<double>{}});
  expect_json(R"([{"id":7,"note":"n","weight":[2.5]},"more"])", Grown{7, "n", std::optional<double>{2.5}},
              Compatible<std::string, 1>{"more"});
  expect_read(R"([{"id":7,"weight":[2.5]}])", Grown{7, {}, std::optional<double>{2.5}}, Compatible<int>{});
  expect_read("[[7]]", Grown{7, {}, {}});
  expect_refused<Grown>(
      R"([{"note":5,"id":7}])",
      R"(value[0].note: a string, or {"base64": "..."} for bytes that are no UTF-8, is expected)");
  // The JSON text has no values of fields that the description does not contain.
  EXPECT_EQ(json_of(described<std::uint32_t>(), encoded(std::uint32_t{7}, Compatible<std::string>{"n"})),
            "[7]");
}

TEST(Json, ResultsOfMethodsAreTheirValue) {
  const auto method = MethodDescription::parse("(i32) -> ({x: f64, note: +v1 i32}), stream of (string)");
  ASSERT_TRUE(method.ok()) << method.status().to_string();
  EXPECT_EQ(json_of(method->arguments, encoded(5)), "[5]");
  EXPECT_EQ(message_of(method->arguments, "[true]"), "arguments[0]: an integer is expected");
  EXPECT_EQ(json_of(*method->result, encoded(1.5, Compatible<int>{2})), R"({"x":1.5,"note":2})");
  EXPECT_EQ(message_of(*method->result, R"({"x":1.5,"note":2})"), encoded_hex(1.5, Compatible<int>{2}));
  EXPECT_EQ(message_of(*method->result, R"({"x":null})"), "result.x: a number is expected");
  EXPECT_EQ(json_of(*method->items_out, encoded(std::string{"a"})), R"("a")");
}

TEST(Json, TextThatIsNoJsonIsRefused) {
  for (const char* text : {"",
                           " ",
                           "[",
                           "[1",
                           "[1,]",
                           "[,1]",
                           "[1]x",
                           "[1]]",
                           "[01]",
                           "[+1]",
                           "[.5]",
                           "[1.]",
                           "[1e]",
                           "[0x1]",
                           "[NaN]",
                           "[Infinity]",
                           "[-]",
                           "[tru]",
                           "['a']",
                           "[\"a]",
                           "[\"\\x\"]",
                           "[\"\\u12\"]",
                           "[\"\\ud800\"]",
                           "[\"\\udc00\"]",
                           "[\"\\ud800\\u0041\"]",
                           "[\"\x01\"]",
                           "[\"\xff\"]",
                           "[\"\xed\xa0\x80\"]",
                           "[\"\xc0\x80\"]",
                           "{\"a\" 1}",
                           "{\"a\":}",
                           "{a:1}",
                           "{\"a\":1,}",
                           "[1 2]",
                           "/**/[1]",
                           "\xef\xbb\xbf[1]"}) {
    std::vector<std::byte> bytes;
    const Status read = from_json(described<std::vector<std::string>>(), text, bytes);
    EXPECT_EQ(read.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_NE(read.message().find("no valid JSON"), std::string_view::npos) << text << read.to_string();
  }
  expect_refused<int>(std::string_view{"[1]\0x", 5},
                      "value: no valid JSON: a byte order mark or a zero byte");
  expect_refused<std::vector<Route>>(R"([[{"label":"a"},{"label":5 "x")",
                                     "value[0][1].label: no valid JSON at byte 30");
}

TEST(Json, MessagesThatAreMalformedAreRefused) {
  const auto refused = [](const TypeDescription& types, std::string_view bytes) {
    std::string text;
    const Status written = to_json(types, from_hex(bytes), text);
    EXPECT_EQ(written.code(), StatusCode::kInvalidArgument) << bytes;
    return std::string{written.message()};
  };
  EXPECT_NE(refused(described<std::int32_t>(), "01 02 03"), "");
  EXPECT_NE(refused(described<std::int32_t>(), "01 02 03 04 05"), "");
  EXPECT_NE(refused(described<bool>(), "02"), "");
  EXPECT_NE(refused(described<std::string>(), "05 00 00 00 61"), "");
  EXPECT_NE(refused(described<std::vector<double>>(), "ff ff ff ff 00 00 00 00"), "");
  EXPECT_NE(refused(described<std::vector<double>>(), "00 00 00 00 00 00 00 01"), "");
  EXPECT_NE((refused(described<std::variant<int, bool>>(), "02")), "");
  EXPECT_NE(refused(described<std::optional<int>>(), "02"), "");
  EXPECT_NE(refused(described<Result<int>>(), "00 00 00 00 00 00 00 00 00 00 00 00"), "");
  EXPECT_NE(
      (refused(described<std::map<std::string, bool>>(), "02 00 00 00 01 00 00 00 61 00 01 00 00 00 61 00")),
      "");
  EXPECT_NE(refused(described<Compatible<int>>(), "04 00 00 00 01 02 03"), "");
  EXPECT_NE(refused(described<Compatible<int>>(), "05 00 00 00 01 02 03 04 05"), "");
  EXPECT_NE(refused(parsed("([{}])"), "00 10 00 00"), "");
  EXPECT_NE(refused(parsed("([{}; 4000000000])"), ""), "");
  EXPECT_NE(refused(parsed("([[{}; 1000]; 1000])"), ""), "");
}

/// Optionals within each other, and the message of them.
std::string nested_text(std::size_t depth) {
  return std::string(depth, '[') + "null" + std::string(depth, ']');
}
std::string nested_message(std::size_t depth) {
  std::string bytes;
  for (std::size_t i = 0; i < depth; ++i) bytes += "01 ";
  return bytes + "00";
}

TEST(Json, DepthIsBounded) {
  const TypeDescription types = parsed("({^0?})");
  // Each level is an aggregate and an optional, and the list of values is one more.
  const std::size_t depth = JsonBounds::kDepthMax / 2 - 2;
  EXPECT_EQ(message_of(types, nested_text(depth + 2)), nested_message(depth));
  EXPECT_EQ(json_of(types, from_hex(nested_message(depth))), nested_text(depth + 2));
  EXPECT_TRUE(message_of(types, nested_text(depth + 4)).ends_with("values are nested too deeply"));
  EXPECT_TRUE(
      json_of(types, from_hex(nested_message(depth + 2))).starts_with("value: values are nested too deeply"));
  EXPECT_TRUE(message_of(types, std::string(1'000'000, '[')).ends_with("values are nested too deeply"));
}

TEST(Json, OutputIsBounded) {
  std::string text;
  const std::vector<std::int32_t> numbers(1000);
  const auto types = described<std::vector<std::int32_t>>();
  EXPECT_EQ(to_json(types, encoded(numbers), text, 1000).code(), StatusCode::kResourceExhausted);
  EXPECT_LT(text.size(), 1100);
  std::vector<std::byte> message;
  EXPECT_TRUE(to_json(types, encoded(numbers), text, 2003).ok());
  EXPECT_EQ(from_json(types, text, message, 4003).code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(from_json(types, text, message, 4004).ok());
}

TEST(JsonString, BytesThatAreNoTextAreReplaced) {
  const auto json = [](std::string_view text) {
    std::string out = "x";
    append_json_string(out, text);
    return out;
  };
  EXPECT_EQ(json("plain \"text\" \\ \n"), "x\"plain \\\"text\\\" \\\\ \\n\"");
  EXPECT_EQ(json("\xC3\xA9"), "x\"\xC3\xA9\"");
  EXPECT_EQ(json("a\xFF\xC3z"), "x\"a\xEF\xBF\xBD\xEF\xBF\xBDz\"");
  EXPECT_EQ(json("\xED\xA0\x80"), "x\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"") << "a surrogate";
  EXPECT_EQ(json(std::string_view{"\0", 1}), "x\"\\u0000\"");
  EXPECT_EQ(json({}), "x\"\"");
}

}  // namespace
}  // namespace weft::testing
