// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/file_marks.hpp"

#include <sys/stat.h>

namespace weft::detail::tls {

namespace {

constexpr std::int64_t ns_of(const timespec& time) noexcept {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

FileMarks::FileMarks(const TlsOptions& options) {
  for (const TlsCertificate& certificate : options.certificates) {
    add(certificate.chain_file, certificate.chain_pem);
    add(certificate.key_file, certificate.key_pem);
  }
  add(options.ca_file, options.ca_pem);
  add(options.crl_file, options.crl_pem);
}

// What is given in memory wins over a file, which is then not read.
void FileMarks::add(const std::string& file, const std::string& pem) {
  if (file.empty() || !pem.empty()) return;
  struct stat info{};
  Mark mark;
  if (::stat(file.c_str(), &info) == 0) {
    mark = {info.st_dev, info.st_ino, info.st_size, ns_of(info.st_mtim), ns_of(info.st_ctim)};
  }
  marks_.push_back(mark);
}

}  // namespace weft::detail::tls
