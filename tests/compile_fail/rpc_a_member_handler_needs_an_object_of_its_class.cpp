// SPDX-License-Identifier: Apache-2.0
// EXPECT: it is no member function of this object's class
#include "weft/server.hpp"

struct Board {
  int fields(int side);
};
struct Table {};

void serve(weft::Server& server, Board& board, Table& table) {
#ifdef WEFT_COMPILE_FAIL_CONTROL
  static_cast<void>(table);
  server.register_handler<&Board::fields>(&board);
#else
  static_cast<void>(board);
  server.register_handler<&Board::fields>(&table);
#endif
}
