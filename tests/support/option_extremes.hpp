// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/detail/base/time.hpp"
#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/calls/terms/attachment_view.hpp"
#include "weft/detail/calls/terms/landing_view.hpp"
#include "weft/detail/calls/terms/metadata.hpp"
#include "weft/detail/codec/fields.hpp"

/// Sets the fields of structs of options, all of which the compiler finds, to extreme values, one at a time.
namespace weft::testing {
namespace extremes {

template <typename T>
struct Held {
  T value;
};
// Declared, and never defined: only addresses inside it are used, to learn the names of the fields.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif
template <typename T>
extern const Held<T> kHeld;

template <auto kField>
consteval std::string_view spell() {
  return __PRETTY_FUNCTION__;
}
template <typename T>
consteval auto fields_of() {
  return detail::codec_detail::visit_fields(kHeld<T>.value,
                                            [](auto&... fields) { return std::tuple{&fields...}; });
}
/// Finds "name" in "... [kField = &kHeld.value.name]", as clang++ spells it, and in
/// "... [with auto kField = (& kHeld<T>.Held<T>::value.T::name); ...]", as g++ does.
constexpr std::string_view last_name(std::string_view spelled) {
  constexpr std::string_view kMark = "kField = ";
  spelled.remove_prefix(spelled.find(kMark) + kMark.size());
  spelled = spelled.substr(0, spelled.find_first_of(")]"));
  return spelled.substr(spelled.find_last_of(".:") + 1);
}
template <typename T>
consteval auto names_of() {
  return []<std::size_t... kPlaces>(std::index_sequence<kPlaces...>) {
    return std::array<std::string_view, sizeof...(kPlaces)>{
        last_name(spell<std::get<kPlaces>(fields_of<T>())>())...};
  }(std::make_index_sequence<detail::codec_detail::field_count<T>>{});
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

template <typename T>
inline constexpr bool is_struct = std::is_class_v<T> && std::is_aggregate_v<T>;

template <typename T>
struct Inside {
  static constexpr bool kIs = false;
  static constexpr bool kIsList = false;
};
template <typename T>
struct Inside<std::optional<T>> {
  static constexpr bool kIs = true;
  static constexpr bool kIsList = false;
  using type = T;
};
template <typename T>
struct Inside<std::vector<T>> {
  static constexpr bool kIs = true;
  static constexpr bool kIsList = true;
  using type = T;
};

template <typename T>
struct IsPointer : std::is_pointer<T> {};
template <typename T>
struct IsPointer<std::shared_ptr<T>> : std::true_type {};
template <typename T, typename D>
struct IsPointer<std::unique_ptr<T, D>> : std::true_type {};
template <typename F>
struct IsPointer<detail::UniqueFunction<F>> : std::true_type {};

template <typename Target, typename T>
consteval bool reaches();
template <typename Target, typename... Fields>
consteval bool any_reaches(detail::codec_detail::Types<Fields...>) {
  return (... || reaches<Target, std::remove_cv_t<Fields>>());
}
/// Returns true if the fields of a `T`, and of the structs in it, contain a `Target`.
template <typename Target, typename T>
consteval bool reaches() {
  if constexpr (std::is_same_v<Target, T>) {
    return true;
  } else if constexpr (Inside<T>::kIs) {
    return reaches<Target, typename Inside<T>::type>();
  } else if constexpr (is_struct<T>) {
    return any_reaches<Target>(
        decltype(detail::codec_detail::visit_fields(std::declval<T&>(), detail::codec_detail::TypesOf{})){});
  } else {
    return false;
  }
}

}  // namespace extremes

template <typename... Ts>
struct Structs {};
/// Returns true if the fields of `Roots`, and of the structs in them, contain each of `Listed`.
template <typename... Roots, typename... Listed>
consteval bool reached_by(Structs<Roots...> /*roots*/, Structs<Listed...> listed) {
  constexpr auto kReach = []<typename Target>(Structs<Target>) {
    return (... || extremes::reaches<Target, Roots>());
  };
  static_cast<void>(listed);
  return (... && kReach(Structs<Listed>{}));
}

/// Sets one field of a struct of options to one extreme value: the field and the value that have this number.
class OptionExtreme {
 public:
  explicit OptionExtreme(std::size_t number) : left_(number) {}

  /// Sets the value. False if `options` have fewer extremes.
  template <typename T>
  bool set(T& options) {
    walk(options);
    return is_set_;
  }
  /// Name of the field that was set.
  const std::string& option() const { return option_; }
  /// Name of the field, and its value.
  const std::string& text() const { return text_; }

