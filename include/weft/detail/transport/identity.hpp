// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft {

/// Proven identity of the peer of a connection, or of the caller of a call. A value: copies share its
/// content, and it may outlive the connection. Creating one throws std::bad_alloc; all other functions throw
/// nothing. Thread: any.
class Identity {
 public:
  enum class Kind : std::uint8_t {
    kAnonymous,    ///< nothing was proven
    kCertificate,  ///< a certificate of TLS that was checked
    kUnixProcess,  ///< what the system says of the other end of a Unix socket, when it connected
    kToken,        ///< an Authenticator has found it out
  };

  /// Contents of a certificate, as written by its issuer: untrusted text.
  struct Certificate {
    /// Subject as RFC 4514 writes it: "CN=batch,O=Example".
    std::string subject{};
    std::string common_name{};
    std::vector<std::string> dns_names{};
    std::vector<std::string> uris{};
  };
  /// Process at the other end of a Unix socket.
  struct Process {
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    std::int32_t pid = 0;
  };

  /// The anonymous identity.
  Identity() noexcept = default;
  /// Returns the identity of a verified certificate. Unusable names are left out: empty or overlong ones,
  /// names with control characters, names other than the subject with anything beyond ASCII, and names beyond
  /// kNamesMax. A name that is left out grants no right.
  static Identity of_certificate(const Certificate& contents);
  static Identity of_process(const Process& process);
  /// Returns the identity that an Authenticator has determined. `more` are further names for rules, with
  /// their prefix: "group:operators".
  static Identity of_token(std::string_view subject, std::vector<std::string> more = {});

  Kind kind() const noexcept { return facts_ != nullptr ? facts_->kind : Kind::kAnonymous; }
  bool is_anonymous() const noexcept { return facts_ == nullptr; }
  /// Returns the subject of a certificate or of a token; otherwise an empty text. Valid as long as a copy of
  /// this identity exists; so are the results of the following functions.
  std::string_view subject() const noexcept {
    return facts_ != nullptr ? facts_->subject : std::string_view{};
  }
  std::span<const std::string> dns_names() const noexcept;
  std::span<const std::string> uris() const noexcept;
  /// The one URI of the certificate if that is a SPIFFE id; else empty.
  std::string_view spiffe_id() const noexcept {
    return facts_ != nullptr ? facts_->spiffe : std::string_view{};
  }
  /// Zeros unless it is a process.
  Process process() const noexcept { return facts_ != nullptr ? facts_->process : Process{}; }

  /// All names that rules can be about, the most telling first: "spiffe://prod/batch", "dns:batch.example",
  /// "uri:https://example/batch", "cn:batch", "subject:CN=batch,O=Example"; "uid:1000", "gid:100";
  /// "token:ann".
  std::span<const std::string> names() const noexcept;
  /// The first of them, for people and logs; "anonymous" without one.
  std::string_view name() const noexcept;
  /// True if both were created by the same call, so that all their content is equal.
  bool is(const Identity& other) const noexcept { return facts_ == other.facts_; }

  static constexpr std::size_t kNamesMax = 64;
  static constexpr std::size_t kNameBytesMax = 2048;

 private:
  struct Facts {
    Kind kind = Kind::kAnonymous;
    std::string subject{};
    std::vector<std::string> dns_names{};
    std::vector<std::string> uris{};
    std::string spiffe{};
    Process process{};
    std::vector<std::string> names{};
  };
  explicit Identity(std::shared_ptr<const Facts> facts) noexcept : facts_(std::move(facts)) {}

  std::shared_ptr<const Facts> facts_;
};

/// Returns its word for people: "certificate".
std::string_view to_string(Identity::Kind kind);

}  // namespace weft
