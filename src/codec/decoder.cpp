// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/codec/decoder.hpp"

#include <exception>
#include <new>
#include <string>

namespace weft::detail::codec_detail {

namespace {

const char* describe(DecodeFault fault) {
  switch (fault) {
    case DecodeFault::kNone:
      return "nothing is wrong";
    case DecodeFault::kTruncated:
      return "the message ends inside a value";
    case DecodeFault::kCount:
      return "a container claims more elements than the bytes that are left can hold";
    case DecodeFault::kFlag:
      return "a flag is neither 0 nor 1";
    case DecodeFault::kVariant:
      return "a variant has no such alternative";
    case DecodeFault::kDepth:
      return "containers are nested too deeply (CodecLimits::kDepthMax)";
    case DecodeFault::kEmptyElements:
      return "too many elements that take no bytes (CodecLimits::kEmptyElementsMax)";
    case DecodeFault::kMemory:
      return "the values need too much memory for so few bytes (CodecLimits::kMemoryPerMessageByte)";
    case DecodeFault::kDuplicateKey:
      return "a set or a map has the same key twice";
    case DecodeFault::kCollisions:
      return "too many keys of a hash table share a bucket (CodecLimits::kBucketElementsMax)";
    case DecodeFault::kPadding:
      return "padding is not zero";
    case DecodeFault::kStatus:
      return "a result has neither a value nor a valid failure";
    case DecodeFault::kTrailer:
      return "what follows the values is no valid list of later additions";
    case DecodeFault::kRefused:
      return "a type of the user refused its bytes";
  }
  return "unknown fault";
}

}  // namespace

Status failure_of_decoding() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {StatusCode::kResourceExhausted, Layer::kCodec, "out of memory for the result of a call"};
  } catch (const std::exception& exception) {
    return {StatusCode::kInvalidArgument, Layer::kCodec,
            [&] { return std::string{"decoding the result of a call threw: "} + exception.what(); }};
  } catch (...) {
    return {StatusCode::kInvalidArgument, Layer::kCodec,
            "decoding the result of a call threw something that is no std::exception"};
  }
}

Status decode_failure(DecodeFault fault, std::size_t offset, std::size_t size, unsigned value) {
  const auto text = [&] {
    std::string message = "malformed message: ";
    message += describe(fault);
    if (fault != DecodeFault::kTrailer) message += ", in value " + std::to_string(value + 1);
    message += ", at byte " + std::to_string(offset) + " of " + std::to_string(size);
    return message;
  };
  return Status{StatusCode::kInvalidArgument, Layer::kCodec, text};
}

bool is_trailer(Bytes rest) {
  bool absent = false;
  while (!rest.empty()) {
    if (rest.size() < 4) return false;
    const auto size = load_le<std::uint32_t>(rest.data());
    rest = rest.subspan(4);
    absent = size == kAbsent;
    if (absent) continue;
    if (size > rest.size()) return false;
    rest = rest.subspan(size);
  }
  return !absent;
}

}  // namespace weft::detail::codec_detail
