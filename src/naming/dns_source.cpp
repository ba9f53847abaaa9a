// SPDX-License-Identifier: Apache-2.0
#include <ares.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <sys/time.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "naming/endpoint_text.hpp"
#include "naming/first_turn.hpp"
#include "naming/long_answers.hpp"
#include "naming/name_source.hpp"
#include "naming/socket_watches.hpp"
#include "naming/srv_answer.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/limits/backoff.hpp"
#include "weft/detail/runtime/sleep.hpp"

namespace weft::detail {

namespace {

constexpr std::size_t kNameBytesMax = 255;
/// Targets of SRV records whose addresses are asked for.
constexpr std::size_t kTargetsMax = 256;
/// An address as text, about.
constexpr std::size_t kBytesOfEndpoint = 24;

/// c-ares knows no error here that does not come from the network or from a name.
Status dns_failure(int code, std::string_view name) {
  return {StatusCode::kUnavailable, Layer::kRuntime,
          "no answer of DNS about " + std::string{name} + ": " + ares_strerror(code) +
              "; see that the name is right and the DNS server runs",
          code};
}

struct DnsName {
  std::string name;
  /// Zero for SRV, whose records have ports.
  std::uint16_t port = 0;
};

/// Asks DNS by c-ares on the loop, again when the TTL of the answer has passed.
class DnsSource final : public NameSource, private Timer {
 public:
  DnsSource(Loop& loop, NameBoard& board, DnsName name)
      : loop_(loop),
        board_(board),
        name_(std::move(name)),
        backoff_(board.options().backoff_min, board.options().backoff_max),
        sockets_(loop, [this](int fd, bool readable, bool writable) {
          ares_process_fd(channel_, readable ? fd : ARES_SOCKET_BAD, writable ? fd : ARES_SOCKET_BAD);
          arm_timeout();
        }) {}
  ~DnsSource() override {
    scope_.drop_all();
    if (channel_ != nullptr) ares_destroy(channel_);
  }

