// SPDX-License-Identifier: Apache-2.0
// EXPECT: weft cannot serve this handler: one with a BlockingReader<T>& or a BlockingWriter<T>& runs on a
#include "weft/server.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
void handler(weft::BlockingReader<int>& numbers, weft::BlockingWriter<int>& answers);
#else
void handler(weft::BlockingReader<int>& numbers, weft::Writer<int>& answers);
#endif

void serve(weft::Server& server) {
  server.register_handler<handler>();
}
