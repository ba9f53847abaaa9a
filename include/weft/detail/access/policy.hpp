// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/access/file_options.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/gate/authorizer.hpp"
#include "weft/detail/transport/identity.hpp"

namespace weft {

/// Rules that allow callers to call methods. A line is a rule, and calls that no rule allows are refused:
///
///     # Comment
///     allow WHO METHOD...
///
/// WHO stands for one of
///     anyone                   also callers without an identity
///     known                    every caller with an identity
///     spiffe://DOMAIN/PATH     certificates with this SPIFFE id; a * is not in the domain
///     dns:HOST                 certificates with this DNS name; a * only as in dns:*.example.com
///     uri:URI, cn:NAME, subject:NAME    certificates with these
///     uid:NUMBER, gid:NUMBER   processes at the other end of a Unix socket
///     token:NAME               the caller that a token stands for
///     group:NAME, role:NAME    further names from an Authenticator
/// METHOD is a name as it was registered: "add", "package.Service/Method". In both * stands for any
/// characters, also none. Text with spaces stands in double quotes, in which only * has a meaning.
///
/// A value. Thread: any.
class Policy {
 public:
  /// Errors: kInvalidArgument, whose text begins with the line's number and names the fault; also for a text
  /// without a rule, since a file is empty while it is written. Throws std::bad_alloc.
  static Result<Policy> parse(std::string_view text);

  bool allows(const Identity& caller, std::string_view method) const noexcept;
  /// A rule allows `caller` every method, by a * alone.
  bool allows_everything(const Identity& caller) const noexcept;
  std::size_t rules() const noexcept { return rules_.size(); }

  static constexpr std::size_t kTextBytesMax = std::size_t{1} << 20;
  static constexpr std::size_t kRulesMax = 10'000;

 private:
  struct Rule {
    std::string who;
    std::vector<std::string> methods;
  };
  static bool is_about(const Rule& rule, const Identity& caller) noexcept;

  std::vector<Rule> rules_;
};

/// Makes the Authorizer of `policy`. For unknown methods it decides by allows_everything(). Throws
/// std::bad_alloc.
std::shared_ptr<Authorizer> authorize_by(Policy policy);

/// Makes an Authorizer from the policy in a file, which is read again when it has changed. An unreadable or
/// invalid file changes nothing: the last valid policy stays, and the log reports line and reason. Errors:
/// those of the first reading (errno), kInvalidArgument for an invalid file: "FILE:LINE: ...".
Result<std::shared_ptr<Authorizer>> policy_file(std::string path, const AccessFileOptions& options = {});

}  // namespace weft
