// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <utility>

#include "weft/detail/base/bytes.hpp"

namespace weft::python {

/// An owned reference to a Python object, or null. With the GIL.
class Reference {
 public:
  Reference() noexcept = default;
  /// Takes `owned` over.
  explicit Reference(PyObject* owned) noexcept : object_(owned) {}
  static Reference to(PyObject* borrowed) noexcept {
    Py_XINCREF(borrowed);
    return Reference{borrowed};
  }
  Reference(Reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Reference& operator=(Reference&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Reference() { Py_XDECREF(object_); }

  PyObject* get() const noexcept { return object_; }
  PyObject* release() noexcept { return std::exchange(object_, nullptr); }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

/// The memory of an object with the buffer protocol, which keeps the object alive and its memory in place.
/// With the GIL, the destructor too.
class BufferView {
 public:
  BufferView() noexcept = default;
  BufferView(const BufferView&) = delete;
  BufferView& operator=(const BufferView&) = delete;
  ~BufferView() { PyBuffer_Release(&view_); }

  /// False without a Python error when `object` has no such memory.
  bool get(PyObject* object, int flags) {
    if (PyObject_GetBuffer(object, &view_, flags) == 0) return true;
    view_ = {};
    PyErr_Clear();
    return false;
  }
  const Py_buffer& its() const noexcept { return view_; }
  const void* data() const noexcept { return view_.buf; }
  std::size_t size() const noexcept { return static_cast<std::size_t>(view_.len); }
  Bytes bytes() const noexcept { return {static_cast<const std::byte*>(view_.buf), size()}; }
  MutableBytes mutable_bytes() const noexcept { return {static_cast<std::byte*>(view_.buf), size()}; }

 private:
  Py_buffer view_{};
};

}  // namespace weft::python
