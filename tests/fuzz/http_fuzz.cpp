// SPDX-License-Identifier: Apache-2.0
// The parser of HTTP/1.1 requests: however the bytes are cut into pieces, the events are the same; memory and
// bodies stay within the limits; and it accepts exactly what a second reader accepts, which has the whole
// text before it and is written for clarity alone, with the same content.
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/http_transcript.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/utf8.hpp"
#include "weft/detail/http/request_parser.hpp"

namespace weft {
namespace {

using detail::http::RequestLimits;
using testing::HttpTranscript;

constexpr RequestLimits kSmall{.request_line_bytes_max = 100,
                               .header_bytes_max = 200,
                               .header_count_max = 8,
                               .body_bytes_max = 64,
                               .trailer_bytes_max = 40,
                               .chunk_digits_max = 4};
constexpr RequestLimits kLarge{.request_line_bytes_max = 1 << 20,
                               .header_bytes_max = 1 << 20,
                               .header_count_max = 1 << 20,
                               .body_bytes_max = ~std::uint64_t{0},
                               .trailer_bytes_max = 1 << 20,
                               .chunk_digits_max = 16};

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHexDigits = "0123456789ABCDEFabcdef";

bool only(std::string_view text, std::string_view more, bool letters_and_digits = true) {
  return std::all_of(text.begin(), text.end(), [&](char byte) {
    const bool alphanumeric =
        kLetters.find(byte) != std::string_view::npos || kDigits.find(byte) != std::string_view::npos;
    return (letters_and_digits && alphanumeric) || more.find(byte) != std::string_view::npos;
  });
}

std::string lower(std::string_view text) {
  std::string result{text};
  for (char& byte : result) {
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte - 'A' + 'a');
  }
  return result;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + separator.size());
  }
}

using Fields = std::vector<std::pair<std::string, std::string>>;

/// One request as the second reader sees it.
struct Head {
  std::string text;  // as HttpTranscript writes it
  bool chunked = false;
  std::uint64_t length = 0;
  bool keeps_alive = false;
};

/// A number of bytes, or nothing: neither refused nor incomplete text is accepted.
using Accepted = std::optional<std::size_t>;

bool is_line(std::string_view line) {
  return std::none_of(line.begin(), line.end(), [](char byte) {
    const auto value = static_cast<unsigned char>(byte);
    return (value < 0x20 && byte != '\t') || value == 0x7f;
  });
}

std::optional<Fields> fields_of(const std::vector<std::string_view>& lines) {
  Fields fields;
  for (const std::string_view line : lines) {
    const std::size_t colon = line.find(':');
    if (!is_line(line) || colon == std::string_view::npos || colon == 0) return std::nullopt;
    if (!only(line.substr(0, colon), "!#$%&'*+-.^_`|~")) return std::nullopt;
    fields.emplace_back(line.substr(0, colon), trimmed(line.substr(colon + 1)));
  }
  return fields;
}

bool is_host(std::string_view host) {
  std::string_view port;
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos || end < 3) return false;
    if (!only(host.substr(1, end - 1), std::string{kHexDigits} + ":.", false)) return false;
    port = host.substr(end + 1);
  } else {
    const std::size_t end = std::min(host.find(':'), host.size());
    if (end == 0 || !only(host.substr(0, end), "-._~")) return false;
    port = host.substr(end);
  }
  if (port.empty()) return true;
  return port.starts_with(':') && port.size() >= 2 && port.size() <= 6 &&
         only(port.substr(1), kDigits, false) && std::stoul(std::string{port.substr(1)}) <= 65535;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    if (text[0] != '%') {
      result += text[0];
      text.remove_prefix(1);
      continue;
    }
    const std::string_view digits = text.substr(1, 2);
    if (digits.size() != 2 || !only(digits, kHexDigits, false)) return std::nullopt;
    result += static_cast<char>(std::stoul(std::string{digits}, nullptr, 16));
    text.remove_prefix(3);
  }
  return result;
}

