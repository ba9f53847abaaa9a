// SPDX-License-Identifier: Apache-2.0
// EXPECT: it takes its attachment as IncomingAttachment&, before
#include "weft/server.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
weft::Task<int> handler(weft::CallContext& context, weft::IncomingAttachment& data, int number);
#else
weft::Task<int> handler(weft::CallContext& context, int number, weft::IncomingAttachment& data);
#endif

void serve(weft::Server& server) {
  server.register_handler<handler>();
}
