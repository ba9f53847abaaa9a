// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "naming/endpoint_text.hpp"
#include "naming/name_source.hpp"

namespace weft::detail {

namespace {
class StaticSource final : public NameSource {};
}  // namespace

MadeSource make_static_source(NameBoard& board, std::string_view rest) {
  std::vector<Endpoint> endpoints;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    auto endpoint = parse_endpoint(rest.substr(0, end));
    if (!endpoint.ok()) return std::move(endpoint).status();
    endpoints.push_back(std::move(*endpoint));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (endpoints.empty())
    return bad_name("the name lists no server (static:tcp://10.0.0.7:9000,tcp://10.0.0.8:9000)");
  board.answer(std::move(endpoints));
  if (!board.last_failure().ok()) return board.last_failure();
  return std::make_unique<StaticSource>();
}

}  // namespace weft::detail
