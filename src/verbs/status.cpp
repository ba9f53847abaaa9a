// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/verbs/status.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "verbs/library.hpp"
#include "weft/detail/verbs/posted.hpp"

namespace weft::verbs {

namespace {

struct Meaning {
  StatusCode code;
  const char* advice;
};

Meaning meaning_of(ibv_wc_status status) {
  using enum StatusCode;
  switch (status) {
    case IBV_WC_LOC_LEN_ERR:
      return {kOutOfRange,
              "the message is longer than the memory it was received into, or than the device carries"};
    case IBV_WC_LOC_PROT_ERR:
      return {kInvalidArgument, "the memory's registration has ended, or does not allow it"};
    case IBV_WC_WR_FLUSH_ERR:
      return {kUnavailable, "the queue pair had failed before: connect a new one"};
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_OP_ERR:
      return {kOutOfRange, "the peer's device refused it: its receive may be too short for the message"};
    case IBV_WC_REM_ACCESS_ERR:
      return {kPermissionDenied, "the peer's region does not allow it, or has ended"};
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
      return {kUnavailable, "the peer does not answer: it is gone, or the network between is"};
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return {kResourceExhausted,
              "the peer had no receive for it in time: post more, or send less at a time"};
    case IBV_WC_REM_ABORT_ERR:
      return {kUnavailable, "the peer gave it up: connect a new queue pair"};
    case IBV_WC_LOC_QP_OP_ERR:
      return {
          kInvalidArgument,
          "the device refused it: its port may be down, or the message longer than it carries, or than the "
          "peer's receive"};
    case IBV_WC_FATAL_ERR:
      return {kUnavailable, "the device failed"};
    default:
      return {kInternal, "the queue pair is of no further use"};
  }
}

std::string described(std::string_view what, std::string_view why, std::string_view advice) {
  std::string text{what};
  text += ": ";
  text += why;
  if (!advice.empty()) {
    text += " (";
    text += advice;
    text += ")";
  }
  return text;
}

Status failed(StatusCode code, std::string_view what, std::string_view why, std::string_view advice,
              std::int32_t native = 0) {
  return {code, Layer::kTransport, [&] { return described(what, why, advice); }, native};
}

// What registering memory needs is what most machines limit to a few megabytes.
std::string advice_on_memory() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return "memory is out, or the device has no room for more objects";
  }
  return "memory is out, the device has no room for more objects, or more memory would be locked than "
         "RLIMIT_MEMLOCK allows, which is " +
         std::to_string(limit.rlim_cur / 1024) +
         " KiB: raise it with `ulimit -l`, LimitMEMLOCK= or /etc/security/limits.conf";
}

}  // namespace

Status to_status(ibv_wc_status status, std::string_view what) {
  const Meaning meaning = meaning_of(status);
  const bool loaded = detail::load_library().ok();
  const std::string_view reason =
      loaded ? detail::library.ibv_wc_status_str(status) : "a work request has failed";
  return failed(meaning.code, what, reason, meaning.advice, status);
}

Status call_status(int error, std::string_view what) {
  const char* const why = ::strerrordesc_np(error);
  const std::string_view reason = why != nullptr ? why : "unknown error";
  const auto made = [&](StatusCode code, std::string_view advice) {
    return failed(code, what, reason, advice, error);
  };
  switch (error) {
    case ENOMEM:
      return {StatusCode::kResourceExhausted, Layer::kTransport,
              [&] { return described(what, reason, advice_on_memory()); }, error};
    case EINVAL:
      return made(StatusCode::kInvalidArgument, "the device does not grant what was asked for");
    case EACCES:
    case EPERM:
      return made(StatusCode::kPermissionDenied, "may this user open /dev/infiniband/uverbs*?");
    case ENOSYS:
    case EOPNOTSUPP:
      return made(StatusCode::kUnimplemented, "the device cannot do that");
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
      return made(
          StatusCode::kUnavailable,
          "no device answers at the peer's RDMA address: is there a network between the two devices?");
    case ENODEV:
    case EIO:
      return made(StatusCode::kUnavailable, "the device is gone");
    case ESHUTDOWN:
      return made(StatusCode::kUnavailable, "the queue pair had failed before: connect a new one");
    case ENOTCONN:
      return made(StatusCode::kFailedPrecondition, "connect() the queue pair first");
    case ECANCELED:
      return made(StatusCode::kCancelled, "its queue pair has ended");
    default:
      return made(StatusCode::kInternal, {});
  }
}

namespace detail {

Status failure_of(NotPosted not_posted, std::string_view what) {
  const auto made = [&](StatusCode code, std::string_view why) { return failed(code, what, why, {}); };
  switch (not_posted) {
    case NotPosted::kNoRecord:
      return made(
          StatusCode::kResourceExhausted,
          "too many operations are under way on the completion queue, or memory is out: await some first");
    case NotPosted::kNotRegistered:
      return made(StatusCode::kInvalidArgument,
                  "the memory is empty or of another protection domain than the queue pair");
    case NotPosted::kSegments:
      return made(StatusCode::kInvalidArgument, "more pieces of memory than segments_max of the queue");
    case NotPosted::kTooLong:
      return made(StatusCode::kOutOfRange, "longer than the remote memory, or than the 2 GiB of a message");
    case NotPosted::kUnaligned:
      return made(StatusCode::kInvalidArgument, "the word's address is no multiple of 8");
    case NotPosted::kNoWord:
      return made(StatusCode::kResourceExhausted, "no memory for the old value could be registered");
    case NotPosted::kSharedReceives:
      return made(StatusCode::kFailedPrecondition,
                  "the queue pair takes shared receives: post to its SharedReceiveQueue");
    case NotPosted::kNone:
      break;
  }
  return made(StatusCode::kFailedPrecondition, "it was awaited before");
}

Status failure_of(const Outcome& outcome, std::string_view what) {
  if (outcome.error == kNeverTold) {
    return failed(StatusCode::kUnavailable, what, "the completion queue cannot be asked any more",
                  "whether it was done nobody can tell: end its queues and make new ones");
  }
  return outcome.error != 0 ? call_status(outcome.error, what) : to_status(outcome.status, what);
}

}  // namespace detail

}  // namespace weft::verbs
