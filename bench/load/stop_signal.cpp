// SPDX-License-Identifier: Apache-2.0
#include "load/stop_signal.hpp"

#include <pthread.h>

#include <csignal>

namespace weft::load {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

StopSignal::StopSignal() {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void StopSignal::blocking_wait() {
  const sigset_t set = stop_signals();
  int signal = 0;
  sigwait(&set, &signal);
}

}  // namespace weft::load
