// SPDX-License-Identifier: Apache-2.0
// The module weft._core: what the package weft is made of. Its users are the modules of the package alone.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

#include "client.hpp"
#include "method.hpp"
#include "operation.hpp"

namespace weft::python {
namespace {

using MethodPtr = std::shared_ptr<Method>;

int get_buffer(PyObject* exporter, Py_buffer* view, int flags) {
  static char empty;
  Buffer& buffer = *nb::inst_ptr<Buffer>(exporter);
  void* const data = buffer.empty() ? static_cast<void*>(&empty) : buffer.data();
  return PyBuffer_FillInfo(view, exporter, data, static_cast<Py_ssize_t>(buffer.size()), 0, flags);
}

PyType_Slot kBufferSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)}, {0, nullptr}};

std::unique_ptr<CallOperation> make_call(const MethodPtr& method, nb::handle arguments, nb::handle timeout,
                                         nb::handle metadata, nb::handle attachment, nb::handle into,
                                         bool with_attachment) {
  return std::make_unique<CallOperation>(method, method->arguments(arguments),
                                         std::make_unique<HeldOptions>(timeout, metadata, attachment, into),
                                         with_attachment);
}

template <typename Client>
nb::class_<Client> bind_client(nb::module_& module, const char* name) {
  return nb::class_<Client>(module, name)
      .def(
          "__init__",
          [](Client* self, std::string url, double connect_timeout, double call_timeout, std::string ca_file,
             std::string certificate_file, std::string key_file, std::string server_name, bool insecure) {
            new (self) Client(PythonOptions{std::move(url), connect_timeout, call_timeout, std::move(ca_file),
                                            std::move(certificate_file), std::move(key_file),
                                            std::move(server_name), insecure});
          },
          nb::arg("url"), nb::kw_only(), nb::arg("connect_timeout"), nb::arg("call_timeout"),
          nb::arg("ca_file"), nb::arg("certificate_file"), nb::arg("key_file"), nb::arg("server_name"),
          nb::arg("insecure"))
      .def("take_log", &Client::take_log)
      .def("drop_stream", &Client::drop_stream)
      .def("close", &Client::close);
}

void bind_driven(nb::module_& module) {
  bind_client<DrivenClient>(module, "DrivenClient")
      .def("fileno", &DrivenClient::descriptor)
      .def("turn", &DrivenClient::turn)
      .def("cancel", &DrivenClient::cancel)
      .def(
          "call",
          [](DrivenClient& client, nb::object future, const MethodPtr& method, nb::handle arguments,
             nb::handle timeout, nb::handle metadata, nb::handle attachment, nb::handle into,
             bool with_attachment) {
            return client.start(
                make_call(method, arguments, timeout, metadata, attachment, into, with_attachment),
                std::move(future));
          },
          nb::arg("future"), nb::arg("method"), nb::arg("arguments"), nb::arg("timeout").none(),
          nb::arg("metadata").none(), nb::arg("attachment").none(), nb::arg("into").none(),
          nb::arg("with_attachment"))
      .def(
          "open",
          [](DrivenClient& client, nb::object future, const MethodPtr& method, nb::handle arguments,
             nb::handle timeout, nb::handle metadata) {
            auto options = std::make_shared<CopiedOptions>(timeout, metadata);
            const std::uint64_t number = client.new_number();
            client.start(std::make_unique<OpenOperation>(number, method, method->arguments(arguments),
                                                         std::move(options)),
                         std::move(future));
            return number;
          },
          nb::arg("future"), nb::arg("method"), nb::arg("arguments"), nb::arg("timeout").none(),
          nb::arg("metadata").none())
      .def("next",
           [](DrivenClient& client, nb::object future, std::uint64_t stream, const MethodPtr& method) {
             return client.start(std::make_unique<NextOperation>(stream, method), std::move(future));
           })
      .def(
          "write",
          [](DrivenClient& client, nb::object future, std::uint64_t stream, const MethodPtr& method,
             nb::handle item) {
            return client.start(std::make_unique<WriteOperation>(stream, method->item(item)),
                                std::move(future));
          },
          nb::arg("future"), nb::arg("stream"), nb::arg("method"), nb::arg("item").none())
      .def("finish", [](DrivenClient& client, nb::object future, std::uint64_t stream,
                        const MethodPtr& method, bool finishes) {
        return client.start(std::make_unique<FinishOperation>(stream, method, finishes), std::move(future));
      });
}

