// SPDX-License-Identifier: Apache-2.0
// Handshakes of TLS per second, full and resumed, each with one small exchange, by Weft and by a bare loop of
// OpenSSL; the memory of idle connections; and calls while a thousand clients connect. Server on the first
// processor, client on the second.
#include <arpa/inet.h>
#include <malloc.h>
#include <netinet/tcp.h>
#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "certs/authority.hpp"
#include "load/cpu.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

// What OpenSSL has allocated since it is counted: two threads that count are slowed down by each other.
std::atomic<bool> counts{false};
std::atomic<long> openssl_bytes{0};

void* counted(void* memory) {
  if (memory != nullptr && counts) openssl_bytes += static_cast<long>(malloc_usable_size(memory));
  return memory;
}
void* allocate(std::size_t bytes, const char*, int) {
  return counted(std::malloc(bytes));
}
void release(void* memory, const char*, int) {
  if (memory != nullptr && counts) openssl_bytes -= static_cast<long>(malloc_usable_size(memory));
  std::free(memory);
}
void* reallocate(void* memory, std::size_t bytes, const char*, int) {
  if (memory != nullptr && counts) openssl_bytes -= static_cast<long>(malloc_usable_size(memory));
  return counted(std::realloc(memory, bytes));
}

long all_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<long>(info.uordblks + info.hblkhd);
}

std::string echo(std::string_view text) {
  return std::string{text};
}

void pin(int cpu) {
  static_cast<void>(load::pin_this_thread({cpu}, 0));
}

void need(bool well, const char* what) {
  if (well) return;
  std::fprintf(stderr, "tls_handshakes: %s failed\n", what);
  std::exit(1);
}

struct Free {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

/// OpenSSL and nothing else: a server that is one loop of epoll, and clients on blocking sockets.
class Bare {
 public:
  explicit Bare(const std::string& folder)
      : server_(SSL_CTX_new(TLS_server_method())), client_(SSL_CTX_new(TLS_client_method())) {
    need(SSL_CTX_use_certificate_chain_file(server_.get(), (folder + "/server.pem").c_str()) == 1,
         "certificate");
    need(SSL_CTX_use_PrivateKey_file(server_.get(), (folder + "/server.key").c_str(), SSL_FILETYPE_PEM) == 1,
         "key");
    need(SSL_CTX_load_verify_file(client_.get(), (folder + "/ca.pem").c_str()) == 1, "CA");
    SSL_CTX_set_session_cache_mode(server_.get(), SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(server_.get(), 1);
    SSL_CTX_set_verify(client_.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_session_cache_mode(client_.get(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(client_.get(), [](SSL*, SSL_SESSION* session) {
      kept.reset(session);
      return 1;
    });
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    at_.sin_family = AF_INET;
    at_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at_;
    need(::bind(listener_, reinterpret_cast<sockaddr*>(&at_), length) == 0 && ::listen(listener_, 128) == 0,
         "listen");
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at_), &length);
    thread_ = std::thread{[this] { serve(); }};
  }
  ~Bare() {
    ends_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
    ::close(epoll_);
  }

  void connect(bool resumes) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    no_delay(fd);
    need(::connect(fd, reinterpret_cast<sockaddr*>(&at_), sizeof at_) == 0, "connect");
    const Owned<SSL> ssl{SSL_new(client_.get())};
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), "127.0.0.1");
    if (resumes && kept != nullptr) SSL_set_session(ssl.get(), kept.get());
    SSL_set_fd(ssl.get(), fd);
    need(SSL_connect(ssl.get()) == 1, "handshake");
    char byte = 'x';
    need(SSL_write(ssl.get(), &byte, 1) == 1 && SSL_read(ssl.get(), &byte, 1) == 1, "exchange");
    SSL_shutdown(ssl.get());
    ::close(fd);
  }

 private:
  static void no_delay(int fd) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  struct Peer {
    int fd;
    Owned<SSL> ssl;
    bool has_shaken_hands = false;
  };

