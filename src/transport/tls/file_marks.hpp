// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

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

 private:
  /// Zeros for a file that is not there.
  struct Mark {
    std::uint64_t device = 0;
    std::uint64_t node = 0;
    std::int64_t bytes = 0;
    std::int64_t written_ns = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Mark&) const = default;
  };
  void add(const std::string& file, const std::string& pem);

  std::vector<Mark> marks_;
};

}  // namespace weft::detail::tls
