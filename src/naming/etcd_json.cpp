// SPDX-License-Identifier: Apache-2.0
#include "naming/etcd_json.hpp"

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "naming/endpoint_text.hpp"
#include "weft/detail/base/base64.hpp"
#include "weft/detail/base/peer_text.hpp"

namespace weft::detail {

namespace {

using Json = nlohmann::json;

Status garbage(std::string_view text) {
  return bad_name("what answers is not etcd's JSON gateway: " + peer_text(text, 100));
}

bool from_base64(std::string_view text, std::string& bytes) {
  const auto size = base64_decoded_size(text);
  if (!size) return false;
  const std::size_t before = bytes.size();
  bytes.resize(before + *size);
  return decode_base64(text, reinterpret_cast<std::byte*>(bytes.data() + before));
}

const Json* member(const Json* object, const char* name) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto found = object->find(name);
  return found == object->end() ? nullptr : &*found;
}

// The gateway writes 64-bit numbers as strings, and omits zeros.
bool read_number(const Json* value, std::int64_t& number) {
  number = 0;
  if (value == nullptr) return true;
  if (value->is_number_integer()) {
    number = value->get<std::int64_t>();
    return true;
  }
  if (!value->is_string()) return false;
  const auto& text = value->get_ref<const std::string&>();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

bool read_bytes(const Json* value, std::string& bytes) {
  if (value == nullptr) return true;
  return value->is_string() && from_base64(value->get_ref<const std::string&>(), bytes);
}

bool read_entry(const Json* value, EtcdEntry& entry) {
  return value != nullptr && value->is_object() && read_bytes(member(value, "key"), entry.key) &&
         !entry.key.empty() && read_bytes(member(value, "value"), entry.value);
}

Result<Json> parse(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return garbage(text);
  if (json.contains("error")) {
    return Status{StatusCode::kUnavailable, Layer::kRuntime, "etcd says " + peer_text(text, 200)};
  }
  return json;
}

std::string interval(std::string_view prefix) {
  return R"("key":")" + base64_of(prefix) + R"(","range_end":")" +
         base64_of(end_of_prefix(std::string{prefix})) + '"';
}

Result<EtcdLease> read_lease(const Json* lease, std::string_view text) {
  EtcdLease read;
  if (lease == nullptr || !lease->is_object() || !read_number(member(lease, "ID"), read.id) ||
      !read_number(member(lease, "TTL"), read.ttl_seconds)) {
    return garbage(text);
  }
  return read;
}

}  // namespace

std::string base64_of(std::string_view bytes) {
  std::string text;
  append_base64(text, as_bytes(bytes));
  return text;
}

std::string end_of_prefix(std::string prefix) {
  while (!prefix.empty()) {
    if (static_cast<unsigned char>(prefix.back()) != 0xff) {
      ++prefix.back();
      return prefix;
    }
    prefix.pop_back();
  }
  return std::string(1, '\0');  // etcd's word for all keys
}

std::string range_request(std::string_view prefix, std::size_t entries_max) {
  return "{" + interval(prefix) + R"(,"limit":")" + std::to_string(entries_max) + "\"}";
}
std::string watch_request(std::string_view prefix, std::int64_t from_revision) {
  return R"({"create_request":{)" + interval(prefix) + R"(,"start_revision":")" +
         std::to_string(from_revision) + R"(","progress_notify":true}})";
}
std::string grant_request(std::int64_t ttl_seconds) {
  return R"({"TTL":")" + std::to_string(ttl_seconds) + "\"}";
}
std::string lease_request(std::int64_t id) {
  return R"({"ID":")" + std::to_string(id) + "\"}";
}
std::string put_request(std::string_view key, std::string_view value, std::int64_t lease) {
  return R"({"key":")" + base64_of(key) + R"(","value":")" + base64_of(value) + R"(","lease":")" +
         std::to_string(lease) + "\"}";
}

Result<EtcdRange> read_range(std::string_view text) {
  auto json = parse(text);
  if (!json.ok()) return std::move(json).status();
  EtcdRange range;
  const Json* header = member(&*json, "header");
  if (header == nullptr || !read_number(member(header, "revision"), range.revision) || range.revision <= 0 ||
      range.revision == std::numeric_limits<std::int64_t>::max()) {  // the next one is asked for
    return garbage(text);
  }
  const Json* entries = member(&*json, "kvs");
  if (entries == nullptr) return range;
  if (!entries->is_array()) return garbage(text);
  for (const Json& each : *entries) {
    EtcdEntry entry;
    if (!read_entry(&each, entry)) return garbage(text);
    range.entries.push_back(std::move(entry));
  }
  return range;
}

Result<std::vector<EtcdEntry>> read_watch(std::string_view line) {
  auto json = parse(line);
  if (!json.ok()) return std::move(json).status();
  const Json* result = member(&*json, "result");
  if (result == nullptr) return garbage(line);
  if (const Json* canceled = member(result, "canceled"); canceled != nullptr && *canceled == true) {
    return Status{StatusCode::kUnavailable, Layer::kRuntime, "etcd ended the watch: " + peer_text(line, 200)};
  }
  std::vector<EtcdEntry> entries;
  const Json* events = member(result, "events");
  if (events == nullptr) return entries;
  if (!events->is_array()) return garbage(line);
  for (const Json& each : *events) {
    EtcdEntry entry;
    if (!read_entry(member(&each, "kv"), entry)) return garbage(line);
    const Json* type = member(&each, "type");
    entry.deleted = type != nullptr && (*type == "DELETE" || *type == 1);
    entries.push_back(std::move(entry));
  }
  return entries;
}

Result<EtcdLease> read_grant(std::string_view text) {
  auto json = parse(text);
  if (!json.ok()) return std::move(json).status();
  auto lease = read_lease(&*json, text);
  if (lease.ok() && lease->id == 0) return garbage(text);
  return lease;
}

Result<EtcdLease> read_keep_alive(std::string_view text) {
  auto json = parse(text);
  if (!json.ok()) return std::move(json).status();
  return read_lease(member(&*json, "result"), text);
}

}  // namespace weft::detail