  Result<void> begin() {
    static const int library = ares_library_init(ARES_LIB_INIT_ALL);
    ares_options options{};
    // The second try waits twice as long as the first.
    const auto timeout =
        std::chrono::duration_cast<std::chrono::milliseconds>(board_.options().request_timeout) / 3;
    options.timeout = static_cast<int>(std::clamp<std::int64_t>(timeout.count(), 1, 600'000));
    options.tries = 2;
    options.sock_state_cb = [](void* self, ares_socket_t fd, int read, int write) {
      static_cast<DnsSource*>(self)->sockets_.set(fd, read != 0, write != 0);
    };
    options.sock_state_cb_data = this;
    const int made = library != ARES_SUCCESS
                         ? library
                         : ares_init_options(&channel_, &options,
                                             ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB);
    if (made != ARES_SUCCESS) {
      channel_ = nullptr;
      return dns_failure(made, name_.name).with_context("c-ares does not start");
    }
    const std::string& servers = board_.options().dns_servers;
    if (!servers.empty() && ares_set_servers_ports_csv(channel_, servers.c_str()) != ARES_SUCCESS) {
      return bad_name("NameOptions::dns_servers is no list of addresses (127.0.0.1:5353,[::1]:53)");
    }
    first_turn_.emplace(loop_, [this] { scope_.spawn(&DnsSource::run, this); });
    return {};
  }

 private:
  static Task<void> run(DnsSource* self) {
    const NameOptions& options = self->board_.options();
    for (;;) {
      self->found_.clear();
      self->failure_ = Status{};
      self->ttl_ = options.ttl_max;
      bool answered = false;
      if (self->name_.port == 0) {
        answered = co_await self->ask_srv();
      } else {
        self->ask_addresses(self->name_.name, self->name_.port, 1);
        answered = co_await self->answers();
      }
      if (!answered) co_return;
      Duration wait = std::clamp(self->ttl_, options.ttl_min, options.ttl_max);
      // Some of several targets that have no address are as servers that are not there.
      if (!self->found_.empty() || self->failure_.ok())
        co_await self->tell();
      else if (self->failure_.code() == StatusCode::kUnavailable)
        self->board_.fail(self->failure_);
      else
        self->board_.refuse(self->failure_);
      if (self->board_.last_failure().ok()) {
        self->backoff_.reset();
      } else {
        wait = self->backoff_.next(self->loop_.random().next());
      }
      auto slept = co_await sleep_for(wait);
      if (!slept.ok()) co_return;
    }
  }

  /// Passes the addresses to the board. SRV records may have brought very many.
  Task<void> tell() {
    std::vector<Endpoint> found = std::exchange(found_, {});
    const std::size_t bytes = found.size() * kBytesOfEndpoint;
    Task<Result<JudgedList>> judging =
        long_answers_.read(bytes, &judge, std::move(found), board_.limits(), board_.list());
    Result<JudgedList> list = co_await std::move(judging);
    board_.take(list.ok() ? std::move(*list) : no_list(list.status()));
  }

  /// Waits for all answers that are pending. False when it is to end.
  Task<bool> answers() {
    while (pending_ > 0) {
      answered_.reset();
      auto waited = co_await answered_.wait();
      if (!waited.ok()) co_return false;
    }
    co_return true;
  }

  void arm_timeout() {
    timeval left{};
    timeval at_most{.tv_sec = 600, .tv_usec = 0};
    if (pending_ == 0 || ares_timeout(channel_, &at_most, &left) == nullptr) return loop_.disarm(*this);
    const auto at_least = std::chrono::milliseconds{1};  // c-ares rounds down
    loop_.arm(*this, loop_.now() + std::chrono::seconds{left.tv_sec} +
                         std::chrono::microseconds{left.tv_usec} + at_least);
  }
  void on_timer() override {
    ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    arm_timeout();
  }
  void end_one() {
    --pending_;
    answered_.set();
  }

  struct AddressQuestion {
    DnsSource* source;
    std::string name;
    std::uint16_t port;
    std::uint32_t weight;
  };

  void ask_addresses(const std::string& name, std::uint16_t port, std::uint32_t weight) {
    ++pending_;
    ares_addrinfo_hints hints{};
    hints.ai_flags = ARES_AI_NOSORT;
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    ares_getaddrinfo(channel_, name.c_str(), nullptr, &hints, &DnsSource::on_addresses,
                     new AddressQuestion{this, name, port, weight});
    arm_timeout();
  }

  static void on_addresses(void* argument, int code, int, ares_addrinfo* info) {
    const std::unique_ptr<AddressQuestion> question{static_cast<AddressQuestion*>(argument)};
    const std::unique_ptr<ares_addrinfo, decltype(&ares_freeaddrinfo)> owned{info, &ares_freeaddrinfo};
    if (code == ARES_EDESTRUCTION) return;
    DnsSource& self = *question->source;
    if (code == ARES_ENODATA) {
      // The name is there and has no address, which is an empty answer.
    } else if (code != ARES_SUCCESS || info == nullptr) {
      self.failure_ = dns_failure(code, question->name);
      if (code == ARES_EBADRESP) self.failure_ = bad_name("the DNS server's answer is malformed");
    } else {
      for (const ares_addrinfo_node* node = info->nodes; node != nullptr; node = node->ai_next)
        self.add(*node, *question);
    }
    self.end_one();
  }

  void add(const ares_addrinfo_node& node, const AddressQuestion& question) {
    // One more than is allowed, so that the board refuses it.
    if (found_.size() > board_.options().endpoints_max) return;
    char text[INET6_ADDRSTRLEN];
    std::string host;
    if (node.ai_family == AF_INET) {
      const auto* address = reinterpret_cast<const sockaddr_in*>(node.ai_addr);
      if (::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) == nullptr) return;
      host = text;
    } else if (node.ai_family == AF_INET6) {
      const auto* address = reinterpret_cast<const sockaddr_in6*>(node.ai_addr);
      if (::inet_ntop(AF_INET6, &address->sin6_addr, text, sizeof text) == nullptr) return;
      host = "[" + std::string{text} + "]";
    } else {
      return;
    }
    ttl_ = std::min<Duration>(ttl_, std::chrono::seconds{std::max(0, node.ai_ttl)});
    found_.push_back({board_.options().dns_scheme + "://" + host + ":" + std::to_string(question.port),
                      question.weight,
                      {}});
  }

  Task<bool> ask_srv() {
    constexpr int kInternet = 1;
    constexpr int kSrv = 33;
    ++pending_;
    records_.clear();
    ares_query(channel_, name_.name.c_str(), kInternet, kSrv, &DnsSource::on_srv, this);
    arm_timeout();
    bool answered = co_await answers();
    if (!answered) co_return false;
    std::uint16_t best = std::numeric_limits<std::uint16_t>::max();
    for (const SrvRecord& record : records_) best = std::min(best, record.priority);
    std::erase_if(records_,
                  [best](const SrvRecord& record) { return record.priority != best || record.port == 0; });
    if (records_.size() > kTargetsMax) {
      failure_ = {StatusCode::kResourceExhausted, Layer::kRuntime,
                  "DNS names more than 256 targets of SRV; use etcd: or file: for so many"};
      co_return true;
    }
    for (const SrvRecord& record : records_) {
      // A weight of zero means little, not nothing.
      ask_addresses(record.target, record.port, std::max<std::uint32_t>(1, record.weight));
    }
    answered = co_await answers();
    co_return answered;
  }

  static void on_srv(void* argument, int code, int, unsigned char* bytes, int size) {
    if (code == ARES_EDESTRUCTION) return;
    DnsSource& self = *static_cast<DnsSource*>(argument);
    if (code == ARES_SUCCESS) {
      auto answer = read_srv_answer({bytes, static_cast<std::size_t>(size)});
      if (answer.ok()) {
        self.ttl_ = std::min<Duration>(self.ttl_, std::chrono::seconds{answer->ttl_seconds});
        self.records_ = std::move(answer->records);
      } else {
        self.failure_ = answer.status();
      }
    } else if (code != ARES_ENODATA) {
      self.failure_ = dns_failure(code, self.name_.name);
    }
    self.end_one();
  }

  Loop& loop_;
  NameBoard& board_;
  const DnsName name_;
  Backoff backoff_;
  ares_channel channel_ = nullptr;
  std::size_t pending_ = 0;
  std::vector<SrvRecord> records_;
  std::vector<Endpoint> found_;
  Duration ttl_{};
  Status failure_;
  Event answered_;
  SocketWatches sockets_;
  LongAnswers long_answers_;
  Scope scope_;
  std::optional<FirstTurn> first_turn_;
};

Result<DnsName> parse_dns_name(std::string_view rest) {
  constexpr std::string_view kOfName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  if (rest.starts_with("//")) rest.remove_prefix(2);
  const std::size_t colon = rest.find(':');
  DnsName parsed{.name = std::string{rest.substr(0, std::min(colon, rest.size()))}};
  const bool is_name = !parsed.name.empty() && parsed.name.size() <= kNameBytesMax &&
                       parsed.name.find_first_not_of(kOfName) == std::string::npos;
  if (colon == rest.npos) {
    if (is_name && parsed.name.starts_with('_')) return parsed;
  } else if (is_name && !parsed.name.starts_with('_')) {
    const std::string_view port = rest.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), parsed.port);
    if (error == std::errc{} && end == port.data() + port.size() && parsed.port != 0) return parsed;
  }
  return bad_name(
      "behind dns: stands neither a name with a port nor one of SRV (dns://kv.example.org:9000, "
      "dns:_kv._tcp.example.org)");
}

}  // namespace

MadeSource make_dns_source(Loop& loop, NameBoard& board, std::string_view rest) {
  auto name = parse_dns_name(rest);
  if (!name.ok()) return std::move(name).status();
  auto source = std::make_unique<DnsSource>(loop, board, std::move(*name));
  if (auto begun = source->begin(); !begun.ok()) return std::move(begun).status();
  return source;
}

}  // namespace weft::detail
