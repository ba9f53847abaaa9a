// SPDX-License-Identifier: Apache-2.0
#include "method.hpp"

#include <utility>

namespace weft::python {

namespace {

detail::MethodDescription parsed(const UntypedMethod& method) {
  Result<detail::MethodDescription> types = detail::MethodDescription::parse(method.types());
  if (!types.ok()) raise(types.status().with_context(method.name()));
  return *std::move(types);
}

}  // namespace

std::shared_ptr<Method> Method::described(std::string name, std::string types, std::uint32_t schema,
                                          bool takes_stream, bool gives_stream) {
  UntypedMethod method{detail::DescribedFunction{.name = std::move(name),
                                                 .types = std::move(types),
                                                 .schema = schema,
                                                 .takes_stream = takes_stream,
                                                 .gives_stream = gives_stream}};
  detail::MethodDescription description = parsed(method);
  // A server that contradicts itself would be read by types that are not there.
  if (takes_stream != description.items_in.has_value() || gives_stream != description.items_out.has_value()) {
    raise(Status{StatusCode::kInternal, Layer::kCodec,
                 "the server describes the streams of '" + method.name() + "' in two ways"});
  }
  return std::make_shared<Method>(std::move(method), std::move(description));
}

std::shared_ptr<Method> Method::function(std::string name, std::string types) {
  Result<UntypedMethod> method = UntypedMethod::function(std::move(name), std::move(types));
  if (!method.ok()) raise(method.status());
  detail::MethodDescription description = parsed(*method);
  return std::make_shared<Method>(*std::move(method), std::move(description));
}

Method::Method(UntypedMethod method, detail::MethodDescription types)
    : method_(std::move(method)), arguments_(std::move(types.arguments)) {
  if (types.result) result_.emplace(*std::move(types.result));
  if (types.items_in) items_in_.emplace(*std::move(types.items_in));
  if (types.items_out) items_out_.emplace(*std::move(types.items_out));
}

std::vector<std::byte> Method::encode(const ValueTypes& types, nb::handle value, const char* what) const {
  std::vector<std::byte> message;
  encode_value(types, value.ptr(), name() + ": " + what, message);
  return message;
}

std::vector<std::byte> Method::arguments(nb::handle given) const {
  return encode(arguments_, given, "arguments");
}

std::vector<std::byte> Method::item(nb::handle given) const {
  if (!items_in_) {
    PyErr_Format(PyExc_TypeError, "%s takes no stream", name().c_str());
    throw nb::python_error();
  }
  return encode(*items_in_, given, "item");
}

nb::object Method::result(Bytes message) const {
  if (!result_) return nb::none();
  return decode_value(*result_, message);
}

nb::object Method::item_out(Bytes message) const {
  return decode_value(*items_out_, message);
}

}  // namespace weft::python
