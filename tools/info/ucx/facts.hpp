// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "info/options.hpp"
#include "weft/detail/base/result.hpp"

namespace weft::info {

/// A transport of UCX on a device.
struct UcxResource {
  std::string transport;
  std::string device;
  friend bool operator==(const UcxResource&, const UcxResource&) = default;
};

/// A setting of UCX in effect, with its name as the environment would have it.
struct UcxSetting {
  std::string name;
  std::string value;
  /// Value that UCX uses when nobody sets it; empty when UCX does not tell.
  std::string usual;
  bool differs() const { return value != usual; }
};

/// UCX as this build and this machine have it.
struct UcxFacts {
  std::string version;           ///< of the library that is loaded
  std::string compiled_version;  ///< of the headers that Weft was compiled with
  std::vector<UcxResource> resources;
  std::vector<UcxSetting> settings;
};

/// Finds the settings that Weft's transport would work with. Changes the environment for a moment: for a
/// thread that is alone. Errors: kUnimplemented in a build without UCX; those of making a context.
Result<UcxFacts> ucx_facts(const Options& options);

/// The resources in what ucx::Context::description() gives.
std::vector<UcxResource> parse_resources(std::string_view description);

/// Lines of "NAME=value"; comments and empty lines are left out.
std::vector<std::pair<std::string, std::string>> parse_settings(std::string_view lines);

}  // namespace weft::info
