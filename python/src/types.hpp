// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/describe/description.hpp"

/// Python objects to messages of the codec and back, by a description of their types. All functions need the
/// GIL.
namespace weft::python {

namespace nb = nanobind;

/// Classes of the package that values are made of. They are imported at the first use, and kept for ever: at
/// the end of the interpreter nobody may release them.
struct PythonClasses {
  nb::object variant;
  nb::object outcome;
  nb::object rpc_error;
  nb::object status_code;
  nb::object epoch;

  static const PythonClasses& get();
};

/// The types of a message, and the names of its members as Python has them.
class ValueTypes {
 public:
  using Part = detail::TypeDescription::Part;

  explicit ValueTypes(detail::TypeDescription types) : types_(std::move(types)) {}
  ValueTypes(const ValueTypes&) = delete;
  ValueTypes& operator=(const ValueTypes&) = delete;

  const detail::TypeDescription& description() const { return types_; }
  /// Returns the name of `part`, which is a part of description() and has a name. Borrowed.
  PyObject* name_of(const Part& part) const;
  /// True if values of this type may be in a set of Python, or keys of a dict, and different values stay
  /// different there. False for types that contain themselves.
  bool is_hashable(std::uint32_t index) const;

 private:
  const detail::TypeDescription types_;
  enum class Hashable : std::uint8_t { kUnknown, kNo, kYes };

  bool find_hashable(const detail::TypeDescription::Node& node) const;

  mutable std::unordered_map<const Part*, nb::object> names_;
  mutable std::vector<Hashable> hashable_;
};

/// Replaces `out` by the message that `value` stands for. Throws nb::python_error: a TypeError or a
/// ValueError that names the place, which begins with `title`.
void encode_value(const ValueTypes& types, PyObject* value, std::string_view title,
                  std::vector<std::byte>& out);

/// Returns the value of `message`. Throws nb::python_error: an RpcError for bytes that are no such message.
nb::object decode_value(const ValueTypes& types, Bytes message);

/// Returns an RpcError for `status`, which is not ok.
nb::object error_of(const Status& status);
/// Throws it as nb::python_error.
[[noreturn]] void raise(const Status& status);
/// Returns the status that an RpcError stands for. Throws nb::python_error, a TypeError or ValueError, for an
/// attribute that no status has.
Status status_of(nb::handle rpc_error);

}  // namespace weft::python
