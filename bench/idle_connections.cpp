// SPDX-License-Identifier: Apache-2.0
// Holds many idle connections and says what one costs the server in memory: resident memory of a server
// process before they came, and after each of them has made one call and fallen silent.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include <weft/weft.hpp>

namespace {

std::string_view same(std::string_view text) {
  return text;
}

/// Kibibytes of one line of a process's status, such as "VmRSS:".
long status_kib(pid_t process, std::string_view name) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with(name)) return std::atol(line.c_str() + name.size());
  }
  return -1;
}

/// The child: serves until it is killed. Writes its URL to `out`.
[[noreturn]] void serve(int out) {
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
  server.register_handler<same>();
  server.start().value();
  const std::string url = server.urls().front() + "\n";
  if (::write(out, url.data(), url.size()) < 0) std::_Exit(1);
  server.wait();
  std::_Exit(0);
}

weft::Task<bool> call_once(weft::Client& client) {
  auto answer = co_await client.call<same>("one call, then silence");
  if (!answer.ok()) std::fprintf(stderr, "%s\n", answer.status().to_string().c_str());
  co_return answer.ok();
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 10'000;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  int ends[2];
  if (::pipe(ends) != 0) return 1;
  const pid_t child = ::fork();
  if (child == 0) serve(ends[1]);
  char text[256] = {};
  const ssize_t got = ::read(ends[0], text, sizeof text - 1);
  if (got <= 0) return 1;
  const std::string url{text, static_cast<std::size_t>(got) - 1};

  bool fine = true;
  {
    auto loop = weft::Loop::create().value();
    std::vector<std::unique_ptr<weft::Client>> clients;
    long before = 0;
    for (int i = 0; i < count && fine; ++i) {
      // The first hundred warm the server's caches up.
      if (i == 100) before = status_kib(child, "VmRSS:");
      clients.push_back(std::make_unique<weft::Client>(*loop, weft::ClientOptions{.connect = url}));
      fine = loop->block_on(call_once(*clients.back()));
    }
    const long after = status_kib(child, "VmRSS:");
    std::printf("%zu idle connections: %ld KiB resident before, %ld after, %.0f bytes each\n", clients.size(),
                before, after, static_cast<double>(after - before) * 1024 / (count - 100));
  }
  ::kill(child, SIGTERM);
  ::waitpid(child, nullptr, 0);
  return fine ? 0 : 1;
}