  void watch(int fd, Peer* peer) {
    epoll_event wanted{.events = EPOLLIN, .data = {.ptr = peer}};
    need(::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &wanted) == 0, "epoll");
  }
  void accept_one() {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    no_delay(fd);
    auto* const peer = new Peer{fd, Owned<SSL>{SSL_new(server_.get())}};
    SSL_set_fd(peer->ssl.get(), fd);
    SSL_set_accept_state(peer->ssl.get());
    watch(fd, peer);
  }
  static void answer(Peer* peer) {
    if (!peer->has_shaken_hands) {
      const int done = SSL_accept(peer->ssl.get());
      peer->has_shaken_hands = done == 1;
      if (done != 1 && SSL_get_error(peer->ssl.get(), done) == SSL_ERROR_WANT_READ) return;
    }
    char byte;
    int got;
    while ((got = SSL_read(peer->ssl.get(), &byte, 1)) == 1) SSL_write(peer->ssl.get(), &byte, 1);
    if (SSL_get_error(peer->ssl.get(), got) == SSL_ERROR_WANT_READ) return;
    if (peer->has_shaken_hands) SSL_shutdown(peer->ssl.get());
    ::close(peer->fd);
    delete peer;
  }
  void serve() {
    pin(0);
    watch(listener_, nullptr);
    while (!ends_) {
      std::array<epoll_event, 64> events{};
      const int ready = ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < ready; ++i) {
        auto* const peer = static_cast<Peer*>(events[static_cast<std::size_t>(i)].data.ptr);
        peer == nullptr ? accept_one() : answer(peer);
      }
    }
  }

  static inline Owned<SSL_SESSION> kept;
  const Owned<SSL_CTX> server_;
  const Owned<SSL_CTX> client_;
  int listener_ = -1;
  const int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  std::atomic<bool> ends_{false};
  sockaddr_in at_{};
  std::thread thread_;
};

/// A server of Weft and clients on the calling thread's loop.
class Ours {
 public:
  explicit Ours(const std::string& folder, const char* url = "tls://127.0.0.1:0")
      : loop_(Loop::create({.mode = WaitMode::kWait}).value()) {
    TransportOptions options;
    options.tls.certificates = {{.chain_file = folder + "/server.pem", .key_file = folder + "/server.key"}};
    server_ = std::make_unique<Server>(
        ServerOptions{.listen = {url}, .threads = 1, .cpus = {0}, .loop_options = {.mode = WaitMode::kWait}},
        std::move(options));
    server_->register_handler<echo>();
    need(server_->start().ok(), "start");
    TlsOptions of_client{.ca_file = folder + "/ca.pem"};
    resuming_ = std::make_shared<TlsCredentials>(of_client);
    of_client.sessions_max = 0;
    full_ = std::make_shared<TlsCredentials>(of_client);
  }

  std::unique_ptr<Client> client(Loop& loop, bool resumes) {
    TransportOptions options;
    options.tls_credentials = resumes ? resuming_ : full_;
    return std::make_unique<Client>(loop, ClientOptions{.connect = server_->urls().front()},
                                    std::move(options));
  }
  void connect(bool resumes) {
    const auto caller = client(*loop_, resumes);
    need(loop_->block_on(caller->start<echo>("x")).ok(), "call");
  }
  Loop& loop() { return *loop_; }

 private:
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<TlsCredentials> resuming_;
  std::shared_ptr<TlsCredentials> full_;
};

// The processor's time that threads other than this one have used: the server's.
std::int64_t others_cpu_ns() {
  const auto read = [](clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  };
  return read(CLOCK_PROCESS_CPUTIME_ID) - read(CLOCK_THREAD_CPUTIME_ID);
}

struct Pace {
  double per_second = 0;
  /// Microseconds of the server's processor, for one.
  double server_us = 0;
};

template <typename Connects>
Pace pace_of(Connects& connects, bool resumes) {
  const std::int64_t cpu = others_cpu_ns();
  const std::int64_t begin = load::now_ns();
  std::int64_t end = begin;
  int count = 0;
  for (; end < begin + 400'000'000; ++count, end = load::now_ns()) connects.connect(resumes);
  return {count * 1e9 / static_cast<double>(end - begin),
          static_cast<double>(others_cpu_ns() - cpu) / 1000 / count};
}

/// The middle of some numbers, and their ends.
class Middle {
 public:
  void add(double number) { numbers_.insert(std::ranges::upper_bound(numbers_, number), number); }
  double value() const { return numbers_[numbers_.size() / 2]; }
  double least() const { return numbers_.front(); }
  double most() const { return numbers_.back(); }

