// SPDX-License-Identifier: Apache-2.0
#include "access/watched_file.hpp"

#include <limits>
#include <utility>

namespace weft::detail {

WatchedFile::WatchedFile(std::string path, Duration look_interval, std::size_t bytes_max)
    : path_(std::move(path)),
      look_interval_(look_interval),
      bytes_max_(bytes_max),
      next_look_(std::numeric_limits<std::int64_t>::min()) {}

Result<Secret> WatchedFile::read() {
  stamp_ = stamp_of_file(path_);
  unsure_ = stamp_.is_young();
  Result<FileText> file = read_file(Layer::kRuntime, path_, bytes_max_);
  if (!file.ok()) {
    const bool being_written =
        file.status().code() == StatusCode::kUnavailable && file.status().native() == 0;
    unsure_ = unsure_ || being_written;
    return std::move(file).status();
  }
  stamp_ = file->stamp;
  contents_ = hash_(as_bytes(file->text.view()));
  return std::move(file->text);
}

std::optional<Result<Secret>> WatchedFile::look(TimePoint now) {
  next_look_.store(Deadline::after(now, look_interval_).at().time_since_epoch().count(),
                   std::memory_order_relaxed);
  const FileStamp there = stamp_of_file(path_);
  if (there == stamp_ && !unsure_) return std::nullopt;
  if (there != stamp_ && there != seen_ && may_be_half_written(stamp_, there)) {
    seen_ = there;
    return std::nullopt;
  }
  const std::uint64_t before = contents_;
  const bool was_there = stamp_.error == 0;
  Result<Secret> contents = read();
  if (contents.ok() && was_there && contents_ == before) return std::nullopt;
  return contents;
}

}  // namespace weft::detail
