// SPDX-License-Identifier: Apache-2.0
// Calls as senders, in the shape of std::execution, for executors that Weft does not know.
#include <cstdio>
#include <latch>
#include <weft/sender.hpp>
#include <weft/weft.hpp>

int add(int a, int b) {
  return a + b;
}

// begin: receiver
struct Print {
  void set_value(int sum) && noexcept {
    std::printf("%d\n", sum);
    done->count_down();
  }
  void set_error(const weft::Status& why) && noexcept {
    std::printf("%s\n", why.to_string().c_str());
    done->count_down();
  }
  void set_stopped() && noexcept { done->count_down(); }

  std::latch* done;
};
// end: receiver

int main() {
  weft::Server server{{.listen = {"tcp://127.0.0.1:0"}}};
  server.register_handler<add>();
  server.start().value();
  auto thread = weft::LoopThread::start().value();
  weft::Client client{thread->loop(), {.connect = server.urls().front()}};

  // begin: connect
  std::latch done{1};
  auto operation = weft::as_sender(client).call<add>(1, 2).connect(Print{&done});
  operation.start();  // stays where it is until its receiver was told
  done.wait();
  // end: connect
  thread->stop();
}
