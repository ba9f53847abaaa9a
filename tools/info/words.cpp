// SPDX-License-Identifier: Apache-2.0
#include "info/words.hpp"

#include <chrono>

namespace weft::info {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ",") + name;
  return all.empty() ? "UCX chooses" : all;
}

std::string size_text(std::size_t bytes) {
  if (bytes >= 1024 * 1024 && bytes % (1024 * 1024) == 0)
    return std::to_string(bytes / (1024 * 1024)) + " MiB";
  if (bytes >= 1024 && bytes % 1024 == 0) return std::to_string(bytes / 1024) + " KiB";
  return std::to_string(bytes) + " B";
}

}  // namespace

std::string policy_name(PathPolicy policy) {
  switch (policy) {
    case PathPolicy::kPrefer:
      return "prefer";
    case PathPolicy::kRequire:
      return "require";
    case PathPolicy::kForbid:
      break;
  }
  return "forbid";
}

UcxOptions ucx_options(const Options& options) {
  UcxOptions ucx;
  if (options.prefer_ucx) ucx.connecting = PathPolicy::kPrefer;
  ucx.transports = options.transports;
  ucx.devices = options.devices;
  if (options.mode_none) ucx.error_mode = UcxErrorMode::kNone;
  return ucx;
}

std::vector<Word> effective_options(const Options& options) {
  const UcxOptions ucx = ucx_options(options);
  const auto milliseconds = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(ucx.bring_up_timeout).count());
  return {{"connecting", policy_name(ucx.connecting)},
          {"listening", policy_name(ucx.listening)},
          {"transports", joined(ucx.transports)},
          {"devices", joined(ucx.devices)},
          {"error_mode", ucx.error_mode == UcxErrorMode::kPeer ? "peer" : "none"},
          {"window_bytes", size_text(ucx.window_bytes), ucx.window_bytes},
          {"message_bytes", size_text(ucx.message_bytes), ucx.message_bytes},
          {"rendezvous_bytes_min", size_text(ucx.rendezvous_bytes_min), ucx.rendezvous_bytes_min},
          {"bring_up_timeout_ms", std::to_string(milliseconds), milliseconds}};
}

}  // namespace weft::info
