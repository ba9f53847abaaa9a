// SPDX-License-Identifier: Apache-2.0
#include "info/tls/kernel_tls.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace weft::info {

namespace {

// Kernels before 5.1 say this in place of ENOTCONN; it has no name outside of the kernel.
constexpr int kNotSupported = 524;

constexpr const char* kWhyNotUsed =
    "OpenSSL encrypts in memory of Weft's, some records for each system call, and there it knows no socket "
    "whose kernel could do that";

std::string listed_by_the_kernel() {
  std::ifstream list{"/proc/sys/net/ipv4/tcp_available_ulp"};
  std::string names;
  std::getline(list, names);
  return names;
}

Word there(const KernelAnswer& answer) {
  Word word{"kernel TLS", "not here"};
  switch (answer.error) {
    case 0:
    case ENOTCONN:
    case kNotSupported:
      word.value = "here";
      return word;
    case ENOENT:
      word.note = "its module, tls, is not loaded or was not built; over TCP the kernel has " +
                  (answer.listed.empty() ? std::string{"nothing that it lists"} : answer.listed);
      return word;
    case ENOPROTOOPT:
      word.note = "the kernel lays nothing over TCP; Linux does since 4.13";
      return word;
    default:
      word.value = "not known";
      word.note = std::string{"asking the kernel failed: "} + std::strerror(answer.error);
      return word;
  }
}

}  // namespace

KernelAnswer ask_kernel() {
  constexpr char kName[] = "tls";
  KernelAnswer answer;
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::setsockopt(fd, IPPROTO_TCP, TCP_ULP, kName, sizeof kName) != 0) answer.error = errno;
  if (fd >= 0) ::close(fd);
  // Asking may have loaded the module.
  answer.listed = listed_by_the_kernel();
  return answer;
}

std::vector<Word> kernel_tls_words(const KernelAnswer& answer) {
  return {there(answer), {"used by tls://", "no", {}, kWhyNotUsed}};
}

}  // namespace weft::info
