// SPDX-License-Identifier: Apache-2.0
// A description of types, a line, and behind it "m" and a message, or "j" and a JSON text. All of them may
// come from a peer. A message that has a JSON text, and a JSON text that has a message, have the same one
// when they come back.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/describe/json.hpp"

namespace weft {

using namespace weft::detail;
namespace {

constexpr std::size_t kOutputMax = std::size_t{1} << 20;

void check_message(const TypeDescription& types, Bytes message) {
  std::string text;
  if (!to_json(types, message, text, kOutputMax).ok()) return;
  std::vector<std::byte> back;
  const Status read = from_json(types, text, back, 16 * kOutputMax);
  if (!read.ok()) {
    // Equal keys are found in objects only when they are written.
    WEFT_ASSERT(read.message().find("stands twice") != std::string_view::npos,
                "JSON of a message is refused");
    return;
  }
  std::string again;
  WEFT_ASSERT(to_json(types, back, again, kOutputMax).ok(), "a message that was made is refused");
  WEFT_ASSERT(again == text, "a message changes on its way");
}

void check_json(const TypeDescription& types, std::string_view json) {
  std::vector<std::byte> message;
  if (!from_json(types, json, message, kOutputMax).ok()) return;
  std::string text;
  const Status written = to_json(types, message, text, 4 * kOutputMax);
  if (written.code() == StatusCode::kResourceExhausted) return;
  WEFT_ASSERT(written.ok(), "a message that was made is refused");
  std::vector<std::byte> back;
  WEFT_ASSERT(from_json(types, text, back).ok(), "JSON of a message is refused");
  WEFT_ASSERT(back == message, "a message changes on its way");
}

void check(std::string_view input) {
  const std::size_t line = input.find('\n');
  const std::string_view text = input.substr(0, line);
  const auto method = MethodDescription::parse(text);
  const auto types = TypeDescription::parse(text);
  if (line == std::string_view::npos || line + 1 == input.size()) return;
  const std::string_view rest = input.substr(line + 2);
  const auto check_types = [&](const TypeDescription& of) {
    if (input[line + 1] == 'm') return check_message(of, as_bytes(rest));
    check_json(of, rest);
  };
  if (types.ok()) check_types(*types);
  if (!method.ok()) return;
  check_types(method->arguments);
  if (method->result) check_types(*method->result);
}

}  // namespace
}  // namespace weft

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
