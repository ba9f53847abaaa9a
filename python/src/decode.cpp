// SPDX-License-Identifier: Apache-2.0
#include <Python.h>
#include <datetime.h>

#include <string>

#include "describe/key_check.hpp"
#include "references.hpp"
#include "types.hpp"
#include "weft/detail/base/utf8.hpp"
#include "weft/detail/codec/choices.hpp"
#include "weft/detail/codec/decoder.hpp"
#include "weft/detail/codec/trailer.hpp"
#include "weft/detail/describe/json.hpp"

namespace weft::python {

namespace {

using detail::DecodeFault;
using detail::KeyCheck;
using detail::Shape;
using detail::TypeDescription;
using Node = TypeDescription::Node;

/// Thrown when the bytes are no message of the types; the decoder knows why.
struct BadMessage {};

/// Makes the Python value of one message; the counterpart of the layer describe's JsonWriter. Every function
/// returns a new reference, and throws BadMessage for bytes from a peer that are no message, or
/// nb::python_error when Python has no memory or no such value.
class ValueDecoder {
 public:
  ValueDecoder(const ValueTypes& types, Bytes message)
      : names_(types),
        types_(types.description()),
        message_(message),
        from_(message, arena_),
        bytes_left_(kFreeBytes + kBytesPerByte * std::uint64_t{message.size()}) {}

  nb::object decode() {
    try {
      Reference value = get_value(types_.root());
      get_additions();
      return nb::steal(value.release());
    } catch (const BadMessage&) {
      raise(failure());
    }
  }

 private:
  /// Place of an addition, which comes behind all values of the message: an element of a list, or a member of
  /// a dict. Both are in the value, which lives as long as the decoder.
  struct Hole {
    PyObject* container;
    PyObject* name;
    Py_ssize_t place;
    std::uint32_t node;
  };

  Status failure() const {
    Status why = failure_;
    if (why.ok())
      why = detail::codec_detail::decode_failure(from_.fault(), from_.offset(), message_.size(), 0);
    return why.with_context(types_.title());
  }
  void need(bool good) const {
    if (!good) throw BadMessage{};
  }
  [[noreturn]] void fail(DecodeFault fault) {
    from_.fail(fault);
    throw BadMessage{};
  }
  [[noreturn]] void fail(std::string_view reason) { fail(StatusCode::kInvalidArgument, reason); }
  [[noreturn]] void fail(StatusCode code, std::string_view reason) {
    failure_ = Status{code, Layer::kCodec, reason};
    throw BadMessage{};
  }
  static Reference checked(PyObject* object) {
    if (object == nullptr) throw nb::python_error();
    return Reference{object};
  }
  static void checked_call(int outcome) {
    if (outcome < 0) throw nb::python_error();
  }
  /// Counts memory of objects before they are made: a message of a few bytes may stand for many.
  void charge(std::uint64_t bytes, std::uint64_t count) {
    // Neither factor is more than 40 bits: counts are checked against the size of the message.
    if (bytes * count > bytes_left_) {
      fail(StatusCode::kResourceExhausted, "its objects would take too much memory for its size");
    }
    bytes_left_ -= bytes * count;
  }
  template <typename T>
  T get() {
    T number;
    need(from_.read_number(number));
    return number;
  }
  bool get_flag() {
    bool flag;
    need(from_.read_flag(flag));
    return flag;
  }
  const Node& part_node(const Node& node, std::uint32_t place) const {
    return types_.node(types_.part(node, place).node);
  }
  Reference get_part(const Node& node, std::uint32_t place) {
    return get_value(types_.part(node, place).node);
  }

  Reference get_value(std::uint32_t index) {
    if (depth_ == detail::JsonBounds::kDepthMax) fail("values are nested too deeply");
    ++depth_;
    Reference value = get_shape(index, types_.node(index));
    --depth_;
    return value;
  }

