// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weft::detail {

/// A type-erased reference to a callable that composes a text. The receiver can do without the text when
/// there is no memory for it. Does not own the callable.
class TextMaker {
 public:
  template <typename Make>
  explicit TextMaker(const Make& make) noexcept
      : make_(&make),
        call_([](const void* at) -> std::string { return (*static_cast<const Make*>(at))(); }) {}
  std::string operator()() const { return call_(make_); }

 private:
  const void* make_;
  std::string (*call_)(const void*);
};

}  // namespace weft::detail