 private:
  std::vector<double> numbers_;
};

void compare_rates(const std::string& folder) {
  Bare bare{folder};
  Ours ours{folder};
  for (const bool resumes : {false, true}) {
    Middle rate, ratio, server, server_ratio;
    for (int round = 0; round < 9; ++round) {
      const Pace limit = pace_of(bare, resumes);
      const Pace pace = pace_of(ours, resumes);
      rate.add(pace.per_second);
      ratio.add(pace.per_second / limit.per_second);
      server.add(pace.server_us);
      server_ratio.add(limit.server_us / pace.server_us);
    }
    std::printf("%s handshakes with an exchange: %.0f /s, %.2f of OpenSSL alone (%.2f to %.2f)\n",
                resumes ? "resumed" : "full", rate.value(), ratio.value(), ratio.least(), ratio.most());
    std::printf("  by the server's processor: %.0f us each, %.2f as many in a second (%.2f to %.2f)\n",
                server.value(), server_ratio.value(), server_ratio.least(), server_ratio.most());
  }
}

void weigh_idle(const std::string& folder, const char* url) {
  constexpr long kConnections = 1000;
  counts = true;
  Ours ours{folder, url};
  ours.connect(false);
  const long openssl_before = openssl_bytes;
  const long before = all_bytes();
  std::vector<std::unique_ptr<Client>> idle;
  for (long i = 0; i < kConnections; ++i) {
    idle.push_back(ours.client(ours.loop(), false));
    need(ours.loop().block_on(idle.back()->start<echo>("x")).ok(), "call");
  }
  // OpenSSL's buffers are given back when there was no record for a second or two.
  need(ours.loop().block_on(sleep_for(std::chrono::milliseconds{2500})).ok(), "sleep");
  std::printf("an idle connection of %.3s, both ends: %ld B, of these OpenSSL's %ld B\n", url,
              (all_bytes() - before) / kConnections, (openssl_bytes - openssl_before) / kConnections);
}

void call_beside_connects(const std::string& folder) {
  Ours ours{folder};
  const auto caller = ours.client(ours.loop(), false);
  std::vector<double> micros;
  micros.reserve(1 << 20);
  const auto call_once = [&] {
    const std::int64_t begin = load::now_ns();
    need(ours.loop().block_on(caller->start<echo>("x")).ok(), "call");
    micros.push_back(static_cast<double>(load::now_ns() - begin) / 1000);
  };
  const auto tell = [&](const char* when) {
    std::ranges::sort(micros);
    std::printf("calls %s: %zu, p50 %.0f us, p99 %.0f us, max %.0f us\n", when, micros.size(),
                micros[micros.size() / 2], micros[micros.size() * 99 / 100], micros.back());
    micros.clear();
  };
  for (int i = 0; i < 5000; ++i) call_once();
  tell("alone");
  std::atomic<bool> done{false};
  std::thread others{[&] {
    pin(1);
    const auto loop = Loop::create({.mode = WaitMode::kWait}).value();
    std::vector<std::unique_ptr<Client>> clients;
    std::vector<Call<std::string>> calls;
    for (int i = 0; i < 1000; ++i) {
      clients.push_back(ours.client(*loop, false));
      calls.push_back(clients.back()->start<echo>("x"));
    }
    for (auto& call : calls) {
      const Result<std::string> answer = loop->block_on(std::move(call));
      need(answer.ok(), answer.status().to_string().c_str());
    }
    done = true;
  }};
  while (!done) call_once();
  others.join();
  tell("while 1,000 clients connect");
}

int run() {
  need(CRYPTO_set_mem_functions(allocate, reallocate, release) == 1, "counting");
  load::raise_file_limit();
  char name[] = "/tmp/weft-tls-XXXXXX";
  need(::mkdtemp(name) != nullptr, "a folder");
  const auto made = certs::blocking_make({.folder = name});
  need(made.ok(), "weft certs");
  pin(1);
  compare_rates(name);
  weigh_idle(name, "tcp://127.0.0.1:0");
  weigh_idle(name, "tls://127.0.0.1:0");
  call_beside_connects(name);
  for (const std::string& file : *made) ::unlink(file.c_str());
  ::rmdir(name);
  return 0;
}

}  // namespace
}  // namespace weft

int main() {
  return weft::run();
}
