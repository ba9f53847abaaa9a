// SPDX-License-Identifier: Apache-2.0
// EXPECT: it returns a view, or a type that holds one, and a parameter
#include <string>
#include <string_view>

#include "weft/server.hpp"

#ifdef WEFT_COMPILE_FAIL_CONTROL
std::string_view of_a_view(std::string_view text);
std::string_view of_a_reference(const std::string& text);
std::string_view by_number(int number);
#else
std::string_view of_a_view(std::string text);
std::string_view of_a_reference(const std::string& text);
std::string_view by_number(int number);
#endif

void serve(weft::Server& server) {
  server.register_handler<of_a_view>();
  server.register_handler<of_a_reference>();
  server.register_handler<by_number>();
}
