// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/file_marks.hpp"

namespace weft::detail::tls {

FileMarks::FileMarks(const TlsOptions& options) {
  for (const TlsCertificate& certificate : options.certificates) {
    add(certificate.chain_file, certificate.chain_pem);
    add(certificate.key_file, certificate.key_pem);
  }
  add(options.ca_file, options.ca_pem);
  add(options.crl_file, options.crl_pem);
}

// A text in memory wins over a file, which is then not read.
void FileMarks::add(const std::string& file, const std::string& pem) {
  if (!file.empty() && pem.empty()) marks_.push_back(stamp_of_file(file));
}

// Both have the same files, for they are of the same options.
bool FileMarks::may_be_half_written_since(const FileMarks& before) const noexcept {
  for (std::size_t i = 0; i < marks_.size() && i < before.marks_.size(); ++i) {
    const bool changed = marks_[i] != before.marks_[i];
    if (changed && may_be_half_written(before.marks_[i], marks_[i])) return true;
  }
  return false;
}

}  // namespace weft::detail::tls
