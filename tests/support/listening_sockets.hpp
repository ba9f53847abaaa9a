// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <system_error>

namespace weft::testing {

/// Inodes of the sockets that this process holds.
inline std::set<std::string> own_socket_inodes() {
  constexpr std::string_view kBefore = "socket:[";
  std::set<std::string> inodes;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.starts_with(kBefore))
      inodes.insert(target.substr(kBefore.size(), target.size() - kBefore.size() - 1));
  }
  return inodes;
}

/// An address as the kernel prints it there: words of 32 bits in the machine's order, in hexadecimal digits.
inline std::string address_of_kernel(const std::string& text) {
  std::array<std::uint32_t, 4> words{};
  const std::size_t colon = text.find(':');
  for (std::size_t i = 0; i < colon / 8; ++i) {
    words[i] = static_cast<std::uint32_t>(std::stoul(text.substr(i * 8, 8), nullptr, 16));
  }
  char printed[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(colon == 8 ? AF_INET : AF_INET6, words.data(), printed, sizeof printed);
  return printed + (":" + std::to_string(std::stoul(text.substr(colon + 1), nullptr, 16)));
}

/// Returns where this process listens by TCP, whoever opened it: "127.0.0.1:4242", "::1:4242".
inline std::multiset<std::string> listening_sockets() {
  constexpr std::string_view kListen = "0A";
  std::multiset<std::string> listening;
  const std::set<std::string> own = own_socket_inodes();
  for (const char* const table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines{table};
    std::string line;
    while (std::getline(lines, line)) {
      std::istringstream columns{line};
      std::string number, local, remote, state, queues, timer, retransmits, user, timeout, inode;
      columns >> number >> local >> remote >> state >> queues >> timer >> retransmits >> user >> timeout >>
          inode;
      if (state == kListen && own.contains(inode)) listening.insert(address_of_kernel(local));
    }
  }
  return listening;
}

}  // namespace weft::testing
