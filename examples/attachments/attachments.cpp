// SPDX-License-Identifier: Apache-2.0
// Large memory beside a call: it is not serialised, and not copied on its way to the socket.
#include <cctype>
#include <cstdio>
#include <span>
#include <string>
#include <vector>
#include <weft/weft.hpp>

// begin: handler
/// Turns the attachment into capitals where it landed, sends it back from there, and says how long it is.
std::uint64_t capitals(weft::CallContext& context) {
  weft::Buffer text = context.take_attachment();
  for (std::byte& each : text.mutable_bytes()) {
    each = static_cast<std::byte>(std::toupper(static_cast<int>(each)));
  }
  const std::uint64_t size = text.size();
  context.set_attachment(std::move(text));
  return size;
}
// end: handler

// begin: mirror
/// Sends the attachment of the request back.
void mirror(weft::CallContext& context) {
  context.set_attachment(context.take_attachment());
}
// end: mirror

weft::Task<int> ask(weft::Client& client) {
  // begin: client
  const std::string text = "a long text";
  std::string answer(text.size(), ' ');
  weft::CallOptions options{.attachment = weft::as_bytes(text),
                            .landing = std::as_writable_bytes(std::span{answer})};
  auto result = co_await client.call<capitals>(options).with_attachment();
  if (!result.ok()) co_return 1;
  std::printf("%s, %zu bytes landed in our buffer\n", answer.c_str(), result->attachment_bytes);
  // end: client

  // begin: gather
  const std::string left = "gathered ";
  const std::string right = "from two places";
  const std::vector<weft::Bytes> runs{weft::as_bytes(left), weft::as_bytes(right)};
  // No landing: the answer brings its own memory.
  weft::CallOptions gathered{.attachment = std::span{runs}};
  auto second = co_await client.call<capitals>(gathered).with_attachment();
  if (!second.ok()) co_return 1;
  std::printf("%.*s\n", static_cast<int>(second->value), weft::as_text(second->attachment.bytes()).data());
  // end: gather

  // begin: typed
  const std::vector<float> weights(1024, 0.5F);
  std::vector<float> back(weights.size());
  weft::CallOptions typed{.attachment = std::as_bytes(std::span{weights}),
                          .landing = std::as_writable_bytes(std::span{back})};
  auto third = co_await client.call<mirror>(typed).with_attachment();
  if (!third.ok() || third->attachment_bytes != weights.size() * sizeof(float)) co_return 1;
  // end: typed

  // begin: strided
  // Column 1 of a matrix of 256 rows, each of 4 numbers, into an array of its own.
  const weft::Bytes from_column = std::as_bytes(std::span{weights}).subspan(1 * sizeof(float));
  std::vector<float> column(256);
  weft::CallOptions apart{
      .attachment = weft::AttachmentView::strided(from_column, /*count=*/256, /*bytes=*/sizeof(float),
                                                  /*stride=*/4 * sizeof(float)),
      .landing = std::as_writable_bytes(std::span{column})};
  auto fourth = co_await client.call<mirror>(apart).with_attachment();
  if (!fourth.ok()) co_return 1;
  // end: strided
  std::printf("%s numbers are here\n", back == weights && column.back() == 0.5F ? "all" : "not all");
  co_return 0;
}

int main() {
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  server.register_handler<capitals, mirror>();
  server.start().value();

  auto loop = weft::Loop::create().value();
  weft::Client client{*loop, {.connect = server.urls().front()}};
  return loop->block_on(ask(client));
}
