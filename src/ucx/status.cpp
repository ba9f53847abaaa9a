// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/ucx/status.hpp"

#include <string>

#include "ucx/environment.hpp"
#include "weft/detail/ucx/library.hpp"

namespace weft::ucx {

namespace {

struct Meaning {
  StatusCode code;
  const char* advice;
};

Meaning meaning_of(ucs_status_t status) {
  using enum StatusCode;
  switch (status) {
    case UCS_ERR_NO_MESSAGE:
    case UCS_ERR_NO_ELEM:
      return {kNotFound, "nothing of that name is there"};
    case UCS_ERR_NO_RESOURCE:
    case UCS_ERR_BUSY:
      return {kResourceExhausted, "try again when operations have completed"};
    case UCS_ERR_SHMEM_SEGMENT:
      return {kUnavailable,
              "shared memory cannot be had: its owner has ended, is in another container or /dev/shm, or "
              "there is no room for a new segment in /dev/shm or within the limits of SysV"};
    case UCS_ERR_NO_MEMORY:
      return {kResourceExhausted,
              "memory is out: look at the limits of /dev/shm, SysV segments and locked pages"};
    case UCS_ERR_INVALID_PARAM:
      return {kInvalidArgument, "an argument or a setting is one that UCX refuses"};
    case UCS_ERR_INVALID_ADDR:
      return {kInvalidArgument, "the address or the key is not one that a UCX worker made"};
    case UCS_ERR_NO_DEVICE:
      return {
          kFailedPrecondition,
          "no device here carries what is asked for, by options (transports and devices; --ucx-tls and "
          "--ucx-devices) or by UCX_TLS and UCX_NET_DEVICES: weft info and ucx_info -d list what there is"};
    case UCS_ERR_UNREACHABLE:
      return {kUnavailable, "no transport of both sides leads there: compare their transports and devices"};
    case UCS_ERR_NOT_CONNECTED:
      return {kUnavailable, "there is no connection: the endpoint is closed or empty, or its peer is gone"};
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_IO_ERROR:
    case UCS_ERR_SOME_CONNECTS_FAILED:
      return {kUnavailable, "the peer is gone: close the endpoint and connect again"};
    case UCS_ERR_REJECTED:
      return {kUnavailable, "nobody listens there, or the listener refused"};
    case UCS_ERR_NOT_IMPLEMENTED:
    case UCS_ERR_UNSUPPORTED:
      return {kUnimplemented, "enable the feature in ContextOptions, or choose a transport that has it"};
    case UCS_ERR_MESSAGE_TRUNCATED:
      return {kOutOfRange, "the message is longer than the memory it was received into; the rest is lost"};
    case UCS_ERR_BUFFER_TOO_SMALL:
    case UCS_ERR_OUT_OF_RANGE:
    case UCS_ERR_EXCEEDS_LIMIT:
      return {kOutOfRange, "a size is beyond what the transport carries"};
    case UCS_ERR_CANCELED:
      return {kCancelled, "it was cancelled, its endpoint was closed, or its worker ended"};
    case UCS_ERR_ALREADY_EXISTS:
      return {kAlreadyExists, "something of that name is there already"};
    case UCS_ERR_TIMED_OUT:
      return {kDeadlineExceeded, "the peer did not answer in time"};
    default:
      if (status <= UCS_ERR_FIRST_LINK_FAILURE && status >= UCS_ERR_LAST_ENDPOINT_FAILURE) {
        return {kUnavailable, "the link to the peer failed: close the endpoint and connect again"};
      }
      return {kUnknown, "UCX gives no reason"};
  }
}

// The status may be formatted before UCX is loaded.
std::string words_of(ucs_status_t status) {
  if (detail::is_loaded()) return detail::library.ucs_status_string(status);
  return "UCX status " + std::to_string(static_cast<int>(status));
}

}  // namespace

Status to_status(ucs_status_t status, std::string_view what) {
  return to_status(status, what, {});
}

Status to_status(ucs_status_t status, std::string_view what, std::string_view advice) {
  const Meaning meaning = meaning_of(status);
  const auto text = [&] {
    return std::string{what}
        .append(": ")
        .append(words_of(status))
        .append(" (")
        .append(advice.empty() ? std::string_view{meaning.advice} : advice)
        .append(")");
  };
  return {meaning.code, Layer::kTransport, text, status};
}

Status to_setup_status(ucs_status_t status, std::string_view what, std::string_view prefix) {
  if (status != UCS_ERR_INVALID_PARAM) return to_status(status, what);
  return to_status(status, what, detail::suspects_in_environment(prefix));
}

}  // namespace weft::ucx
