// SPDX-License-Identifier: Apache-2.0
#include <Python.h>
#include <datetime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "describe/json_path.hpp"
#include "describe/key_check.hpp"
#include "references.hpp"
#include "types.hpp"
#include "weft/detail/base/bytes.hpp"
#include "weft/detail/codec/choices.hpp"
#include "weft/detail/codec/limits.hpp"
#include "weft/detail/codec/trailer.hpp"
#include "weft/detail/describe/json.hpp"

namespace weft::python {

namespace {

using detail::KeyCheck;
using detail::Shape;
using detail::store_le;
using detail::TypeDescription;
using Node = TypeDescription::Node;

/// Writes the message of one Python value; the counterpart of the layer describe's JsonReader. Every function
/// throws nb::python_error for a value that does not fit.
class Encoder {
 public:
  Encoder(const ValueTypes& types, std::string_view title, std::vector<std::byte>& out)
      : names_(types), types_(types.description()), title_(title), out_(out) {}

  void encode(PyObject* value) {
    out_.clear();
    additions_.resize(types_.additions());
    put_value(types_.root(), value);
    put_additions();
  }

 private:
  /// A step from a value to one inside it.
  struct Step {
    enum class Kind : std::uint8_t { kMember, kElement, kKey } kind;
    std::uint64_t place = 0;
    std::string_view name{};
    PyObject* key = nullptr;
  };
  class Inside {
   public:
    Inside(Encoder& encoder, const Step& step) : encoder_(encoder) { encoder_.path_.push_back(step); }
    ~Inside() { encoder_.path_.pop_back(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Encoder& encoder_;
  };
  struct Addition {
    std::uint32_t node = 0;
    Reference value;
    std::vector<Step> path;
  };

  std::string place() const {
    std::string text{title_};
    for (const Step& step : path_) {
      if (step.kind == Step::Kind::kElement) {
        detail::append_element(text, step.place);
      } else if (step.kind == Step::Kind::kMember) {
        detail::append_member(text, step.name);
      } else {
        const Reference shown{PyObject_Repr(step.key)};
        const char* const key = shown ? PyUnicode_AsUTF8(shown.get()) : nullptr;
        if (key == nullptr) PyErr_Clear();
        text.append("[").append(key == nullptr ? "..." : key).append("]");
      }
    }
    return text;
  }
  [[noreturn]] void fail(PyObject* kind, const std::string& reason) const {
    // The text may have half a character of a name that a peer gave.
    const std::string text = place() + ": " + reason;
    const Reference message{
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace")};
    if (message) PyErr_SetObject(kind, message.get());
    throw nb::python_error();
  }
  [[noreturn]] void expect(const char* wanted, PyObject* value) const {
    fail(PyExc_TypeError, std::string{wanted} + " is expected, not " + Py_TYPE(value)->tp_name);
  }
  [[noreturn]] void out_of_range(const std::string& reason) const { fail(PyExc_ValueError, reason); }
  /// Passes on the exception of an object's own function, or of the interpreter.
  static PyObject* checked(PyObject* object) {
    if (object == nullptr) throw nb::python_error();
    return object;
  }

  static std::string shown(PyObject* value) {
    const Reference repr{checked(PyObject_Repr(value))};
    const char* const text = PyUnicode_AsUTF8(repr.get());
    if (text == nullptr) throw nb::python_error();
    return text;
  }

  std::byte* extend(std::size_t size) {
    out_.resize(out_.size() + size);
    return out_.data() + out_.size() - size;
  }
  template <typename T>
  void put(T number) {
    store_le(extend(sizeof number), number);
  }
  void put_bytes(const void* from, std::size_t size) {
    const Bytes bytes{static_cast<const std::byte*>(from), size};
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }
  void put_count(std::size_t count) {
    if (count > detail::CodecLimits::kElementsMax) out_of_range("it has too many elements");
    put(static_cast<std::uint32_t>(count));
  }
  void begin_container(const Node& node, std::size_t count) {
    put_count(count);
    extend((0 - out_.size()) & (node.element_alignment - std::size_t{1}));
    take_empty_elements(node.element_min, count);
  }
  void take_empty_elements(std::uint64_t size_min, std::uint64_t count) {
    if (size_min != 0) return;
    if (count > empty_elements_left_) out_of_range("there are too many elements that take no bytes");
    empty_elements_left_ -= count;
  }
  const Node& part_node(const Node& node, std::uint32_t place) const {
    return types_.node(types_.part(node, place).node);
  }

  void put_value(std::uint32_t index, PyObject* value) {
    if (path_.size() > detail::JsonBounds::kDepthMax || depth_ == detail::JsonBounds::kDepthMax) {
      out_of_range("values are nested too deeply");
    }
    ++depth_;
    put_shape(index, types_.node(index), value);
    --depth_;
  }
  void put_inside(const Step& step, std::uint32_t index, PyObject* value) {
    const Inside inside{*this, step};
    put_value(index, value);
  }
  void put_element(std::uint64_t place, const Node& node, PyObject* value) {
    put_inside({Step::Kind::kElement, place}, types_.part(node, 0).node, value);
  }

  void put_shape(std::uint32_t index, const Node& node, PyObject* value) {
    switch (node.shape) {
      case Shape::kBool:
        if (!PyBool_Check(value)) expect("a bool", value);
        return put(static_cast<std::uint8_t>(value == Py_True));
      case Shape::kChar:
        return put_char(value);
      case Shape::kUnsigned:
      case Shape::kSigned:
        return put_integer(node, value);
      case Shape::kFloat:
        return put_float(node, value);
      case Shape::kText:
        return put_text(value);
      case Shape::kSequence:
      case Shape::kSet:
      case Shape::kMultiset:
        return put_elements(node, value);
      case Shape::kMap:
      case Shape::kMultimap:
        return put_map(node, value);
      case Shape::kArray:
        return put_array(node, value);
      case Shape::kMembers:
        return put_members(node, value);
      case Shape::kAddition:
        additions_[node.number] = {index, Reference::to(value), path_};
        return;
      case Shape::kOptional:
        put(static_cast<std::uint8_t>(value != Py_None));
        if (value != Py_None) put_present(node, value);
        return;
      case Shape::kVariant:
        return put_variant(node, value);
      case Shape::kResult:
      case Shape::kExpected:
        return put_outcome(node, value);
      case Shape::kDuration:
      case Shape::kTime:
      case Shape::kOtherTime:
        return put_time(node, value);
    }
  }

  void put_char(PyObject* value) {
    if (PyUnicode_Check(value) && PyUnicode_GET_LENGTH(value) == 1 && PyUnicode_READ_CHAR(value, 0) < 0x80) {
      return put(static_cast<std::uint8_t>(PyUnicode_READ_CHAR(value, 0)));
    }
    if (PyBytes_Check(value) && PyBytes_GET_SIZE(value) == 1) return put(*PyBytes_AS_STRING(value));
    expect("a str of one ASCII character, or a bytes of length 1,", value);
  }

  void put_integer(const Node& node, PyObject* value) {
    if (PyBool_Check(value) || !PyIndex_Check(value)) expect("an int", value);
    const Reference number{checked(PyNumber_Index(value))};
    const bool is_signed = node.shape == Shape::kSigned;
    if (node.width > 8) return put_wide_integer(number.get(), node.width, is_signed);
    std::uint64_t bits = 0;
    bool fits = false;
    const unsigned width_bits = 8U * node.width;
    if (is_signed) {
      int overflow = 0;
      const long long its = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
      if (its == -1 && overflow == 0 && PyErr_Occurred() != nullptr) throw nb::python_error();
      const long long high =
          static_cast<long long>(std::numeric_limits<std::uint64_t>::max() >> (65 - width_bits));
      fits = overflow == 0 && its <= high && its >= -high - 1;
      bits = static_cast<std::uint64_t>(its);
    } else {
      bits = PyLong_AsUnsignedLongLong(number.get());
      fits = PyErr_Occurred() == nullptr && (width_bits == 64 || bits >> width_bits == 0);
      PyErr_Clear();
    }
    if (!fits) does_not_fit(number.get(), is_signed, width_bits);
    std::byte* const to = extend(node.width);
    for (unsigned i = 0; i < node.width; ++i) to[i] = static_cast<std::byte>(bits >> (8 * i));
  }
  void put_wide_integer(PyObject* number, unsigned width, bool is_signed) {
    const Reference bytes{integer_bytes(number, width, is_signed)};
    if (!bytes && PyErr_ExceptionMatches(PyExc_OverflowError) == 0) throw nb::python_error();
    PyErr_Clear();
    if (!bytes) does_not_fit(number, is_signed, 8 * width);
    put_bytes(PyBytes_AS_STRING(bytes.get()), width);
  }
  static PyObject* integer_bytes(PyObject* number, unsigned width, bool is_signed) {
    const Reference to_bytes{checked(PyObject_GetAttrString(number, "to_bytes"))};
    const Reference given{checked(Py_BuildValue("(Is)", width, "little"))};
    const Reference named{checked(Py_BuildValue("{s:O}", "signed", is_signed ? Py_True : Py_False))};
    return PyObject_Call(to_bytes.get(), given.get(), named.get());
  }
  [[noreturn]] void does_not_fit(PyObject* number, bool is_signed, unsigned bits) const {
    out_of_range(shown(number).substr(0, 40) + " does not fit into " +
                 (is_signed ? "a signed" : "an unsigned") + " integer of " + std::to_string(bits) + " bits");
  }

  void put_float(const Node& node, PyObject* value) {
    if (PyBool_Check(value) || (!PyFloat_Check(value) && !PyIndex_Check(value))) expect("a float", value);
    const double number = PyFloat_AsDouble(value);
    if (number == -1.0 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      out_of_range("the number is too large for a float");
    }
    if (node.width == 8) return put(number);
    if (node.width != 4) out_of_range("long double has no value in Python");
    const auto narrow = static_cast<float>(number);
    if (std::isinf(narrow) && !std::isinf(number)) {
      out_of_range("the number is too large for a float of 32 bits");
    }
    put(narrow);
  }

  void put_text(PyObject* value) {
    if (PyBytes_Check(value)) {
      put_count(static_cast<std::size_t>(PyBytes_GET_SIZE(value)));
      return put_bytes(PyBytes_AS_STRING(value), static_cast<std::size_t>(PyBytes_GET_SIZE(value)));
    }
    if (!PyUnicode_Check(value)) expect("a str", value);
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(value, &size);
    if (text == nullptr) {
      PyErr_Clear();
      out_of_range("the str has a lone surrogate, which is not UTF-8");
    }
    put_count(static_cast<std::size_t>(size));
    put_bytes(text, static_cast<std::size_t>(size));
  }

  static bool is_byte(const Node& node) {
    return node.width == 1 && (node.shape == Shape::kUnsigned || node.shape == Shape::kChar);
  }
  /// Elements of `value` as a list or tuple. A text and a mapping are refused, although they have elements.
  Reference elements_of(PyObject* value, const char* wanted) {
    refuse_iterator_in_trial(value);
    if (PyUnicode_Check(value) || PyDict_Check(value) || Py_TYPE(value)->tp_iter == nullptr) {
      if (PySequence_Check(value) == 0 || PyUnicode_Check(value) || PyDict_Check(value))
        expect(wanted, value);
    }
    return Reference{checked(PySequence_Fast(value, "an iterable is expected"))};
  }
  void put_elements(const Node& node, PyObject* value) {
    const Node& element = part_node(node, 0);
    if (node.shape == Shape::kSequence && PyObject_CheckBuffer(value) != 0 &&
        put_array_of(node, element, value)) {
      return;
    }
    const bool bytes = node.shape == Shape::kSequence && is_byte(element);
    const Reference list = elements_of(value, bytes ? "a bytes-like object" : "a list");
    // A list may change while code of its elements runs.
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(list.get());
    begin_container(node, static_cast<std::size_t>(count));
    const bool unique = node.shape == Shape::kSet;
    KeyCheck::Mark mark = keys_.begin();
    for (Py_ssize_t i = 0; i < count; ++i) {
      const std::size_t key_at = out_.size();
      const Reference item = item_of(list.get(), i, count);
      put_element(static_cast<std::uint64_t>(i), node, item.get());
      if (unique) keys_.add(mark, out_.data(), {key_at, out_.size() - key_at});
    }
    if (unique && !keys_.end(mark, out_.data())) out_of_range("a value stands twice in a set");
  }
  Reference item_of(PyObject* list, Py_ssize_t place, Py_ssize_t count) const {
    if (PySequence_Fast_GET_SIZE(list) != count) out_of_range("the list changed while it was sent");
    return Reference::to(PySequence_Fast_GET_ITEM(list, place));
  }
  /// Copies an object that has a buffer of numbers of the element's type. False for other objects.
  bool put_array_of(const Node& node, const Node& element, PyObject* value) {
    BufferView view;
    if (!view.get(value, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS)) return false;
    if (!matches(element, view.its())) {
      if (is_byte(element)) expect("a bytes-like object", value);
      return false;
    }
    if (view.its().ndim > 1) out_of_range("an array of one dimension is expected");
    begin_container(node, view.size() / element.width);
    put_bytes(view.data(), view.size());
    return true;
  }
  static bool matches(const Node& element, const Py_buffer& view) {
    if (is_byte(element)) return view.itemsize == 1;
    if (view.itemsize != element.width || view.format == nullptr) return false;
    const char* format = view.format;
    if (*format == '@' || *format == '=' || *format == '<') ++format;
    if (format[0] == '\0' || format[1] != '\0') return false;
    switch (element.shape) {
      case Shape::kFloat:
        return *format == 'd' || *format == 'f';
      case Shape::kSigned:
        return std::strchr("bhilqn", *format) != nullptr;
      case Shape::kUnsigned:
        return std::strchr("BHILQN", *format) != nullptr;
      default:
        return false;
    }
  }
  void put_array(const Node& node, PyObject* value) {
    const Node& element = part_node(node, 0);
    if (is_byte(element) && PyObject_CheckBuffer(value) != 0) {
      BufferView view;
      if (!view.get(value, PyBUF_SIMPLE)) expect("a contiguous bytes-like object", value);
      if (view.size() != node.number) wrong_count(node);
      return put_bytes(view.data(), view.size());
    }
    const Reference list = elements_of(value, "a list");
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(list.get());
    if (static_cast<std::uint64_t>(count) != node.number) wrong_count(node);
    take_empty_elements(node.size_min, node.number);
    for (Py_ssize_t i = 0; i < count; ++i) {
      const Reference item = item_of(list.get(), i, count);
      put_element(static_cast<std::uint64_t>(i), node, item.get());
    }
  }
  [[noreturn]] void wrong_count(const Node& node) const {
    out_of_range(std::to_string(node.number) + " elements are expected");
  }

  void put_map(const Node& node, PyObject* value) {
    const bool multi = node.shape == Shape::kMultimap;
    // Pairs are also what a map is decoded as if a dict cannot have its keys.
    const bool takes_pairs = multi || !names_.is_hashable(types_.part(node, 0).node);
    if (!takes_pairs && !PyDict_Check(value)) expect("a dict", value);
    const Reference items =
        PyDict_Check(value) ? Reference{checked(PyDict_Items(value))} : elements_of(value, "a list of pairs");
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.get());
    begin_container(node, static_cast<std::size_t>(count));
    KeyCheck::Mark mark = keys_.begin();
    for (Py_ssize_t i = 0; i < count; ++i) {
      const Reference pair = item_of(items.get(), i, count);
      if (!PyTuple_Check(pair.get()) || PyTuple_GET_SIZE(pair.get()) != 2) {
        const Inside inside{*this, {Step::Kind::kElement, static_cast<std::uint64_t>(i)}};
        expect("a pair of key and value", pair.get());
      }
      const Step step{Step::Kind::kKey, 0, {}, PyTuple_GET_ITEM(pair.get(), 0)};
      const std::size_t key_at = out_.size();
      put_inside(step, types_.part(node, 0).node, PyTuple_GET_ITEM(pair.get(), 0));
      if (!multi) keys_.add(mark, out_.data(), {key_at, out_.size() - key_at});
      put_inside(step, types_.part(node, 1).node, PyTuple_GET_ITEM(pair.get(), 1));
    }
    if (!multi && !keys_.end(mark, out_.data())) out_of_range("a key stands twice in a map");
  }

  Step step_to(const Node& node, std::uint32_t place) const {
    const std::string_view name = types_.name(types_.part(node, place));
    if (name.empty()) return {Step::Kind::kElement, place};
    return {Step::Kind::kMember, place, name};
  }
  /// A struct from a dict or an object with attributes, by names; or from a tuple or list, by places.
  void put_members(const Node& node, PyObject* value) {
    const bool named = types_.has_names(node) && node.count != 0;
    if (PyTuple_Check(value) || PyList_Check(value)) return put_positions(node, value);
    if (PyDict_Check(value) && (named || node.count == 0)) return put_dict(node, value);
    if (node.count == 0) {
      if (value != Py_None) expect("None", value);
      return;
    }
    if (!named) expect("a tuple", value);
    if (value == Py_None || PyUnicode_Check(value) || PyBytes_Check(value) || PyNumber_Check(value) != 0) {
      expect("a dict, or an object with these attributes,", value);
    }
    for (std::uint32_t place = 0; place < node.count; ++place) {
      Reference member{PyObject_GetAttr(value, names_.name_of(types_.part(node, place)))};
      if (!member) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError) == 0) throw nb::python_error();
        PyErr_Clear();
      }
      put_member(node, place, member.get());
    }
  }
  void put_dict(const Node& node, PyObject* value) {
    Py_ssize_t used = 0;
    // A value may be dropped from the dict while it is encoded.
    std::vector<Reference> members;
    members.reserve(node.count);
    for (std::uint32_t place = 0; place < node.count; ++place) {
      PyObject* const found = PyDict_GetItemWithError(value, names_.name_of(types_.part(node, place)));
      if (found == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
      used += found != nullptr ? 1 : 0;
      members.push_back(Reference::to(found));
    }
    if (used != PyDict_GET_SIZE(value)) unknown_member(node, value);
    for (std::uint32_t place = 0; place < node.count; ++place) put_member(node, place, members[place].get());
  }
  [[noreturn]] void unknown_member(const Node& node, PyObject* dict) const {
    const Reference keys{checked(PyDict_Keys(dict))};
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.get()); ++i) {
      PyObject* const key = PyList_GET_ITEM(keys.get(), i);
      bool known = false;
      for (std::uint32_t place = 0; place < node.count && !known; ++place) {
        known = PyObject_RichCompareBool(key, names_.name_of(types_.part(node, place)), Py_EQ) == 1;
      }
      if (known) continue;
      out_of_range("there is no member " + shown(key));
    }
    out_of_range("a member is unknown");
  }
  void put_positions(const Node& node, PyObject* value) {
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(value);
    if (count > static_cast<Py_ssize_t>(node.count)) {
      fail(PyExc_TypeError,
           "at most " + std::to_string(node.count) + " values are expected, not " + std::to_string(count));
    }
    for (std::uint32_t place = 0; place < node.count; ++place) {
      const bool given = static_cast<Py_ssize_t>(place) < count;
      const Reference member = given ? item_of(value, static_cast<Py_ssize_t>(place), count) : Reference{};
      put_member(node, place, member.get());
    }
  }
  /// Null: it is missing.
  void put_member(const Node& node, std::uint32_t place, PyObject* value) {
    const std::uint32_t index = types_.part(node, place).node;
    if (value != nullptr) return put_inside(step_to(node, place), index, value);
    const Shape shape = types_.node(index).shape;
    if (shape == Shape::kAddition) return;
    if (shape == Shape::kOptional) return put(std::uint8_t{0});
    const Inside inside{*this, step_to(node, place)};
    fail(PyExc_TypeError, "the value is missing");
  }

