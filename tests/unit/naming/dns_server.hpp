// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/base/descriptor.hpp"
#include "weft/detail/runtime/fd_watch.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft {

constexpr std::uint16_t kA = 1;
constexpr std::uint16_t kAaaa = 28;
constexpr std::uint16_t kSrv = 33;

inline std::string big_endian(std::uint32_t number, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(number >> (8 * i) & 0xff);
  return text;
}

inline std::string dns_name(std::string_view name) {
  std::string text;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('.'), name.size());
    text += static_cast<char>(end);
    text += name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return text + '\0';
}

struct DnsRecord {
  std::string name;
  std::uint16_t type;
  std::uint32_t ttl;
  std::string data;
};

inline DnsRecord a_record(std::string name, std::uint32_t ttl, const char* address) {
  in_addr number{};
  ::inet_pton(AF_INET, address, &number);
  return {std::move(name), kA, ttl, std::string(reinterpret_cast<const char*>(&number), sizeof number)};
}
inline DnsRecord aaaa_record(std::string name, std::uint32_t ttl, const char* address) {
  in6_addr number{};
  ::inet_pton(AF_INET6, address, &number);
  return {std::move(name), kAaaa, ttl, std::string(reinterpret_cast<const char*>(&number), sizeof number)};
}
inline DnsRecord srv_record(std::string name, std::uint32_t ttl, std::uint32_t priority, std::uint32_t weight,
                            std::uint32_t port, std::string_view target) {
  return {std::move(name), kSrv, ttl,
          big_endian(priority, 2) + big_endian(weight, 2) + big_endian(port, 2) + dns_name(target)};
}

/// A DNS server on a UDP port of the loopback, on the loop of its test.
class DnsServer final : private detail::FdWatch {
 public:
  enum class Mode : std::uint8_t { kAnswer, kSilent, kGarbage, kCut, kTruncated, kNoSuchName };

  explicit DnsServer(Loop& loop)
      : loop_(loop), socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size);
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    server_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    loop_.watch(*this, socket_.get()).value();
  }
  ~DnsServer() { loop_.unwatch(*this); }

  const std::string& address() const { return server_; }

  Mode mode = Mode::kAnswer;
  std::vector<DnsRecord> records;
  int questions = 0;

 private:
  void on_ready(detail::Readiness) override {
    char query[1500];
    sockaddr_in from{};
    socklen_t size = sizeof from;
    for (ssize_t got = 0; (got = ::recvfrom(socket_.get(), query, sizeof query, 0,
                                            reinterpret_cast<sockaddr*>(&from), &size)) > 0;) {
      ++questions;
      if (mode == Mode::kSilent || got < 17) continue;
      const std::string reply = answer({query, static_cast<std::size_t>(got)});
      ::sendto(socket_.get(), reply.data(), reply.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
    }
  }

  std::string answer(std::string_view query) const {
    const std::size_t name_end = query.find('\0', 12) + 1;
    const std::string question{query.substr(12, name_end + 4 - 12)};
    const std::string name = question.substr(0, question.size() - 4);
    const auto type = static_cast<std::uint16_t>(static_cast<unsigned char>(question[name.size() + 1]));
    std::string body;
    std::uint32_t count = 0;
    for (const DnsRecord& record : records) {
      if (record.type != type || dns_name(record.name) != name) continue;
      ++count;
      body += big_endian(0xc00c, 2) + big_endian(type, 2) + big_endian(1, 2) + big_endian(record.ttl, 4) +
              big_endian(static_cast<std::uint32_t>(record.data.size()), 2) + record.data;
    }
    std::uint32_t flags = 0x8180;
    if (mode == Mode::kTruncated) flags |= 0x0200;
    if (mode == Mode::kNoSuchName) flags |= 3, count = 0, body.clear();
    if (mode == Mode::kGarbage) body = std::string(40, '\xff'), count = 1;
    if (mode == Mode::kCut) body.resize(body.size() / 2);
    return std::string{query.substr(0, 2)} + big_endian(flags, 2) + big_endian(1, 2) + big_endian(count, 2) +
           big_endian(0, 4) + question + body;
  }

  Loop& loop_;
  detail::Descriptor socket_;
  std::string server_;
};

}  // namespace weft
