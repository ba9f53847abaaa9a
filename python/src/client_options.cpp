// SPDX-License-Identifier: Apache-2.0
#include "client.hpp"

namespace weft::python {

ClientOptions PythonOptions::client(Logger& logger) const {
  ClientOptions options;
  options.connect = url;
  options.connect_timeout = duration_of(connect_timeout);
  options.call_timeout = duration_of(call_timeout);
  options.logger = &logger;
  return options;
}

TransportOptions PythonOptions::transports() const {
  TransportOptions options;
  options.tls.ca_file = ca_file;
  options.tls.server_name = server_name;
  options.tls.insecure = insecure;
  if (!certificate_file.empty()) {
    TlsCertificate certificate;
    certificate.chain_file = certificate_file;
    certificate.key_file = key_file;
    options.tls.certificates.push_back(certificate);
  }
  return options;
}

void LogQueue::write(LogLevel level, std::string_view message) {
  const std::lock_guard lock(mutex_);
  if (lines_.size() == kLinesMax) lines_.pop_front();
  lines_.emplace_back(level, message);
  has_lines_.store(true, std::memory_order_relaxed);
}

nb::list LogQueue::take() {
  std::deque<std::pair<LogLevel, std::string>> lines;
  {
    const std::lock_guard lock(mutex_);
    lines.swap(lines_);
    has_lines_.store(false, std::memory_order_relaxed);
  }
  nb::list list;
  for (const auto& [level, text] : lines) {
    nb::object line = nb::steal(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
    list.append(nb::make_tuple(static_cast<int>(level), line));
  }
  return list;
}

}  // namespace weft::python