 private:
  template <typename T>
  void walk(T& options) {
    static constexpr auto kNames = extremes::names_of<T>();
    detail::codec_detail::visit_fields(options, [&](auto&... fields) {
      const std::string* name = kNamesAsText<T>.data();
      (visit(fields, *name++), ...);
    });
    static_cast<void>(kNames);
  }
  template <typename T>
  inline static const auto kNamesAsText = [] {
    constexpr auto kNames = extremes::names_of<T>();
    std::array<std::string, kNames.size()> names;
    for (std::size_t i = 0; i < kNames.size(); ++i) names[i] = kNames[i];
    return names;
  }();

  template <typename T>
  void visit(T& field, const std::string& name) {
    if (is_set_) return;
    if constexpr (std::is_same_v<T, bool>) {
      offer(field, name, {{!field, "the other"}});
    } else if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      offer(field, name, {{T{0}, "0"}, {T{1}, "1"}, {Limits::max(), "max"}, {Limits::min(), "min"}});
    } else if constexpr (std::is_floating_point_v<T>) {
      using Limits = std::numeric_limits<T>;
      offer(field, name,
            {{T{0}, "0"},
             {T{-1}, "-1"},
             {Limits::quiet_NaN(), "NaN"},
             {Limits::infinity(), "inf"},
             {-Limits::infinity(), "-inf"},
             {Limits::max(), "max"},
             {Limits::denorm_min(), "tiny"}});
    } else if constexpr (std::is_enum_v<T>) {
      offer(field, name,
            {{static_cast<T>(0), "0"},
             {static_cast<T>(1), "1"},
             {static_cast<T>(2), "2"},
             {static_cast<T>(99), "99"}});
    } else if constexpr (std::is_same_v<T, Deadline>) {
      offer(
          field, name,
          {{Deadline{}, "none"}, {Deadline{TimePoint::min()}, "earliest"}, {Deadline{TimePoint{}}, "zero"}});
    } else if constexpr (requires {
                           typename T::rep;
                           typename T::period;
                         }) {
      offer(field, name,
            {{T::zero(), "zero"},
             {T{1}, "1 tick"},
             {T{-1}, "-1 tick"},
             {T::max(), "max"},
             {T{T::max().count() - 1}, "max - 1"},
             {T::min(), "min"}});
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
      offer(field, name, {{T{}, "empty"}, {T{"\x01 nonsense"}, "nonsense"}});
    } else if constexpr (extremes::Inside<T>::kIs && !extremes::Inside<T>::kIsList) {
      visit_optional(field, name);
    } else if constexpr (extremes::Inside<T>::kIs) {
      visit_list(field, name);
    } else if constexpr (extremes::is_struct<T>) {
      walk(field);
    } else {
      // A value that is tested elsewhere, or a pointer, whose only other value here is the empty one. The
      // test sets the pointers that it needs before.
      static_assert(extremes::IsPointer<T>::value || std::is_same_v<T, AttachmentView> ||
                        std::is_same_v<T, LandingView> || std::is_same_v<T, MetadataView>,
                    "say here which extremes a field of this type has");
    }
  }
  template <typename T>
  void visit_optional(std::optional<T>& field, const std::string& name) {
    std::optional<T> before = field;
    take(name, "none", [&] { field.reset(); });
    if (is_set_) return;
    if (!field) field.emplace();
    take(name, "the default", [] {});
    inside(*field, name);
    if (!is_set_) field = std::move(before);
  }
  template <typename T>
  void visit_list(std::vector<T>& field, const std::string& name) {
    take(name, "empty", [&] { field.clear(); });
    if (is_set_) return;
    std::vector<T> before = field;
    if (field.empty()) field.assign(1, T{});
    inside(field.front(), name);
    if (!is_set_) field = std::move(before);
  }
  template <typename T>
  void inside(T& element, const std::string& name) {
    if constexpr (extremes::is_struct<T>) {
      walk(element);
    } else if constexpr (requires { typename T::first_type; }) {
      visit(element.first, name);
      visit(element.second, name);
    } else {
      visit(element, name);
    }
  }

  template <typename T>
  struct Value {
    T value;
    const char* text;
  };
  template <typename T>
  void offer(T& field, const std::string& name, std::initializer_list<Value<T>> values) {
    for (const Value<T>& each : values) take(name, each.text, [&] { field = each.value; });
  }
  template <typename F>
  void take(const std::string& name, const char* text, F set) {
    if (is_set_ || left_-- != 0) return;
    set();
    is_set_ = true;
    option_ = name;
    text_ = name + " = " + text;
  }

  std::size_t left_;
  bool is_set_ = false;
  std::string option_;
  std::string text_;
};

}  // namespace weft::testing
