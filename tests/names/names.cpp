// SPDX-License-Identifier: Apache-2.0
// Prints the name, the id and the schema of many methods. compare_names.py compiles it with g++ and with
// clang, and compares them.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/functions/method.hpp"

int plain(int number);
namespace lib {
int nested(const std::vector<std::map<std::string, unsigned long>>& numbers);
int quick(int number) noexcept;
int overloaded(int number);
int overloaded(std::string text);
template <typename T>
int of_type(T value);
template <int N>
int of_number(int number);
enum class Colour { kRed, kGreen };
struct Item {
  int number = 0;
};
namespace {
struct Hidden {
  int take(int number);
  static int give(int number);
};
int hidden(int number);
}  // namespace
struct Shop {
  int buy(std::string name) const noexcept;
  int operator()(int number);
  int operator<(int number);
  int operator>>(int number);
  int operator->*(int number);
  template <typename T>
  int sell(T what);
  struct Shelf {
    int look(int number) const;
  };
};
template <typename T>
struct Store {
  int get(int key);
  static int find(int key);
  template <typename U>
  int swap(U with);
  struct Shelf {
    int look(int number) const noexcept;
  };
};
template <typename T, typename Allocator = std::vector<T>>
struct WithDefault {
  int get(int key);
};
template <typename... Ts>
struct Many {
  int get(int key);
};
template <template <typename...> typename Container>
struct OfTemplate {
  int get(int key);
};
template <auto Value>
struct OfValue {
  int get(int key);
};
template <unsigned Value>
struct OfUnsigned {
  int get(int key);
};
template <unsigned long long Value>
struct OfLong {
  int get(int key);
};
template <char Value>
struct OfLetter {
  int get(int key);
};
}  // namespace lib

namespace {

template <auto Method>
void print(const char* written) {
  // In constants, so that no library has to be linked.
  constexpr std::string_view kName = weft::detail::MethodTraits<Method>::name;
  constexpr std::uint64_t kId = weft::detail::hash_name(kName);
  constexpr std::uint32_t kSchema = weft::detail::SchemaOf<Method>::hash();
  std::printf("%s | %.*s | %016llx | %08x\n", written, static_cast<int>(kName.size()), kName.data(),
              static_cast<unsigned long long>(kId), static_cast<unsigned>(kSchema));
}

}  // namespace

#define PRINT(...) print<__VA_ARGS__>(#__VA_ARGS__)

int main() {
  PRINT(plain);
  PRINT(&plain);
  PRINT(lib::nested);
  PRINT(lib::quick);
  PRINT(static_cast<int (*)(int)>(lib::overloaded));
  PRINT(lib::of_type<std::string>);
  PRINT(lib::of_type<unsigned long>);
  PRINT(lib::of_number<3>);
  PRINT(lib::hidden);
  PRINT(&lib::Hidden::take);
  PRINT(&lib::Hidden::give);
  PRINT(&lib::Shop::buy);
  PRINT(&lib::Shop::operator());
  PRINT(&lib::Shop::operator<);
  PRINT(&lib::Shop::operator>>);
  PRINT(&lib::Shop::operator->*);
  PRINT(&lib::Shop::sell<std::string>);
  PRINT(&lib::Shop::Shelf::look);
  PRINT(&lib::Store<int>::get);
  PRINT(&lib::Store<unsigned>::get);
  PRINT(&lib::Store<unsigned long>::find);
  PRINT(&lib::Store<std::uint64_t>::get);
  PRINT(&lib::Store<std::size_t>::get);
  PRINT(&lib::Store<long long>::get);
  PRINT(&lib::Store<std::string>::get);
  PRINT(&lib::Store<std::string>::find);
  PRINT(&lib::Store<std::string>::Shelf::look);
  PRINT(&lib::Store<std::string>::swap<std::string>);
  PRINT(&lib::Store<std::string_view>::get);
  PRINT(&lib::Store<std::vector<std::vector<unsigned long>>>::get);
  PRINT(&lib::Store<std::map<int, std::string>>::get);
  PRINT(&lib::Store<std::array<std::string, 3>>::get);
  PRINT(&lib::Store<std::filesystem::path>::get);
  PRINT(&lib::Store<std::chrono::system_clock>::get);
  PRINT(&lib::Store<std::chrono::milliseconds>::get);
  PRINT(&lib::Store<lib::Store<lib::Store<int>>>::get);
  PRINT(&lib::Store<lib::Hidden>::get);
  PRINT(&lib::Store<lib::Item>::get);
  PRINT(&lib::Store<const char*>::get);
  PRINT(&lib::Store<const std::string&>::get);
  PRINT(&lib::Store<const unsigned long* const>::get);
  PRINT(&lib::Store<volatile unsigned char*>::get);
  PRINT(&lib::Store<int[3]>::find);
  PRINT(&lib::Store<int (*)(int)>::get);
  PRINT(&lib::Store<unsigned long(std::string, unsigned)>::get);
  PRINT(&lib::Store<int lib::Item::*>::get);
  PRINT(&lib::Store<int (lib::Item::*)(unsigned long) const>::get);
  PRINT(&lib::Store<int (&)(int)>::get);
  PRINT(&lib::Store<std::string&&>::get);
  PRINT(&lib::Store<std::nullptr_t>::get);
  PRINT(&lib::WithDefault<int>::get);
  PRINT(&lib::WithDefault<std::string, std::string>::get);
  PRINT(&lib::Many<>::get);
  PRINT(&lib::Many<bool, char, signed char, unsigned char, char8_t, char16_t, char32_t, wchar_t>::get);
  PRINT(&lib::Many<short, unsigned short, int, unsigned, long, unsigned long, long long,
                   unsigned long long>::get);
  PRINT(&lib::Many<float, double, long double>::get);
  PRINT(&lib::OfTemplate<std::vector>::get);
  PRINT(&lib::OfTemplate<std::basic_string>::get);
  PRINT(&lib::OfValue<3>::get);
  PRINT(&lib::OfValue<3U>::get);
  PRINT(&lib::OfValue<std::size_t{3}>::get);
  PRINT(&lib::OfValue<-3L>::get);
  PRINT(&lib::OfValue<true>::get);
  PRINT(&lib::OfValue<'x'>::get);
  PRINT(&lib::OfValue<lib::Colour::kGreen>::get);
  PRINT(&lib::OfValue<plain>::get);
  PRINT(&lib::OfValue<lib::quick>::get);
  PRINT(&lib::OfUnsigned<3>::get);
  PRINT(&lib::OfLong<1ULL << 40>::get);
  PRINT(&lib::OfLetter<'x'>::get);
  PRINT(weft::method<lib::nested, "named">);
  PRINT(weft::remote<"remote", unsigned long(std::string)>);
}