/// Path and query of a target that begins with a path.
std::optional<std::pair<std::string, std::string>> path_and_query(std::string_view target) {
  const std::size_t mark = std::min(target.find('?'), target.size());
  const std::string_view path = target.substr(0, mark);
  const std::string_view query = target.substr(std::min(mark + 1, target.size()));
  if (!only(path, "-._~!$&'()*+,;=:@/%") || !only(query, "-._~!$&'()*+,;=:@/?%")) return std::nullopt;
  const std::optional<std::string> plain = decoded(path);
  if (!plain || !decoded(query)) return std::nullopt;
  if (std::count(plain->begin(), plain->end(), '/') != std::count(path.begin(), path.end(), '/'))
    return std::nullopt;
  if (!is_line(*plain) || plain->find('\t') != std::string::npos) return std::nullopt;
  if (detail::valid_utf8(as_bytes(*plain)) != plain->size()) return std::nullopt;
  for (const std::string_view segment : split(*plain, "/")) {
    if (segment == "." || segment == "..") return std::nullopt;
  }
  return std::pair{*plain, std::string{query}};
}

std::optional<Head> head_of(std::string_view text) {
  std::vector<std::string_view> lines = split(text, "\r\n");
  const std::vector<std::string_view> words = split(lines[0], " ");
  if (!is_line(lines[0]) || words.size() != 3) return std::nullopt;
  lines.erase(lines.begin());
  const auto fields = fields_of(lines);
  if (!fields) return std::nullopt;
  std::map<std::string, std::vector<std::string>> known;
  for (const auto& [name, value] : *fields) known[lower(name)].push_back(value);

  const std::string method{words[0]};
  const std::vector<std::string> methods = {"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"};
  if (std::find(methods.begin(), methods.end(), method) == methods.end()) return std::nullopt;
  if (words[2] != "HTTP/1.0" && words[2] != "HTTP/1.1") return std::nullopt;
  const bool is_10 = words[2] == "HTTP/1.0";

  std::string host;
  if (known["host"].size() > 1 || (known["host"].empty() && !is_10)) return std::nullopt;
  if (!known["host"].empty()) {
    host = known["host"][0];
    if (!is_host(host)) return std::nullopt;
  }
  std::string_view target = words[1];
  std::optional<std::pair<std::string, std::string>> path;
  const bool is_http = lower(target).starts_with("http://");
  if (target.starts_with("/")) {
    path = path_and_query(target);
  } else if (target == "*") {
    if (method == "OPTIONS") path = std::pair{"*", ""};
  } else if (is_http || lower(target).starts_with("https://")) {
    target.remove_prefix(is_http ? 7 : 8);
    const std::string_view authority = target.substr(0, target.find_first_of("/?"));
    target.remove_prefix(authority.size());
    if (!is_host(authority)) return std::nullopt;
    if (known["host"].empty()) host = authority;
    if (lower(authority) != lower(host)) return std::nullopt;
    const bool whole_server = target.empty() && method == "OPTIONS";
    path = path_and_query(target.starts_with("/") ? std::string{target} : "/" + std::string{target});
    if (path && whole_server) path->first = "*";
  }
  if (!path) return std::nullopt;

  Head head;
  const auto& lengths = known["content-length"];
  const auto& encodings = known["transfer-encoding"];
  if (lengths.size() + encodings.size() > 1) return std::nullopt;
  if (!lengths.empty()) {
    const std::string& length = lengths[0];
    if (length.empty() || length.size() > 19 || !only(length, kDigits, false)) return std::nullopt;
    head.length = std::stoull(length);
  }
  if (!encodings.empty()) {
    if (is_10 || lower(encodings[0]) != "chunked") return std::nullopt;
    head.chunked = true;
  }
  const bool wants_length = method == "POST" || method == "PUT" || method == "PATCH";
  if (is_10 && wants_length && lengths.empty()) return std::nullopt;
  for (const std::string& expectation : known["expect"]) {
    if (lower(expectation) != "100-continue") return std::nullopt;
  }
  const bool expects = !known["expect"].empty() && !is_10 && (head.chunked || head.length > 0);

  head.keeps_alive = !is_10;
  for (const std::string word : {"keep-alive", "close"}) {
    for (const std::string& value : known["connection"]) {
      for (const std::string_view member : split(value, ",")) {
        if (lower(trimmed(member)) == word) head.keeps_alive = word != "close";
      }
    }
  }

  head.text = method + " " + path->first + (path->second.empty() ? "" : "?" + path->second);
  head.text += is_10 ? " 1.0" : " 1.1";
  head.text += " host \"" + host + "\"" + (expects ? " expects" : "");
  for (const auto& [name, value] : *fields) head.text += " [" + name + "=" + value + "]";
  head.text += "\n";
  return head;
}

