// SPDX-License-Identifier: Apache-2.0
// EXPECT: a member function is registered with its object
#include "weft/server.hpp"

struct Board {
  int fields(int side);
};

void serve(weft::Server& server, Board& board) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  server.register_handler<&Board::fields>(&board);
#else
  static_cast<void>(board);
  server.register_handler<&Board::fields>();
#endif
}
