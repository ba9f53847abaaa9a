// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "types.hpp"
#include "weft/untyped.hpp"

namespace weft::python {

/// A method of a server, and the conversions of its messages. Immutable. With the GIL.
class Method {
 public:
  /// A method as its server describes it. Throws nb::python_error for types that have no values in Python.
  static std::shared_ptr<Method> described(std::string name, std::string types, std::uint32_t schema,
                                           bool takes_stream, bool gives_stream);
  /// A function by the text of its types.
  static std::shared_ptr<Method> function(std::string name, std::string types);

  Method(UntypedMethod method, detail::MethodDescription types);

  const UntypedMethod& untyped() const noexcept { return method_; }
  const std::string& name() const noexcept { return method_.name(); }
  const std::string& types() const noexcept { return method_.types(); }
  bool takes_stream() const noexcept { return method_.takes_stream(); }
  bool gives_stream() const noexcept { return method_.gives_stream(); }

  /// Encodes a tuple of arguments. Throws nb::python_error that names the wrong value.
  std::vector<std::byte> arguments(nb::handle given) const;
  std::vector<std::byte> item(nb::handle given) const;
  /// Decodes what a peer sent. Throws nb::python_error.
  nb::object result(Bytes message) const;
  nb::object item_out(Bytes message) const;

 private:
  std::vector<std::byte> encode(const ValueTypes& types, nb::handle value, const char* what) const;

  const UntypedMethod method_;
  const ValueTypes arguments_;
  std::optional<ValueTypes> result_;
  std::optional<ValueTypes> items_in_;
  std::optional<ValueTypes> items_out_;
};

}  // namespace weft::python