  Reference get_shape(std::uint32_t index, const Node& node) {
    switch (node.shape) {
      case Shape::kBool:
        return Reference::to(get_flag() ? Py_True : Py_False);
      case Shape::kChar:
        return get_char();
      case Shape::kUnsigned:
      case Shape::kSigned:
        return get_integer(node);
      case Shape::kFloat:
        return get_float(node);
      case Shape::kText:
        return text_of(get_text());
      case Shape::kSequence:
        return get_sequence(node);
      case Shape::kSet:
      case Shape::kMultiset:
        return get_set(node);
      case Shape::kMap:
      case Shape::kMultimap:
        return get_map(node);
      case Shape::kArray:
        return get_array(node);
      case Shape::kMembers:
        return get_members(index, node);
      case Shape::kAddition:
        break;  // get_members() knows its place
      case Shape::kOptional:
        return get_flag() ? get_present(node) : Reference::to(Py_None);
      case Shape::kVariant:
        return get_variant(node);
      case Shape::kResult:
      case Shape::kExpected:
        return get_outcome(node);
      case Shape::kDuration:
      case Shape::kTime:
      case Shape::kOtherTime:
        return get_time(node);
    }
    fail("an addition stands where none may stand");
  }

  Reference get_char() {
    const auto value = get<std::uint8_t>();
    const char character = static_cast<char>(value);
    if (value >= 0x80) return checked(PyBytes_FromStringAndSize(&character, 1));
    return checked(PyUnicode_FromStringAndSize(&character, 1));
  }
  Reference get_integer(const Node& node) {
    const std::byte* bytes;
    need(from_.take(node.width, bytes));
    // The interpreter keeps the integers of an unsigned byte.
    charge(kNumberBytes, node.width == 1 && node.shape == Shape::kUnsigned ? 0 : 1);
    const bool is_signed = node.shape == Shape::kSigned;
    if (node.width > 8) return wide_integer(bytes, node.width, is_signed);
    std::uint64_t bits = 0;
    for (unsigned i = 0; i < node.width; ++i) bits |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
    if (!is_signed) return checked(PyLong_FromUnsignedLongLong(bits));
    const unsigned unused = 64 - 8U * node.width;
    return checked(PyLong_FromLongLong(static_cast<std::int64_t>(bits << unused) >> unused));
  }
  static Reference wide_integer(const std::byte* bytes, unsigned width, bool is_signed) {
    auto* const type = reinterpret_cast<PyObject*>(&PyLong_Type);
    const Reference from_bytes = checked(PyObject_GetAttrString(type, "from_bytes"));
    const Reference object = checked(
        PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes), static_cast<Py_ssize_t>(width)));
    const Reference given = checked(Py_BuildValue("(Os)", object.get(), "little"));
    const Reference named = checked(Py_BuildValue("{s:O}", "signed", is_signed ? Py_True : Py_False));
    return checked(PyObject_Call(from_bytes.get(), given.get(), named.get()));
  }
  Reference get_float(const Node& node) {
    charge(kNumberBytes, 1);
    if (node.width == 4) return checked(PyFloat_FromDouble(static_cast<double>(get<float>())));
    if (node.width == 8) return checked(PyFloat_FromDouble(get<double>()));
    fail("long double has no value in Python");
  }

  std::string_view get_text() {
    const auto size = get<std::uint32_t>();
    const std::byte* bytes;
    need(from_.take(size, bytes));
    charge(1, kObjectBytes + std::uint64_t{size});
    return as_text({bytes, size});
  }
  /// A str, or bytes for a string that is no UTF-8.
  static Reference text_of(std::string_view text) {
    const auto size = static_cast<Py_ssize_t>(text.size());
    if (detail::valid_utf8(as_bytes(text)) != text.size())
      return checked(PyBytes_FromStringAndSize(text.data(), size));
    return checked(PyUnicode_DecodeUTF8(text.data(), size, "strict"));
  }

