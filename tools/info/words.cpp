// SPDX-License-Identifier: Apache-2.0
#include "info/words.hpp"

#include <chrono>
#include <cstdlib>
#include <utility>

#include "load/carrier_options.hpp"

namespace weft::info {
namespace {

std::string joined(const std::vector<std::string>& names, const char* when_empty = "UCX chooses") {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ",") + name;
  return all.empty() ? when_empty : all;
}

std::string size_text(std::size_t bytes) {
  if (bytes >= 1024 * 1024 && bytes % (1024 * 1024) == 0)
    return std::to_string(bytes / (1024 * 1024)) + " MiB";
  if (bytes >= 1024 && bytes % 1024 == 0) return std::to_string(bytes / 1024) + " KiB";
  return std::to_string(bytes) + " B";
}

Word count_word(std::string name, std::size_t count) {
  return {std::move(name), std::to_string(count), count};
}

Word size_word(std::string name, std::size_t bytes) {
  return {std::move(name), size_text(bytes), bytes};
}

// The URL has a say too.
Word policy_word(std::string name, CarrierPolicy policy, const std::string& url) {
  const char* const of_url = name == "connecting" ? " URL requires it" : " URL offers it";
  Word word{std::move(name), policy_name(policy)};
  if (policy == CarrierPolicy::kForbid) word.note = "with tcp:// and unix://; a " + url + of_url;
  return word;
}

// What options leave open the environment may have closed.
Word choice_word(std::string name, const std::vector<std::string>& names, const char* variable) {
  Word word{std::move(name), joined(names)};
  const char* const given = std::getenv(variable);
  if (names.empty() && given != nullptr) {
    word.note = "from what the environment leaves: " + std::string{variable} + "=" + given;
  }
  return word;
}

Word milliseconds_word(std::string name, Duration time) {
  const auto milliseconds =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
  return {std::move(name), std::to_string(milliseconds), milliseconds};
}

}  // namespace

std::string policy_name(CarrierPolicy policy) {
  switch (policy) {
    case CarrierPolicy::kPrefer:
      return "prefer";
    case CarrierPolicy::kRequire:
      return "require";
    case CarrierPolicy::kForbid:
      break;
  }
  return "forbid";
}

std::vector<Word> effective_options(const Options& options) {
  const UcxOptions ucx = load::ucx_options(options.ucx);
  return {policy_word("connecting", ucx.connecting, "ucx://"),
          policy_word("listening", ucx.listening, "ucx://"),
          choice_word("transports", ucx.transports, "UCX_TLS"),
          choice_word("devices", ucx.devices, "UCX_NET_DEVICES"),
          {"trusted_network", ucx.trusted_network ? "yes" : "no"},
          {"error_mode", ucx.error_mode == UcxErrorMode::kPeer ? "peer" : "none"},
          size_word("window_bytes", ucx.window_bytes),
          size_word("message_bytes", ucx.message_bytes),
          size_word("rendezvous_bytes_min", ucx.rendezvous_bytes_min),
          milliseconds_word("bring_up_timeout_ms", ucx.bring_up_timeout)};
}

detail::wire::CarrierKind carrier_asked_for(const Options& options) {
  const bool by_rdma = options.connect.starts_with("verbs://") || options.rdma.prefer;
  return by_rdma ? detail::wire::CarrierKind::kVerbs : detail::wire::CarrierKind::kUcx;
}

std::vector<Word> effective_verbs_options(const Options& options) {
  const VerbsOptions verbs = load::verbs_options(options.rdma);
  return {policy_word("connecting", verbs.connecting, "verbs://"),
          policy_word("listening", verbs.listening, "verbs://"),
          {"connect_by", verbs.connect_by == VerbsConnect::kRdmaCm ? "rdma_cm" : "hello"},
          {"devices", joined(verbs.devices, "all, in turn")},
          {"gid_index", verbs.gid_index ? std::to_string(*verbs.gid_index) : "the best"},
          size_word("message_bytes", verbs.message_bytes),
          size_word("block_bytes", verbs.block_bytes),
          count_word("credits_min", verbs.credits_min),
          count_word("credits_max", verbs.credits_max),
          count_word("sends_max", verbs.sends_max),
          size_word("inline_bytes", verbs.inline_bytes),
          count_word("connections_max", verbs.connections_max),
          size_word("receive_bytes_max", verbs.receive_bytes_max),
          size_word("send_bytes_max", verbs.send_bytes_max),
          size_word("rendezvous_bytes_min", verbs.rendezvous_bytes_min),
          size_word("attachment_bytes_max", verbs.attachment_bytes_max),
          milliseconds_word("bring_up_timeout_ms", verbs.bring_up_timeout)};
}

}  // namespace weft::info