Accepted read_chunks(std::string_view text, std::string& body) {
  const std::size_t whole = text.size();
  for (;;) {
    const std::size_t end = text.find("\r\n");
    if (end == std::string_view::npos || end == 0 || end > 16) return std::nullopt;
    if (!only(text.substr(0, end), kHexDigits, false)) return std::nullopt;
    const std::uint64_t size = std::stoull(std::string{text.substr(0, end)}, nullptr, 16);
    text.remove_prefix(end + 2);
    if (size == 0) break;
    if (size > text.size() || text.size() - size < 2 || text.substr(size, 2) != "\r\n") return std::nullopt;
    body += text.substr(0, size);
    text.remove_prefix(size + 2);
  }
  if (text.starts_with("\r\n")) return whole - text.size() + 2;
  const std::size_t end = text.find("\r\n\r\n");
  if (end == std::string_view::npos || !fields_of(split(text.substr(0, end), "\r\n"))) return std::nullopt;
  return whole - text.size() + end + 4;
}

/// Reads the requests of `text` until one is refused or incomplete.
struct SecondReader {
  explicit SecondReader(std::string_view text) {
    while (!closed) {
      if (text.starts_with("\r\n")) text.remove_prefix(2);
      const std::size_t end = text.find("\r\n\r\n");
      if (end == std::string_view::npos) return;
      const std::optional<Head> head = head_of(text.substr(0, end));
      if (!head) return;
      ++heads;
      text.remove_prefix(end + 4);
      std::string body;
      Accepted bytes;
      if (head->chunked) {
        bytes = read_chunks(text, body);
      } else if (head->length <= text.size()) {
        body = text.substr(0, head->length);
        bytes = body.size();
      }
      if (!bytes) return;
      text.remove_prefix(*bytes);
      requests += head->text + "body \"" + body + "\"\n" + (head->keeps_alive ? "" : "closed\n");
      closed = !head->keeps_alive;
    }
  }

  std::string requests;
  std::size_t heads = 0;
  bool closed = false;
};

std::string deliver(std::string_view stream, std::uint8_t cuts, const RequestLimits& limits) {
  HttpTranscript transcript{limits};
  // Pieces of some sizes in turn, from one byte on.
  for (std::uint32_t state = cuts; !stream.empty(); state = state * 1103515245 + 12345) {
    const std::size_t most = 1 + (state >> 16) % (1 + cuts % 32);
    const std::size_t size = std::min(most, stream.size());
    transcript.receive(stream.substr(0, size));
    stream.remove_prefix(size);
    WEFT_ASSERT(transcript.parser().memory_bytes() < 4096 || limits.header_bytes_max > 200,
                "a parser with small limits needs little memory");
  }
  return transcript.text();
}

void check(std::string_view input) {
  if (input.empty()) return;
  const auto cuts = static_cast<std::uint8_t>(input[0]);
  const std::string_view stream = input.substr(1);
  for (const RequestLimits& limits : {kSmall, kLarge}) {
    HttpTranscript whole{limits};
    whole.receive(stream);
    WEFT_ASSERT(deliver(stream, cuts, limits) == whole.text(), "how a stream was cut made a difference");
    if (limits.header_bytes_max == kSmall.header_bytes_max) continue;
    const SecondReader second{stream};
    WEFT_ASSERT(second.heads == whole.heads(), "two readers disagree on a head");
    WEFT_ASSERT(second.requests == whole.whole_requests(), "two readers disagree on a request");
  }
}

}  // namespace
}  // namespace weft

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