void bind_threaded(nb::module_& module) {
  bind_client<ThreadedClient>(module, "ThreadedClient")
      .def("has_log", &ThreadedClient::has_log)
      .def(
          "call",
          [](ThreadedClient& client, const MethodPtr& method, nb::handle arguments, nb::handle timeout,
             nb::handle metadata, nb::handle attachment, nb::handle into, bool with_attachment) {
            const auto call =
                make_call(method, arguments, timeout, metadata, attachment, into, with_attachment);
            return client.run(*call);
          },
          nb::arg("method"), nb::arg("arguments"), nb::arg("timeout").none(), nb::arg("metadata").none(),
          nb::arg("attachment").none(), nb::arg("into").none(), nb::arg("with_attachment"))
      .def(
          "open",
          [](ThreadedClient& client, const MethodPtr& method, nb::handle arguments, nb::handle timeout,
             nb::handle metadata) {
            auto options = std::make_shared<CopiedOptions>(timeout, metadata);
            const std::uint64_t number = client.new_number();
            OpenOperation open{number, method, method->arguments(arguments), std::move(options)};
            client.run(open);
            return number;
          },
          nb::arg("method"), nb::arg("arguments"), nb::arg("timeout").none(), nb::arg("metadata").none())
      .def("next",
           [](ThreadedClient& client, std::uint64_t stream, const MethodPtr& method) {
             NextOperation next{stream, method};
             return client.run(next);
           })
      .def(
          "write",
          [](ThreadedClient& client, std::uint64_t stream, const MethodPtr& method, nb::handle item) {
            WriteOperation write{stream, method->item(item)};
            return client.run(write);
          },
          nb::arg("stream"), nb::arg("method"), nb::arg("item").none())
      .def("finish",
           [](ThreadedClient& client, std::uint64_t stream, const MethodPtr& method, bool finishes) {
             FinishOperation finish{stream, method, finishes};
             return client.run(finish);
           });
}

}  // namespace

NB_MODULE(_core, module) {
  // A program may exit with calls in flight. Their Python objects are not released then.
  nb::set_leak_warnings(false);
  nb::class_<Buffer>(module, "Buffer", nb::type_slots(kBufferSlots))
      .def("__len__", [](const Buffer& buffer) { return buffer.size(); })
      .def("__bytes__", [](const Buffer& buffer) { return nb::bytes(buffer.data(), buffer.size()); })
      .def("__repr__", [](const Buffer& buffer) {
        return "<weft.Buffer of " + std::to_string(buffer.size()) + " bytes>";
      });
  nb::class_<Method>(module, "Method")
      .def_static("described",
                  [](std::string name, std::string types, std::uint32_t schema, bool takes_stream,
                     bool gives_stream) {
                    return Method::described(std::move(name), std::move(types), schema, takes_stream,
                                             gives_stream);
                  })
      .def_static("function",
                  [](std::string name, std::string types) {
                    return Method::function(std::move(name), std::move(types));
                  })
      .def_prop_ro("name", &Method::name)
      .def_prop_ro("types", &Method::types)
      .def_prop_ro("takes_stream", &Method::takes_stream)
      .def_prop_ro("gives_stream", &Method::gives_stream)
      // For tests: both conversions without a server.
      .def("encode_arguments",
           [](const Method& method, nb::handle arguments) {
             const std::vector<std::byte> message = method.arguments(arguments);
             return nb::bytes(message.data(), message.size());
           })
      .def("decode_result", [](const Method& method, const nb::bytes& message) {
        return method.result({reinterpret_cast<const std::byte*>(message.c_str()), message.size()});
      });
  bind_driven(module);
  bind_threaded(module);
}

}  // namespace weft::python
