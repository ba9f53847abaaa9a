// SPDX-License-Identifier: Apache-2.0
// Runs a fuzzer's function without libFuzzer, so that every compiler and sanitizer sees the parsers:
// first each seed as it is, then mutations of seeds and plain noise from a fixed generator.
//
//   <fuzzer> <folder of seeds> [first] [count]
//
// An input depends on its number alone: to see one again, give its number as `first` and 1 as `count`.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// There with a sanitizer, absent without.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

using Input = std::vector<std::uint8_t>;
using Random = std::mt19937_64;

constexpr std::uint64_t kInputs = 5'000;
constexpr std::size_t kNoiseBytesMax = 512;
constexpr std::size_t kInputBytesMax = 64 * 1024;

/// Name of the input that runs now, for the last words; written by this thread, read by the same thread
/// when it dies.
std::array<char, 128> g_running;

void say_what_ran() {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, g_running.data(), std::strlen(g_running.data()));
}

void on_signal(int signal) {
  say_what_ran();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void run(const Input& input) {
  // A copy of exactly this size, so that the address sanitizer notices one byte too many.
  const std::unique_ptr<std::uint8_t[]> exact{new std::uint8_t[input.size()]};
  std::copy(input.begin(), input.end(), exact.get());
  LLVMFuzzerTestOneInput(exact.get(), input.size());
}

std::vector<Input> load_seeds(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator{folder}) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Input> seeds;
  for (const auto& path : paths) {
    std::ifstream file{path, std::ios::binary};
    seeds.emplace_back(std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{});
    std::snprintf(g_running.data(), g_running.size(), "replay: seed %s\n", path.filename().c_str());
    run(seeds.back());
  }
  return seeds;
}

std::size_t below(Random& random, std::size_t end) {
  return end == 0 ? 0 : static_cast<std::size_t>(random() % end);
}

Input noise(Random& random) {
  Input input(below(random, kNoiseBytesMax));
  for (std::uint8_t& byte : input) byte = static_cast<std::uint8_t>(random());
  return input;
}

/// Overwrites up to eight bytes with a number that parsers tend to stumble over.
void plant_number(Input& input, Random& random) {
  static constexpr std::uint64_t kNumbers[] = {0,
                                               1,
                                               0x7f,
                                               0x80,
                                               0xff,
                                               0x7fff,
                                               0xffff,
                                               0x7fffffff,
                                               0x80000000,
                                               0xffffffff,
                                               0x7fffffffffffffff,
                                               0xffffffffffffffff};
  const std::uint64_t number = kNumbers[below(random, std::size(kNumbers))];
  const std::size_t width = std::size_t{1} << below(random, 4);
  if (input.size() < width) return;
  std::memcpy(input.data() + below(random, input.size() - width + 1), &number, width);
}

void mutate(Input& input, Random& random, const std::vector<Input>& seeds) {
  const auto at = [&](std::size_t place) { return input.begin() + static_cast<std::ptrdiff_t>(place); };
  switch (random() % 7) {
    case 0:
      if (!input.empty())
        input[below(random, input.size())] ^= static_cast<std::uint8_t>(1u << (random() % 8));
      break;
    case 1:
      if (!input.empty()) input[below(random, input.size())] = static_cast<std::uint8_t>(random());
      break;
    case 2:
      plant_number(input, random);
      break;
    case 3:
      input.resize(below(random, input.size() + 1));
      break;
    case 4: {
      const Input extra = noise(random);
      input.insert(at(below(random, input.size() + 1)), extra.begin(), extra.end());
      break;
    }
    case 5: {
      const std::size_t from = below(random, input.size());
      const std::size_t count = below(random, input.size() - from + 1);
      input.erase(at(from), at(from + count));
      break;
    }
    default: {
      const Input& other = seeds[below(random, seeds.size())];
      input.insert(input.end(), other.begin(), other.end());
      break;
    }
  }
}

Input make_input(std::uint64_t number, const std::vector<Input>& seeds) {
  Random random{number};
  if (seeds.empty() || random() % 8 == 0) return noise(random);
  Input input = seeds[below(random, seeds.size())];
  for (auto rounds = 1 + random() % 6; rounds > 0; --rounds) mutate(input, random, seeds);
  input.resize(std::min(input.size(), kInputBytesMax));
  return input;
}

std::uint64_t number_of(int argc, char** argv, int at, std::uint64_t fallback) {
  return argc > at ? std::strtoull(argv[at], nullptr, 10) : fallback;
}

}  // namespace

int main(int argc, char** argv) {
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, on_signal);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(say_what_ran);

  const std::vector<Input> seeds = load_seeds(argc > 1 ? argv[1] : "");
  const std::uint64_t first = number_of(argc, argv, 2, 0);
  const std::uint64_t count = number_of(argc, argv, 3, kInputs);
  for (std::uint64_t number = first; number < first + count; ++number) {
    std::snprintf(g_running.data(), g_running.size(), "replay: input %llu\n",
                  static_cast<unsigned long long>(number));
    run(make_input(number, seeds));
  }
  std::printf("replayed %zu seeds and %llu inputs\n", seeds.size(), static_cast<unsigned long long>(count));
  return 0;
}
