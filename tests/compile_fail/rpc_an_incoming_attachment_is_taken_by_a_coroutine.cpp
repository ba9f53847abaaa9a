// SPDX-License-Identifier: Apache-2.0
// EXPECT: one with an IncomingAttachment& waits for the attachment, so
#include "weft/server.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
weft::Task<int> handler(weft::IncomingAttachment& data, int number);
#else
int handler(weft::IncomingAttachment& data, int number);
#endif

void serve(weft::Server& server) {
  server.register_handler<handler>();
}
