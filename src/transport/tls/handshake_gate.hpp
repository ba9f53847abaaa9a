// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "transport/tls/credentials.hpp"
#include "weft/detail/limits/rate_limiters.hpp"
#include "weft/detail/limits/token_bucket.hpp"

namespace weft::detail::tls {

/// Lets through what the rates of TlsOptions allow a listener to take. Memory is taken by the constructor
/// only. Thread: the listener's.
class HandshakeGate {
 public:
  HandshakeGate(std::shared_ptr<Credentials> credentials, std::string url, TimePoint now);

  /// Returns false if the peer at `endpoint` must be closed, which is counted, and logged at most once a
  /// second.
  bool admits(const std::string& endpoint, TimePoint now) noexcept;

 private:
  void note(TimePoint now) noexcept;

  const std::shared_ptr<Credentials> credentials_;
  const std::string url_;
  std::optional<TokenBucket> all_;
  std::optional<RateLimiters> of_address_;
  std::uint64_t refused_ = 0;  ///< since the last line in the log
  TimePoint next_line_{};
};

}  // namespace weft::detail::tls
