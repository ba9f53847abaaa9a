// SPDX-License-Identifier: Apache-2.0
#include "load/cpu.hpp"

#include <sched.h>
#include <sys/resource.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <ctime>
#include <string>

namespace weft::load {
namespace {

constexpr int kCpusMax = CPU_SETSIZE;

Status bad_list(std::string_view text) {
  return {StatusCode::kInvalidArgument, Layer::kNone,
          "'" + std::string{text} + "' is not a list of processors; write 0 or 0,2 or 0-3"};
}

bool parse_number(std::string_view& text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0 || number >= kCpusMax) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool skip(std::string_view& text, char expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

Result<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  std::string_view rest = text;
  do {
    int first = 0;
    if (!parse_number(rest, first)) return bad_list(text);
    int last = first;
    if (skip(rest, '-') && (!parse_number(rest, last) || last < first)) return bad_list(text);
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  } while (skip(rest, ','));
  if (!rest.empty()) return bad_list(text);
  return cpus;
}

Status pin_this_thread(const std::vector<int>& cpus, std::size_t index) {
  if (cpus.empty()) return {};
  const int cpu = cpus[index % cpus.size()];
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  if (sched_setaffinity(0, sizeof set, &set) == 0) return {};
  return {StatusCode::kInvalidArgument, Layer::kNone,
          "cannot run on processor " + std::to_string(cpu) + ": " + std::strerror(errno) +
              "; choose others with --cpus (nproc says how many there are)",
          errno};
}

std::int64_t process_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace weft::load
