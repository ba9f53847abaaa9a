// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdio>

#include "functions.hpp"

// begin: block_signals
/// Keeps the signals that end the server from every thread that is started afterwards; sigwait() takes them.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}
// end: block_signals

int main(int argc, char** argv) {
  const sigset_t signals = block_signals();  // before the server starts its threads
  weft::Server server{{.listen = {argc > 1 ? argv[1] : "tcp://127.0.0.1:0"}}};
  server.register_handler<greet>();
  server.register_handler<centre>();
  server.register_handler<count_words>();
  server.register_handler<answer_after>();
  server.register_handler<divide>();
  if (auto started = server.start(); !started.ok()) {
    std::fprintf(stderr, "%s\n", started.status().to_string().c_str());
    return 1;
  }
  std::printf("listening on %s\n", server.urls().front().c_str());
  std::fflush(stdout);
  // begin: wait_for_signal
  int signal = 0;
  sigwait(&signals, &signal);
  server.stop();
  server.wait();
  // end: wait_for_signal
}
