// SPDX-License-Identifier: Apache-2.0
#include "protobuf/find_fault.hpp"

#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <optional>

#include "weft/detail/base/utf8.hpp"

namespace weft::protobuf {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

/// Levels of nesting that protobuf allows by default.
constexpr int kNestingMax = 100;

enum WireType : std::uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kGroup = 3,
  kGroupEnd = 4,
  kFixed32 = 5
};

/// Walks a message as it stands on the wire until something is wrong.
class Walker {
 public:
  explicit Walker(Bytes body) : body_(body) {}

  /// False when something is wrong; fault() says what. A message ends at `end`, or with its group's end.
  bool message(const Descriptor* type, std::size_t end, std::uint32_t group, int depth) {
    while (at_ < end) {
      const std::size_t began = at_;
      const std::optional<std::uint64_t> tag = varint(end);
      if (!tag) return false;
      const auto number = static_cast<std::uint32_t>(*tag >> 3);
      const auto wire = static_cast<std::uint32_t>(*tag & 7);
      if (*tag > UINT32_MAX || number == 0) return wrong(began, "a field's tag is invalid");
      if (wire == kGroupEnd) return group == number || wrong(began, "a group ends that was not begun");
      const FieldDescriptor* field =
          type != nullptr ? type->FindFieldByNumber(static_cast<int>(number)) : nullptr;
      if (!value(field, number, wire, end, depth)) return came_from(field, number);
    }
    return group == 0 || wrong(at_, "a group does not end");
  }

  std::string fault(const Descriptor& type) const {
    if (what_.empty()) return type.full_name() + ": the bytes are no such message";
    return type.full_name() + path_ + ": " + what_ + " (byte " + std::to_string(where_) + " of " +
           std::to_string(body_.size()) + ")";
  }

 private:
  /// Records the path on the way back from the fault, because only a fault needs one. The beginning of a long
  /// path is enough.
  bool came_from(const FieldDescriptor* field, std::uint32_t number) {
    constexpr std::size_t kPathShown = 60;
    path_.insert(0, field != nullptr ? "." + field->name() : ".#" + std::to_string(number));
    if (path_.size() > kPathShown) path_.replace(kPathShown, std::string::npos, "...");
    return false;
  }

  bool wrong(std::size_t where, const char* what) {
    where_ = where;
    what_ = what;
    return false;
  }

  std::optional<std::uint64_t> varint(std::size_t end) {
    const std::size_t began = at_;
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (at_ == end) {
        wrong(began, "the bytes end inside a number");
        return std::nullopt;
      }
      const auto byte = static_cast<std::uint64_t>(body_[at_++]);
      if (shift < 64) number |= (byte & 0x7F) << shift;
      if (byte < 0x80) return number;
    }
    wrong(began, "a number has more than ten bytes");
    return std::nullopt;
  }

  bool skip(std::size_t bytes, std::size_t end) {
    if (end - at_ < bytes) return wrong(at_, "the bytes end inside a field");
    at_ += bytes;
    return true;
  }

  bool value(const FieldDescriptor* field, std::uint32_t number, std::uint32_t wire, std::size_t end,
             int depth) {
    switch (wire) {
      case kVarint:
        return varint(end).has_value();
      case kFixed64:
        return skip(8, end);
      case kFixed32:
        return skip(4, end);
      case kBytes:
        return delimited(field, end, depth);
      case kGroup:
        if (depth >= kNestingMax) return too_deep();
        return message(field != nullptr ? field->message_type() : nullptr, end, number, depth + 1);
      default:
        return wrong(at_, "a field has no known wire type");
    }
  }

  bool delimited(const FieldDescriptor* field, std::size_t end, int depth) {
    const std::size_t began = at_;
    const std::optional<std::uint64_t> length = varint(end);
    if (!length) return false;
    if (*length > end - at_) return wrong(began, "it is said to be longer than what is left");
    const std::size_t its_end = at_ + static_cast<std::size_t>(*length);
    if (field != nullptr && field->type() == FieldDescriptor::TYPE_MESSAGE) {
      if (depth >= kNestingMax) return too_deep();
      return message(field->message_type(), its_end, 0, depth + 1);
    }
    if (field != nullptr && is_checked_text(*field)) {
      const std::size_t good = weft::detail::valid_utf8(body_.subspan(at_, its_end - at_));
      if (good != its_end - at_) return wrong(at_ + good, "the text is not UTF-8");
    }
    if (field != nullptr && field->is_packable() && !packed(*field, its_end)) return false;
    at_ = its_end;
    return true;
  }

  bool packed(const FieldDescriptor& field, std::size_t end) {
    const std::size_t width = width_of(field);
    if (width != 0) {
      return (end - at_) % width == 0 || wrong(at_, "a packed list ends inside a number");
    }
    while (at_ < end) {
      if (!varint(end)) return false;
    }
    return true;
  }

  static std::size_t width_of(const FieldDescriptor& field) {
    switch (field.type()) {
      case FieldDescriptor::TYPE_DOUBLE:
      case FieldDescriptor::TYPE_FIXED64:
      case FieldDescriptor::TYPE_SFIXED64:
        return 8;
      case FieldDescriptor::TYPE_FLOAT:
      case FieldDescriptor::TYPE_FIXED32:
      case FieldDescriptor::TYPE_SFIXED32:
        return 4;
      default:
        return 0;
    }
  }

  static bool is_checked_text(const FieldDescriptor& field) {
    return field.type() == FieldDescriptor::TYPE_STRING &&
           field.file()->syntax() == FileDescriptor::SYNTAX_PROTO3;
  }

  bool too_deep() { return wrong(at_, "messages are nested more than 100 deep"); }

  Bytes body_;
  std::size_t at_ = 0;
  std::string path_;
  std::string what_;
  std::size_t where_ = 0;
};

}  // namespace

std::string find_fault(const Descriptor& type, Bytes body) {
  Walker walker{body};
  static_cast<void>(walker.message(&type, body.size(), 0, 0));
  return walker.fault(type);
}

}  // namespace weft::protobuf
