// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "weft/detail/access/file_options.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/calls/authenticator.hpp"
#include "weft/detail/calls/client_interceptor.hpp"

namespace weft {

/// Makes an Authenticator of the tokens in a file: on each line a name and a token behind it, and comments
/// from a # on. One name may have several tokens, while they are exchanged. A token has at least 16 letters,
/// digits and -._~+/=. It is read again when it has changed: a token that is gone is not good any more, on
/// connections that had used it neither. A file that cannot be read, or has a mistake, changes nothing, and
/// the log says line and reason, and no token.
/// Errors: those of reading it the first time (errno), kInvalidArgument for its mistakes: "FILE:LINE: ...".
Result<std::shared_ptr<Authenticator>> token_file(std::string path, const AccessFileOptions& options = {});

/// Says how a client sends its token.
struct BearerOptions {
  AccessFileOptions file{};
  /// Sends it also to servers on other hosts without encryption, where whoever is on the way can take it: by
  /// tcp://, ucx:// and verbs://. Such a call fails with kFailedPrecondition otherwise.
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
