// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "info/options.hpp"
#include "info/probe.hpp"
#include "weft/detail/wire/hello.hpp"

namespace weft {
struct TransportOptions;
}

namespace weft::info {

using Json = nlohmann::ordered_json;

/// Names of a carrier, each where it is used.
struct CarrierNames {
  detail::wire::CarrierKind kind = detail::wire::CarrierKind::kStream;  ///< in hellos
  std::string title{};                                                  ///< for people
  std::string scheme{};                                                 ///< URLs that require it begin so
  std::string prefer_flag{};                                            ///< offers it with tcp:// and unix://
  std::string beside_tls_flag{};                                        ///< offers it with tls://
};

/// One carrier as `weft info` tells of it: finds out what this machine has of it, and says that and what
/// there is to say of a connection by it, for people and as JSON. The code beside goes over the list of them
/// and knows none by name. A carrier that has nothing to say of a question leaves its function out.
class CarrierFacts {
 public:
  virtual ~CarrierFacts() = default;
  virtual CarrierNames names() const = 0;

  /// Looks at this machine. May change the environment for a moment: for a thread that is alone.
  virtual void look(const Options&) {}
  /// Returns whether something that the options ask for cannot be had. A build without the carrier that was
  /// asked nothing of it is no failure.
  virtual bool failed(const Options&) const { return false; }
  /// The facts, or the reason that there are none, under a heading. Empty: there is nothing to say.
  virtual std::string text(const Options&) const { return {}; }
  /// Adds the same as fields of the whole report.
  virtual void add_json(const Options&, Json& report) const { static_cast<void>(report); }

  /// Returns whether the options want a connection by it.
  virtual bool asked_for(const Options&) const { return false; }
  /// Hands on what the options say of it to the transports that connect.
  virtual void configure(const Options&, TransportOptions& transports) const {
    static_cast<void>(transports);
  }
  /// The consequence for it of a server on the same host, or on another one; follows "by the addresses".
  virtual std::string_view host_note(bool same_host) const {
    static_cast<void>(same_host);
    return {};
  }
  /// Says that it carries the bytes of `probe`.
  virtual std::string carries_text(const Probe& probe) const;
  /// Rows about how it carries the bytes of `probe`.
  virtual std::string probe_text(const Probe&, const Options&) const { return {}; }
  /// Adds the same as fields of the connection; also called when another carrier carries it.
  virtual void add_probe_json(const Probe&, const Options&, Json& connection) const {
    static_cast<void>(connection);
  }
};

/// Begins with the base carrier, on which every connection begins.
using Carriers = std::vector<std::unique_ptr<CarrierFacts>>;

/// The carriers in the order in which they are told of. None has looked at the machine yet.
Carriers all_carriers();

/// The carrier that the URL or a flag asks for; the last of the list when none does.
const CarrierFacts& asked_carrier(const Carriers& carriers, const Options& options);

/// The carrier of that kind; the base carrier when there is none.
const CarrierFacts& carrier_of(const Carriers& carriers, detail::wire::CarrierKind kind);

/// The carrier that carries `probe`.
const CarrierFacts& carrying(const Carriers& carriers, const Probe& probe);

/// Returns whether `status` is a failure for a command that asked for the carrier, or that did not.
bool is_failure(const Status& status, bool asked);

}  // namespace weft::info
