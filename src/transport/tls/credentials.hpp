// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "transport/tls/client_context.hpp"
#include "transport/tls/file_marks.hpp"
#include "transport/tls/server_names.hpp"
#include "transport/tls/tally.hpp"
#include "weft/detail/base/log_lines.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/transport/tls.hpp"

namespace weft::detail::tls {

/// Contents of what TlsOptions name: for servers and for clients, each when it is first asked for. Thread:
/// any.
///
/// No lock is held while the logger is called, which may ask for the same credentials. In a turn of a loop
/// the loop writes the lines afterwards, because the logger may also end the caller: the client that
/// connects.
class Credentials : public std::enable_shared_from_this<Credentials> {
 public:
  explicit Credentials(TlsOptions options) : options_(std::move(options)) {}

  const TlsOptions& options() const noexcept { return options_; }
  Tally& tally() noexcept { return tally_; }

  /// Returns the state for a server's handshake that begins now. Checks the files if that is due, and blocks
  /// while changed ones are read; concurrent handshakes use the previous state. Errors: those of
  /// make_server_contexts(), when no valid files were read yet.
  Result<std::shared_ptr<ServerNames>> server(TimePoint now);
  /// The same for a client.
  Result<std::shared_ptr<ClientContext>> client(TimePoint now);
  Status reload();
  /// Returns why the files that were read last are not in use; ok when they are.
  Status last_failure() noexcept;

 private:
  void look(TimePoint now, LogLines& lines);
  Status load(LogLines& lines);
  bool look_is_due(TimePoint now);
  /// Adds last_failure() to `lines` once, then once an hour while it lasts; two different ones at least a
  /// second apart.
  void say(TimePoint now, LogLines& lines);
  static void warn(const Status& fitness, LogLines& lines);
  void write(LogLines lines) noexcept;

  const TlsOptions options_;
  Tally tally_;
  /// Held while files are read; `mutex_` is taken after it, and for moments only.
  std::mutex reading_;
  FileMarks marks_;                        ///< of the files that were read last, good or not
  FileMarks seen_;                         ///< of a change that the next look judges
  TimePoint retry_at_ = TimePoint::max();  ///< files that time may mend are read again
  std::string said_;
  TimePoint said_at_{};
  std::mutex mutex_;
  std::shared_ptr<ServerNames> server_;
  std::shared_ptr<ClientContext> client_;
  Status failure_;
  TimePoint next_look_{};
};

}  // namespace weft::detail::tls