  /// The value of an optional; where the value may be None itself, it is in a tuple of one.
  void put_present(const Node& node, PyObject* value) {
    const std::uint32_t inner = types_.part(node, 0).node;
    if (types_.node(inner).shape != Shape::kOptional) return put_value(inner, value);
    if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) != 1)
      expect("None, or a tuple of one value,", value);
    put_inside({Step::Kind::kElement, 0}, inner, PyTuple_GET_ITEM(value, 0));
  }
  void put_variant(const Node& node, PyObject* given) {
    if (is_instance(given, PythonClasses::get().variant)) return put_chosen(node, given);
    // Each trial below reads the value.
    Reference list;
    if (PyIter_Check(given) != 0) {
      refuse_iterator_in_trial(given);
      list = Reference{checked(PySequence_List(given))};
    }
    PyObject* const value = list ? list.get() : given;
    if (trial_depth_ == 0) trials_ = 0;
    std::uint32_t fitting = node.count;
    for (std::uint32_t place = 0; place < node.count; ++place) {
      if (!fits_alternative(node, place, value)) continue;
      if (fitting != node.count) out_of_range("several alternatives fit: give a weft.Variant(index, value)");
      fitting = place;
    }
    if (fitting == node.count) expect("a value of one of the alternatives", value);
    put_alternative(node, fitting, value);
  }
  void put_chosen(const Node& node, PyObject* variant) {
    const nb::object index = nb::handle(variant).attr("index");
    if (PyBool_Check(index.ptr()) || !PyIndex_Check(index.ptr())) {
      expect("an int as the index of a weft.Variant", index.ptr());
    }
    const Reference number{checked(PyNumber_Index(index.ptr()))};
    int overflow = 0;
    const long long place = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
    if (overflow != 0 || place < 0 || place >= static_cast<long long>(node.count)) {
      out_of_range("the variant has " + std::to_string(node.count) + " alternatives, and no " +
                   shown(number.get()).substr(0, 40));
    }
    const nb::object inner = nb::handle(variant).attr("value");
    put_alternative(node, static_cast<std::uint32_t>(place), inner.ptr());
  }
  void put_alternative(const Node& node, std::uint32_t place, PyObject* value) {
    put(static_cast<std::uint8_t>(place));
    put_value(types_.part(node, place).node, value);
  }
  /// Tries it out, and takes everything back.
  bool fits_alternative(const Node& node, std::uint32_t place, PyObject* value) {
    // Each level tries each alternative twice, which must not multiply.
    if (++trials_ > kTrialsMax) {
      refuse(PyExc_ValueError, "the variants are nested too deeply: give weft.Variant(index, value)");
    }
    const std::size_t size = out_.size();
    const unsigned depth = depth_;
    const std::uint64_t empty = empty_elements_left_;
    const KeyCheck::Mark keys = keys_.begin();
    ++trial_depth_;
    bool fits = true;
    try {
      put_alternative(node, place, value);
    } catch (nb::python_error& error) {
      if (refused_ || (!error.matches(PyExc_TypeError) && !error.matches(PyExc_ValueError))) throw;
      fits = false;
    }
    --trial_depth_;
    out_.resize(size);
    depth_ = depth;
    empty_elements_left_ = empty;
    // Forgets the keys of containers that the trial did not end.
    static_cast<void>(keys_.end(keys, out_.data()));
    return fits;
  }
  /// Fails for the whole value, also within a trial.
  [[noreturn]] void refuse(PyObject* kind, const std::string& reason) {
    refused_ = true;
    fail(kind, reason);
  }
  void refuse_iterator_in_trial(PyObject* value) {
    if (trial_depth_ == 0 || PyIter_Check(value) == 0) return;
    refuse(
        PyExc_TypeError,
        "an iterator inside of a variant can be read only once: give a list, or weft.Variant(index, value)");
  }
  static bool is_instance(PyObject* value, const nb::object& of) {
    const int its = PyObject_IsInstance(value, of.ptr());
    if (its < 0) throw nb::python_error();
    return its == 1;
  }

  void put_outcome(const Node& node, PyObject* value) {
    if (!is_instance(value, PythonClasses::get().outcome)) expect("a weft.Outcome", value);
    const nb::object its_ok = nb::handle(value).attr("ok");
    if (!PyBool_Check(its_ok.ptr())) expect("a bool as the ok of a weft.Outcome", its_ok.ptr());
    const bool ok = its_ok.ptr() == Py_True;
    const nb::object inner = nb::handle(value).attr("value");
    put(static_cast<std::uint8_t>(ok));
    const bool expected = node.shape == Shape::kExpected;
    const Inside inside{*this, {Step::Kind::kMember, 0, "value"}};
    if (ok && node.count == (expected ? 1U : 0U)) {
      if (!inner.is_none()) expect("None", inner.ptr());
    } else if (ok || expected) {
      put_value(types_.part(node, ok ? 0 : node.count - 1).node, inner.ptr());
    } else {
      if (!is_instance(inner.ptr(), PythonClasses::get().rpc_error)) expect("a weft.RpcError", inner.ptr());
      put_failure(failure_of(inner));
    }
  }
  /// Adds the place to what status_of() throws.
  Status failure_of(nb::handle error) const {
    try {
      return status_of(error);
    } catch (nb::python_error& wrong) {
      const bool type = wrong.matches(PyExc_TypeError);
      if (!type && !wrong.matches(PyExc_ValueError)) throw;
      fail(type ? PyExc_TypeError : PyExc_ValueError, nb::str(wrong.value()).c_str());
    }
  }
  void put_failure(const Status& failure) {
    put(static_cast<std::uint8_t>(failure.code()));
    put(static_cast<std::uint8_t>(failure.layer()));
    const auto wait = static_cast<std::uint32_t>(failure.retry_after() / std::chrono::milliseconds{1});
    unsigned retry = static_cast<std::uint8_t>(failure.retry());
    if (wait != 0) retry |= detail::codec_detail::kFailureHasWait;
    if (!failure.details().empty()) retry |= detail::codec_detail::kFailureHasDetails;
    put(static_cast<std::uint8_t>(retry));
    put(static_cast<std::int32_t>(failure.native()));
    put_count(failure.message().size());
    put_bytes(failure.message().data(), failure.message().size());
    if (wait != 0) put(wait);
    if (failure.details().empty()) return;
    put_count(failure.details().size());
    put_bytes(failure.details().data(), failure.details().size());
  }

  const Node& rep_of(const Node& node) const {
    const Node& inside = part_node(node, 0);
    return node.shape == Shape::kDuration ? inside : part_node(inside, 0);
  }
  void put_time(const Node& node, PyObject* value) {
    const Node& rep = rep_of(node);
    if (node.number == 0) return rep.shape == Shape::kFloat ? put_float(rep, value) : put_integer(rep, value);
    if (PyDateTimeAPI == nullptr) PyDateTime_IMPORT;
    Reference delta = Reference::to(value);
    if (node.shape == Shape::kTime) {
      if (!PyDateTime_Check(value)) expect("a datetime with a timezone", value);
      delta = Reference{PyNumber_Subtract(value, PythonClasses::get().epoch.ptr())};
      if (!delta) {
        PyErr_Clear();
        expect("a datetime with a timezone", value);
      }
    }
    if (!PyDelta_Check(delta.get())) expect("a timedelta", delta.get());
    __extension__ using Wide = __int128;
    const Wide seconds =
        Wide{PyDateTime_DELTA_GET_DAYS(delta.get())} * 86'400 + PyDateTime_DELTA_GET_SECONDS(delta.get());
    const Wide nanoseconds =
        seconds * 1'000'000'000 + Wide{PyDateTime_DELTA_GET_MICROSECONDS(delta.get())} * 1'000;
    if (nanoseconds % static_cast<Wide>(node.number) != 0) {
      out_of_range("the time is no multiple of " + std::to_string(node.number) + " ns");
    }
    const Wide ticks = nanoseconds / static_cast<Wide>(node.number);
    if (ticks > std::numeric_limits<std::int64_t>::max() ||
        ticks < std::numeric_limits<std::int64_t>::min()) {
      out_of_range("the time is too long");
    }
    const Reference number{checked(PyLong_FromLongLong(static_cast<std::int64_t>(ticks)))};
    put_integer(rep, number.get());
  }

  void put_additions() {
    std::size_t count = additions_.size();
    const auto is_present = [](const Addition& each) { return each.value && each.value.get() != Py_None; };
    while (count != 0 && !is_present(additions_[count - 1])) --count;
    for (std::size_t i = 0; i < count; ++i) {
      Addition& addition = additions_[i];
      if (!is_present(addition)) {
        put(detail::codec_detail::kAbsent);
        continue;
      }
      put(std::uint32_t{0});
      const std::size_t begin = out_.size();
      path_ = addition.path;
      put_present(types_.node(addition.node), addition.value.get());
      store_le(out_.data() + begin - 4, static_cast<std::uint32_t>(out_.size() - begin));
    }
  }

  static constexpr unsigned kTrialsMax = 4096;

  const ValueTypes& names_;
  const TypeDescription& types_;
  std::string_view title_;
  std::vector<std::byte>& out_;
  std::vector<Step> path_;
  std::vector<Addition> additions_;
  KeyCheck keys_;
  unsigned depth_ = 0;
  /// Trials within the outermost one that runs.
  unsigned trials_ = 0;
  unsigned trial_depth_ = 0;
  bool refused_ = false;
  std::uint64_t empty_elements_left_ = detail::CodecLimits::kEmptyElementsMax;
};

}  // namespace

void encode_value(const ValueTypes& types, PyObject* value, std::string_view title,
                  std::vector<std::byte>& out) {
  Encoder{types, title, out}.encode(value);
}

}  // namespace weft::python
