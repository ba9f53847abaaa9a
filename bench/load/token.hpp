// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "load/options.hpp"
#include "weft/detail/base/result.hpp"

namespace CLI {
class App;
}

namespace weft {
struct ClientOptions;
}

namespace weft::load {

/// Adds --token and --token-in-plain. The token itself is no word of a command, for those are
/// seen by everybody on the machine.
void add_token_flags(CLI::App& command, TokenFlags& flags);

/// Lets calls bring the token, if one was given. Errors: those of reading it.
Result<void> add_token(weft::ClientOptions& options, const TokenFlags& flags);

/// Returns the token for requests to `url`; empty if none was given. Errors: those of reading it, and
/// kFailedPrecondition if it would leave this host without encryption and --token-in-plain is not given.
Result<std::string> token_text(const TokenFlags& flags, const std::string& url);

/// Says what to do about `failure`, if that was for want of a right; empty else.
const char* token_hint(const Status& failure, const TokenFlags& flags);

}  // namespace weft::load
