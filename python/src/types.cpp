// SPDX-License-Identifier: Apache-2.0
#include "types.hpp"

#include <nanobind/stl/string.h>

#include <chrono>
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
                                        std::string{to_string(status.layer())},
                                        std::string{to_string(status.retry())}, status.native(), wait,
                                        status.unprocessed(), nb::bytes(details.data(), details.size()));
}

void raise(const Status& status) {
  const nb::object error = error_of(status);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

Status status_of(nb::handle rpc_error) {
  const auto code = nb::cast<unsigned>(nb::int_(rpc_error.attr("code")));
  if (code == 0 || !detail::is_status_code(code)) {
    PyErr_SetString(PyExc_ValueError, "an RpcError has a code from 1 to 16");
    throw nb::python_error();
  }
  return {StatusCode{static_cast<std::uint8_t>(code)}, Layer::kUser,
          nb::cast<std::string>(rpc_error.attr("message")), nb::cast<std::int32_t>(rpc_error.attr("native"))};
}

}  // namespace weft::python