  static bool is_byte(const Node& node) {
    return node.width == 1 && (node.shape == Shape::kUnsigned || node.shape == Shape::kChar);
  }
  Reference get_bytes(std::uint64_t count) {
    const std::byte* bytes;
    need(from_.take(count, bytes));
    charge(1, kObjectBytes + count);
    return checked(
        PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes), static_cast<Py_ssize_t>(count)));
  }
  std::uint32_t get_count(const Node& node) {
    std::uint32_t count;
    need(from_.read_count(count, node.element_min, node.element_alignment));
    return count;
  }
  Reference new_list(std::uint64_t count) {
    charge(1, kObjectBytes + kSlotBytes * count);
    return checked(PyList_New(static_cast<Py_ssize_t>(count)));
  }
  Reference get_list(const Node& node, std::uint64_t count) {
    Reference list = new_list(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), get_part(node, 0).release());
    }
    return list;
  }
  Reference get_sequence(const Node& node) {
    const std::uint32_t count = get_count(node);
    return is_byte(part_node(node, 0)) ? get_bytes(count) : get_list(node, count);
  }
  Reference get_array(const Node& node) {
    if (is_byte(part_node(node, 0))) return get_bytes(node.number);
    if (node.size_min == 0) take_empty_elements(node.number);
    // A long array of short elements fits into the rest of the message, or the message is bad.
    if (node.size_min > from_.remaining()) fail(DecodeFault::kTruncated);
    return get_list(node, node.number);
  }
  void take_empty_elements(std::uint64_t count) {
    if (count > empty_elements_left_) fail(DecodeFault::kEmptyElements);
    empty_elements_left_ -= count;
  }

  Reference get_set(const Node& node) {
    const std::uint32_t count = get_count(node);
    if (node.shape == Shape::kMultiset) return get_list(node, count);
    const bool as_set = names_.is_hashable(types_.part(node, 0).node);
    charge(kPairBytes, as_set ? count + std::uint64_t{kPairsAtOnce} : 0);
    Reference set = as_set ? checked(PySet_New(nullptr)) : new_list(count);
    KeyCheck::Mark mark = keys_.begin();
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::size_t key_at = from_.offset();
      Reference key = get_part(node, 0);
      keys_.add(mark, message_.data(), {key_at, from_.offset() - key_at});
      if (as_set) {
        checked_call(PySet_Add(set.get(), key.get()));
      } else {
        PyList_SET_ITEM(set.get(), static_cast<Py_ssize_t>(i), key.release());
      }
    }
    if (!keys_.end(mark, message_.data())) fail(DecodeFault::kDuplicateKey);
    return set;
  }
  /// A dict, or a list of pairs for keys that a dict cannot have.
  Reference get_map(const Node& node) {
    const std::uint32_t count = get_count(node);
    const bool as_dict = node.shape == Shape::kMap && names_.is_hashable(types_.part(node, 0).node);
    charge(kPairBytes, count + std::uint64_t{kPairsAtOnce});
    Reference map = as_dict ? checked(PyDict_New()) : new_list(count);
    KeyCheck::Mark mark = keys_.begin();
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::size_t key_at = from_.offset();
      const Reference key = get_part(node, 0);
      if (node.shape == Shape::kMap) keys_.add(mark, message_.data(), {key_at, from_.offset() - key_at});
      const Reference value = get_part(node, 1);
      if (as_dict) {
        checked_call(PyDict_SetItem(map.get(), key.get(), value.get()));
      } else {
        PyList_SET_ITEM(map.get(), static_cast<Py_ssize_t>(i),
                        checked(PyTuple_Pack(2, key.get(), value.get())).release());
      }
    }
    if (!keys_.end(mark, message_.data())) fail(DecodeFault::kDuplicateKey);
    return map;
  }

  bool has_additions(const Node& node) const {
    for (std::uint32_t place = 0; place < node.count; ++place) {
      if (part_node(node, place).shape == Shape::kAddition) return true;
    }
    return false;
  }
  /// A dict by names; a tuple where there are none, or a list if later additions are put into it.
  Reference get_members(std::uint32_t index, const Node& node) {
    if (types_.has_names(node) && index != 0) return get_dict(node);
    const auto count = static_cast<Py_ssize_t>(node.count);
    const bool list = has_additions(node);
    charge(1, kObjectBytes + kSlotBytes * std::uint64_t{node.count});
    Reference all = checked(list ? PyList_New(count) : PyTuple_New(count));
    for (std::uint32_t place = 0; place < node.count; ++place) {
      const auto at = static_cast<Py_ssize_t>(place);
      const std::uint32_t inner = types_.part(node, place).node;
      const bool later = types_.node(inner).shape == Shape::kAddition;
      Reference value = later ? Reference::to(Py_None) : get_value(inner);
      if (later) holes_.push_back({all.get(), nullptr, at, inner});
      if (list) {
        PyList_SET_ITEM(all.get(), at, value.release());
      } else {
        PyTuple_SET_ITEM(all.get(), at, value.release());
      }
    }
    return all;
  }
  Reference get_dict(const Node& node) {
    charge(1, node.count == 0 ? kObjectBytes : kDictBytes + kMemberBytes * std::uint64_t{node.count});
    Reference dict = checked(PyDict_New());
    for (std::uint32_t place = 0; place < node.count; ++place) {
      const TypeDescription::Part& part = types_.part(node, place);
      PyObject* const name = names_.name_of(part);
      const bool later = types_.node(part.node).shape == Shape::kAddition;
      const Reference value = later ? Reference::to(Py_None) : get_value(part.node);
      if (later) holes_.push_back({dict.get(), name, 0, part.node});
      checked_call(PyDict_SetItem(dict.get(), name, value.get()));
    }
    return dict;
  }

  Reference get_present(const Node& node) {
    Reference value = get_part(node, 0);
    if (part_node(node, 0).shape != Shape::kOptional) return value;
    charge(kObjectBytes, 1);
    return checked(PyTuple_Pack(1, value.get()));
  }
  Reference get_variant(const Node& node) {
    const auto place = get<std::uint8_t>();
    if (place >= node.count) fail(DecodeFault::kVariant);
    charge(kInstanceBytes, 1);
    const Reference value = get_part(node, place);
    return checked(PyObject_CallFunction(PythonClasses::get().variant.ptr(), "iO", static_cast<int>(place),
                                         value.get()));
  }
  Reference get_outcome(const Node& node) {
    const bool ok = get_flag();
    const bool expected = node.shape == Shape::kExpected;
    charge(kInstanceBytes, 1);
    Reference value = Reference::to(Py_None);
    if (!ok && !expected) {
      value = Reference{error_of(get_failure()).release().ptr()};
    } else if (!ok || node.count != (expected ? 1U : 0U)) {
      value = get_part(node, ok ? 0 : node.count - 1);
    }
    return checked(PyObject_CallFunction(PythonClasses::get().outcome.ptr(), "OO", ok ? Py_True : Py_False,
                                         value.get()));
  }
  Status get_failure() {
    namespace codec = detail::codec_detail;
    charge(kErrorBytes, 1);
    const auto code = get<std::uint8_t>();
    const auto layer = get<std::uint8_t>();
    const auto flags = get<std::uint8_t>();
    const auto native = get<std::int32_t>();
    const auto retry =
        static_cast<std::uint8_t>(flags & ~(codec::kFailureHasWait | codec::kFailureHasDetails));
    if (code == 0 || !detail::is_status_code(code) || layer > static_cast<unsigned>(Layer::kRpc) ||
        retry > static_cast<unsigned>(Retry::kReconnect)) {
      fail(DecodeFault::kStatus);
    }
    Status failure{StatusCode{code}, Layer{layer}, get_text(), native, Retry{retry}};
    if ((flags & codec::kFailureHasWait) != 0) {
      failure.set_retry_after(std::chrono::milliseconds{get<std::uint32_t>()});
    }
    if ((flags & codec::kFailureHasDetails) != 0) {
      const std::string_view details = get_text();
      if (details.size() > kStatusDetailsMax) fail(DecodeFault::kStatus);
      failure = failure.with_details(details);
    }
    return failure;
  }

  const Node& rep_of(const Node& node) const {
    const Node& inside = part_node(node, 0);
    return node.shape == Shape::kDuration ? inside : part_node(inside, 0);
  }
  /// Makes a timedelta or a datetime. Both have a resolution of one microsecond, so nanoseconds are
  /// truncated.
  Reference get_time(const Node& node) {
    const Node& rep = rep_of(node);
    if (node.number == 0) return rep.shape == Shape::kFloat ? get_float(rep) : get_integer(rep);
    if (PyDateTimeAPI == nullptr) PyDateTime_IMPORT;
    const std::byte* bytes;
    need(from_.take(rep.width, bytes));
    charge(kObjectBytes, 1);
    __extension__ using Wide = __int128;
    std::uint64_t bits = 0;
    for (unsigned i = 0; i < rep.width; ++i) bits |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
    const unsigned unused = 64 - 8U * rep.width;
    const Wide ticks =
        rep.shape == Shape::kSigned ? Wide{static_cast<std::int64_t>(bits << unused) >> unused} : Wide{bits};
    Wide microseconds = ticks * static_cast<Wide>(node.number) / 1'000;
    constexpr Wide kPerDay = Wide{86'400} * 1'000'000;
    const Wide days = microseconds / kPerDay;
    microseconds %= kPerDay;
    if (days > 999'999'999 || days < -999'999'998) fail("a time is too long for a timedelta");
    const Reference delta =
        checked(PyDelta_FromDSU(static_cast<int>(days), static_cast<int>(microseconds / 1'000'000),
                                static_cast<int>(microseconds % 1'000'000)));
    if (node.shape != Shape::kTime) return Reference::to(delta.get());
    PyObject* const time = PyNumber_Add(PythonClasses::get().epoch.ptr(), delta.get());
    if (time == nullptr) {
      PyErr_Clear();
      fail("a time is outside of the years that a datetime has");
    }
    return Reference{time};
  }

  /// Reads what follows the values, and puts the additions that are present into their places.
  void get_additions() {
    std::vector<const Hole*> in_order(types_.additions());
    for (const Hole& hole : holes_) in_order[types_.node(hole.node).number] = &hole;
    for (const Hole* hole : in_order) {
      if (from_.remaining() == 0) return;
      if (hole != nullptr) get_addition(*hole);
    }
    if (from_.remaining() != 0 && !detail::codec_detail::is_trailer(from_.rest()))
      fail(DecodeFault::kTrailer);
  }
  void get_addition(const Hole& hole) {
    const auto size = get<std::uint32_t>();
    if (size == detail::codec_detail::kAbsent) return;
    if (size > from_.remaining()) fail(DecodeFault::kTrailer);
    const std::byte* const end = from_.narrow(size);
    Reference value = get_present(types_.node(hole.node));
    if (from_.remaining() != 0) fail(DecodeFault::kTrailer);
    from_.widen(end);
    if (hole.name != nullptr) {
      checked_call(PyDict_SetItem(hole.container, hole.name, value.get()));
    } else {
      checked_call(PyList_SetItem(hole.container, hole.place, value.release()));
    }
  }

  /// Usual bytes of objects in the interpreter; bools, None and short integers are shared.
  static constexpr std::uint64_t kObjectBytes = 64;
  static constexpr std::uint64_t kNumberBytes = 32;
  static constexpr std::uint64_t kSlotBytes = 8;
  /// An entry of a set, a map or a list of pairs, and those for which even the smallest of them has room.
  static constexpr std::uint64_t kPairBytes = 64;
  static constexpr unsigned kPairsAtOnce = 2;
  /// The dict of a struct, and each member of it.
  static constexpr std::uint64_t kDictBytes = 160;
  static constexpr std::uint64_t kMemberBytes = 24;
  /// A weft.Variant or weft.Outcome, and a weft.RpcError.
  static constexpr std::uint64_t kInstanceBytes = 160;
  static constexpr std::uint64_t kErrorBytes = 600;
  /// Bytes of objects for any message, and for each byte of it. Structs of at least four bytes on the wire
  /// take less than that.
  static constexpr std::uint64_t kFreeBytes = std::uint64_t{64} << 20;
  static constexpr std::uint64_t kBytesPerByte = 64;

  const ValueTypes& names_;
  const TypeDescription& types_;
  Bytes message_;
  detail::DecodeArena arena_;
  detail::Decoder from_;
  KeyCheck keys_;
  std::vector<Hole> holes_;
  unsigned depth_ = 0;
  std::uint64_t empty_elements_left_ = detail::CodecLimits::kEmptyElementsMax;
  std::uint64_t bytes_left_;
  Status failure_;
};

}  // namespace

nb::object decode_value(const ValueTypes& types, Bytes message) {
  return ValueDecoder{types, message}.decode();
}

}  // namespace weft::python
