// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/terms/attachment.hpp"

#include <limits>
#include <span>

namespace weft {

void Attachment::DropRuns::operator()(Runs* runs) const noexcept {
  delete runs;
}

// Empty runs are left out, so that a list with many of them costs no more than the runs that are sent.
Attachment::Attachment(AttachmentView runs, Buffer owner) : owner_(std::move(owner)), runs_(new Runs{runs}) {
  runs_->fault = runs.fault();
  if (runs_->fault != detail::RunsFault::kNone) {
    runs_->bytes = std::numeric_limits<std::size_t>::max();
    runs_->view = {};
    return;
  }
  runs_->bytes = runs.bytes();
  if (!runs.is_list()) return;
  runs_->list = std::make_unique_for_overwrite<Bytes[]>(runs.count());
  std::size_t count = 0;
  for (std::size_t i = 0; i < runs.count(); ++i) {
    if (!runs.run(i).empty()) runs_->list[count++] = runs.run(i);
  }
  const AttachmentView kept{std::span<const Bytes>{runs_->list.get(), count}};
  runs_->view = runs.is_shared() ? kept.shared() : kept;
}

}  // namespace weft
