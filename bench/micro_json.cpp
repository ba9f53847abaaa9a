// SPDX-License-Identifier: Apache-2.0
// Measures the transcoder of JSON beside the library whose parser it uses: bytes of JSON text per second, for
// a short call, for records, and for numbers. The library parses the text into its tree, and prints that
// tree.
#include <benchmark/benchmark.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "weft/detail/base/random_numbers.hpp"
#include "weft/detail/codec/named_schema.hpp"
#include "weft/detail/describe/json.hpp"

namespace weft {
namespace {

using namespace weft::detail;

struct Place {
  double x = 0;
  double y = 0;
};
struct Person {
  std::string name;
  std::uint64_t id = 0;
  Place home;
  std::vector<std::string> tags;
  std::optional<std::int32_t> age;
  bool active = false;
};

/// A message, its types, and its text.
struct Sample {
  TypeDescription types;
  std::vector<std::byte> message;
  std::string text;
};

template <typename... Ts>
Sample sample(const Ts&... values) {
  Sample made;
  made.types = TypeDescription::parse(named_schema_text<Ts...>()).value();
  made.message.resize(encoded_size(values...));
  encode_to(made.message.data(), made.message.size(), values...);
  if (!to_json(made.types, made.message, made.text).ok()) std::abort();
  return made;
}

Sample call() {
  return sample(std::string(100, 'a'), std::uint32_t{7}, true);
}
Sample people() {
  RandomNumbers random{1};
  std::vector<Person> list(2'000);
  for (Person& person : list) {
    const double x = static_cast<double>(random.below(1'000'000)) / 64;
    person = {"a name of a person", random.next() >> 12, {x, -x}, {"red", "green"}, 42, true};
  }
  return sample(list);
}
Sample numbers() {
  RandomNumbers random{1};
  std::vector<std::int64_t> list(50'000);
  for (std::int64_t& number : list) number = static_cast<std::int64_t>(random.next() >> 20);
  return sample(list);
}

using MakeSample = Sample (*)();

void count_bytes(benchmark::State& state, const Sample& made) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * made.text.size()));
}

void write_text(benchmark::State& state, MakeSample make) {
  const Sample made = make();
  std::string text;
  for (auto _ : state) {
    if (!to_json(made.types, made.message, text).ok()) state.SkipWithError("failed");
  }
  count_bytes(state, made);
}
void read_text(benchmark::State& state, MakeSample make) {
  const Sample made = make();
  std::vector<std::byte> message;
  for (auto _ : state) {
    if (!from_json(made.types, made.text, message).ok()) state.SkipWithError("failed");
  }
  count_bytes(state, made);
}
void print_tree(benchmark::State& state, MakeSample make) {
  const Sample made = make();
  const auto tree = nlohmann::json::parse(made.text);
  for (auto _ : state) benchmark::DoNotOptimize(tree.dump());
  count_bytes(state, made);
}
void parse_tree(benchmark::State& state, MakeSample make) {
  const Sample made = make();
  for (auto _ : state) benchmark::DoNotOptimize(nlohmann::json::parse(made.text));
  count_bytes(state, made);
}

#define WEFT_SAMPLE(name)                     \
  BENCHMARK_CAPTURE(write_text, name, &name); \
  BENCHMARK_CAPTURE(print_tree, name, &name); \
  BENCHMARK_CAPTURE(read_text, name, &name);  \
  BENCHMARK_CAPTURE(parse_tree, name, &name)

WEFT_SAMPLE(call);
WEFT_SAMPLE(people);
WEFT_SAMPLE(numbers);

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();
