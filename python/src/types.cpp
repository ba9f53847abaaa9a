// SPDX-License-Identifier: Apache-2.0
#include "types.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace weft::python {

const PythonClasses& PythonClasses::get() {
  static const PythonClasses* const kClasses = [] {
    const nb::module_ types = nb::module_::import_("weft._types");
    return new PythonClasses{types.attr("Variant"), types.attr("Outcome"), types.attr("RpcError"),
                             types.attr("StatusCode"), types.attr("EPOCH")};
  }();
  return *kClasses;
}

PyObject* ValueTypes::name_of(const Part& part) const {
  nb::object& name = names_[&part];
  if (!name.is_valid()) {
    const std::string_view text = types_.name(part);
    PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict");
    if (made == nullptr) throw nb::python_error();
    PyUnicode_InternInPlace(&made);
    name = nb::steal(made);
  }
  return name.ptr();
}

bool ValueTypes::is_hashable(std::uint32_t index) const {
  if (hashable_.size() <= index) hashable_.resize(index + std::size_t{1});
  if (hashable_[index] == Hashable::kUnknown) {
    // A type within itself finds this.
    hashable_[index] = Hashable::kNo;
    const bool its = find_hashable(types_.node(index));
    hashable_[index] = its ? Hashable::kYes : Hashable::kNo;
  }
  return hashable_[index] == Hashable::kYes;
}

bool ValueTypes::find_hashable(const detail::TypeDescription::Node& node) const {
  using detail::Shape;
  const auto part_is_hashable = [&](std::uint32_t place) {
    return is_hashable(types_.part(node, place).node);
  };
  switch (node.shape) {
    case Shape::kSequence:
    case Shape::kArray: {
      const auto& element = types_.node(types_.part(node, 0).node);
      return element.width == 1 && (element.shape == Shape::kUnsigned || element.shape == Shape::kChar);
    }
    case Shape::kSet:
    case Shape::kMultiset:
    case Shape::kMap:
    case Shape::kMultimap:
    case Shape::kAddition:
    case Shape::kVariant:
    case Shape::kResult:
    case Shape::kExpected:
      return false;
    case Shape::kOptional:
      return part_is_hashable(0);
    case Shape::kMembers:
      if (types_.has_names(node)) return false;
      for (std::uint32_t place = 0; place < node.count; ++place) {
        if (!part_is_hashable(place)) return false;
      }
      return true;
    case Shape::kDuration:
    case Shape::kTime:
    case Shape::kOtherTime:
      // Two times within one microsecond are equal in Python.
      return node.number % 1'000 == 0;
    default:
      return true;
  }
}

namespace {

std::string_view name_of(Layer layer) {
  return to_string(layer);
}
/// Single words, as the package documents them.
std::string_view name_of(Retry retry) {
  return retry == Retry::kBackoff ? "backoff" : to_string(retry);
}

}  // namespace

nb::object error_of(const Status& status) {
  const std::string_view message = status.message();
  const std::string_view details = status.details();
  nb::object text = nb::steal(
      PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace"));
  nb::object wait = nb::none();
  if (const Duration after = status.retry_after(); after > Duration::zero()) {
    wait = nb::float_(std::chrono::duration<double>(after).count());
  }
  return PythonClasses::get().rpc_error(static_cast<int>(status.code()), text,
                                        std::string{name_of(status.layer())},
                                        std::string{name_of(status.retry())}, status.native(), wait,
                                        status.unprocessed(), nb::bytes(details.data(), details.size()));
}

void raise(const Status& status) {
  const nb::object error = error_of(status);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

namespace {

[[noreturn]] void throw_wrong(PyObject* kind, const char* attribute, const std::string& reason) {
  const std::string text = std::string{"the "} + attribute + " of a weft.RpcError: " + reason;
  PyErr_SetString(kind, text.c_str());
  throw nb::python_error();
}

[[noreturn]] void throw_expected(const char* attribute, const char* wanted, nb::handle value) {
  throw_wrong(PyExc_TypeError, attribute,
              std::string{wanted} + " is expected, not " + Py_TYPE(value.ptr())->tp_name);
}

long long integer_of(nb::handle error, const char* attribute, long long low, long long high) {
  const nb::object value = error.attr(attribute);
  if (!PyLong_Check(value.ptr())) throw_expected(attribute, "an int", value);
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow != 0 || number < low || number > high) {
    throw_wrong(PyExc_ValueError, attribute,
                "a number from " + std::to_string(low) + " to " + std::to_string(high) + " is expected");
  }
  return number;
}

std::string text_of(nb::handle error, const char* attribute) {
  const nb::object value = error.attr(attribute);
  if (!PyUnicode_Check(value.ptr())) throw_expected(attribute, "a str", value);
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
  if (text == nullptr) {
    PyErr_Clear();
    throw_wrong(PyExc_ValueError, attribute, "the str has a lone surrogate, which is not UTF-8");
  }
  return {text, static_cast<std::size_t>(size)};
}

/// The value from the first to `last` whose name is the attribute.
template <typename Enum>
Enum named(nb::handle error, const char* attribute, Enum last) {
  const std::string name = text_of(error, attribute);
  for (unsigned number = 0; number <= static_cast<unsigned>(last); ++number) {
    const auto value = static_cast<Enum>(number);
    if (name_of(value) == name) return value;
  }
  throw_wrong(PyExc_ValueError, attribute, "'" + name + "' is none");
}

std::string details_of(nb::handle error) {
  const nb::object value = error.attr("details");
  if (!PyBytes_Check(value.ptr())) throw_expected("details", "a bytes", value);
  const auto size = static_cast<std::size_t>(PyBytes_GET_SIZE(value.ptr()));
  if (size > kStatusDetailsMax) {
    throw_wrong(PyExc_ValueError, "details",
                "at most " + std::to_string(kStatusDetailsMax) + " bytes are sent");
  }
  return {PyBytes_AS_STRING(value.ptr()), size};
}

Duration retry_after_of(nb::handle error) {
  const nb::object value = error.attr("retry_after");
  if (value.is_none()) return Duration::zero();
  const double seconds = PyFloat_AsDouble(value.ptr());
  if (seconds == -1.0 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw_expected("retry_after", "None or a number of seconds", value);
  }
  if (std::isnan(seconds)) throw_wrong(PyExc_ValueError, "retry_after", "a number is expected, not NaN");
  const double longest = std::chrono::duration<double>(kRetryAfterMax).count();
  const std::chrono::duration<double> wait{std::clamp(seconds, 0.0, longest)};
  return std::chrono::duration_cast<Duration>(wait);
}

}  // namespace

Status status_of(nb::handle rpc_error) {
  const auto code = static_cast<std::uint8_t>(integer_of(rpc_error, "code", 1, 16));
  constexpr std::numeric_limits<std::int32_t> kNative;
  const auto native =
      static_cast<std::int32_t>(integer_of(rpc_error, "native", kNative.min(), kNative.max()));
  const Layer layer = named(rpc_error, "layer", Layer::kRpc);
  const Retry retry = named(rpc_error, "retry", Retry::kReconnect);
  const std::string details = details_of(rpc_error);
  Status status{StatusCode{code}, layer, text_of(rpc_error, "message"), native, retry};
  if (!details.empty()) status = status.with_details(details);
  status.set_retry_after(retry_after_of(rpc_error));
  return status;
}

}  // namespace weft::python
