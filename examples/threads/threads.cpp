// SPDX-License-Identifier: Apache-2.0
// Calls from threads that have no loop, and from coroutines of another loop.
#include <cstdio>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>
#include <weft/weft.hpp>

int add(int a, int b) {
  return a + b;
}

// A client needs only the declaration of a function. The server has the definition.
std::string greet(std::string_view name);

// begin: first
int first_client(const std::string& url) {
  weft::BlockingClient client{{.connect = url}};
  auto sum = client.call<add>(1, 2);  // weft::Result<int>
  return sum.ok() ? *sum : -1;
}
// end: first

// begin: blocking
int sum_of_threads(weft::Client& client) {
  std::vector<int> sums(4);
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&client, &sums, i] {  // a thread without a loop
      sums[static_cast<std::size_t>(i)] = weft::blocking(client).call<add>(i, 10).value_or(-1);
    });
  }
  threads.clear();  // joined
  return sums[0] + sums[1] + sums[2] + sums[3];
}
// end: blocking

// begin: started
int at_once(weft::BlockingClient& client) {
  auto one = client.start<add>(1, 1);  // on its way
  auto two = client.start<add>(2, 2);
  return one.wait().value_or(-1) + two.wait().value_or(-1);
}
// end: started

// begin: stopped
bool ask_until_stopped(weft::Client& client, const std::stop_token& stop) {
  auto answer = weft::blocking(client, stop).call<add>(1, 2);
  return answer.status().code() != weft::StatusCode::kCancelled;
}
// end: stopped

// begin: on_loop_of
weft::Task<weft::Result<std::string>> greet_from_here(weft::LoopCaller there) {
  auto greeting = co_await there.call<greet>("you");  // on the client's loop
  co_return greeting;                                 // here again
}
// end: on_loop_of

int main() {
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}, .threads = 1}};
  server.register_handler<add, greet>();
  server.start().value();
  const std::string url = server.urls().front();
  std::printf("%d\n", first_client(url));

  // begin: own_thread
  auto thread = weft::LoopThread::start().value();
  weft::Client client{thread->loop(), {.connect = url}};
  // end: own_thread
  std::printf("%d\n", sum_of_threads(client));
  std::stop_source stop;
  stop.request_stop();
  std::printf("%s\n", ask_until_stopped(client, stop.get_token()) ? "answered" : "stopped");

  weft::BlockingClient other{{.connect = url}};
  std::printf("%d\n", at_once(other));

  auto home = weft::Loop::create().value();
  auto greeting = home->block_on(greet_from_here(weft::on_loop_of(client)));
  std::printf("%s\n", greeting.ok() ? greeting->c_str() : greeting.status().to_string().c_str());

  // begin: end
  thread->stop();  // ends what other threads wait for; from here on the client may be destroyed here
  // end: end
}

std::string greet(std::string_view name) {
  return "hello, " + std::string{name};
}
