// SPDX-License-Identifier: Apache-2.0
// Names: the servers behind a name now, and as they change.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <weft/naming.hpp>

void write_servers(const std::string& path, const char* text) {
  std::ofstream{path + ".new"} << text;
  std::filesystem::rename(path + ".new", path);  // readers see the old file or the new one
}

// begin: follow
weft::Task<int> follow(weft::Loop& loop, std::string path) {
  auto watch = weft::watch_name(loop, "file:" + path);
  if (!watch.ok()) {
    std::fprintf(stderr, "%s\n", watch.status().to_string().c_str());
    co_return 1;
  }
  std::uint64_t seen = 0;
  for (int changes = 0; changes < 2; ++changes) {
    auto list = co_await watch->changed(seen);  // weft::Result<weft::NameSnapshot>
    if (!list.ok()) co_return 1;
    seen = (*list)->version;
    for (const weft::Endpoint& endpoint : (*list)->endpoints) {
      std::printf("%s weight %u\n", endpoint.url.c_str(), endpoint.weight);
    }
    if (changes == 0) write_servers(path, "tcp://10.0.0.8:9000 weight=2\n");
  }
  co_return 0;
}
// end: follow

int main() {
  const auto folder = std::filesystem::temp_directory_path() / ("weft_naming_" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string path = (folder / "servers.txt").string();
  write_servers(path, "tcp://10.0.0.8:9000\ntcp://10.0.0.7:9000 zone=a\n");
  auto loop = weft::Loop::create().value();
  const int outcome = loop->block_on(follow(*loop, path));
  std::filesystem::remove_all(folder);
  return outcome;
}
