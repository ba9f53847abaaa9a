// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "weft/detail/transport/tls.hpp"

namespace weft::testing {

/// A folder of certificates that ends with this. A file is replaced whole, as programs that renew them do.
class TlsFiles {
 public:
  TlsFiles() {
    char name[] = "/tmp/weft-tls-XXXXXX";
    directory_ = ::mkdtemp(name);
  }
  TlsFiles(const TlsFiles&) = delete;
  TlsFiles& operator=(const TlsFiles&) = delete;
  ~TlsFiles() { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream{path(name + ".new")} << text;
    std::filesystem::rename(path(name + ".new"), path(name));
    return path(name);
  }
  /// Writes both files of a certificate.
  TlsCertificate write(const std::string& name, const TlsCertificate& own) const {
    return {.chain_file = write(name + ".pem", own.chain_pem), .key_file = write(name + ".key", own.key_pem)};
  }

 private:
  std::string directory_;
};

}  // namespace weft::testing
