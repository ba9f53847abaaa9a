// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "weft/detail/base/file_text.hpp"
#include "weft/detail/transport/tls.hpp"

namespace weft::detail::tls {

/// Marks by which a change of the files of TlsOptions is seen without reading them.
class FileMarks {
 public:
  FileMarks() = default;
  /// Looks at each file. Throws std::bad_alloc.
  explicit FileMarks(const TlsOptions& options);

  bool empty() const noexcept { return marks_.empty(); }
  bool operator==(const FileMarks&) const = default;

  /// True if a file that is another than in `before` may be half written: see may_be_half_written().
  bool may_be_half_written_since(const FileMarks& before) const noexcept;

 private:
  void add(const std::string& file, const std::string& pem);

  std::vector<FileStamp> marks_;
};

}  // namespace weft::detail::tls
