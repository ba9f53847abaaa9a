// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "weft/detail/access/file_options.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/gate/authenticator.hpp"
#include "weft/detail/calls/gate/client_interceptor.hpp"

namespace weft {

/// Makes an Authenticator from the tokens in a file: each line holds a name followed by a token; a # begins a
/// comment. A name may have several tokens while they are rotated. A token has at least 16 letters, digits
/// and -._~+/=. The file is read again when it has changed: a removed token is invalid from then on, also on
/// connections that used it before. An unreadable or invalid file changes nothing, and the log reports line
/// and reason, but no token. Errors: those of the first reading (errno), kInvalidArgument for an invalid
/// file: "FILE:LINE: ...".
Result<std::shared_ptr<Authenticator>> token_file(std::string path, const AccessFileOptions& options = {});

/// Says how a client sends its token.
struct BearerOptions {
  AccessFileOptions file{};
  /// Sends the token also without encryption to servers on other hosts (tcp://, ucx:// and verbs://), where
  /// everyone on the path can read it. Otherwise such a call fails with kFailedPrecondition.
  bool over_plain = false;
};

/// Makes an interceptor for ClientOptions::interceptors that sends `token` with every call, in place of any
/// other. Clients on several loops may share it. Errors: kInvalidArgument for a text that is no token.
Result<std::shared_ptr<ClientInterceptor>> bearer_token(std::string_view token,
                                                        const BearerOptions& options = {});
/// The same with the token in a file, which is read again when it has changed: calls from then on have the
/// new one. Errors: those of reading it the first time (errno), kInvalidArgument when no token is in it.
Result<std::shared_ptr<ClientInterceptor>> bearer_token_file(std::string path,
                                                             const BearerOptions& options = {});

}  // namespace weft
