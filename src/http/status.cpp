// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/http/status.hpp"

namespace weft::detail::http {

// RFC 9110, 15; RFC 6585 for 429 and 431; nginx for 499, which google.rpc.Code uses.
std::string_view reason_phrase(int status) noexcept {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 302:
      return "Found";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return {};
  }
}

// google/rpc/code.proto.
int http_status_of(StatusCode code) noexcept {
  switch (code) {
    case StatusCode::kOk:
      return 200;
    case StatusCode::kCancelled:
      return 499;
    case StatusCode::kInvalidArgument:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kOutOfRange:
      return 400;
    case StatusCode::kDeadlineExceeded:
      return 504;
    case StatusCode::kNotFound:
      return 404;
    case StatusCode::kAlreadyExists:
    case StatusCode::kAborted:
      return 409;
    case StatusCode::kPermissionDenied:
      return 403;
    case StatusCode::kResourceExhausted:
      return 429;
    case StatusCode::kUnimplemented:
      return 501;
    case StatusCode::kUnavailable:
      return 503;
    case StatusCode::kUnauthenticated:
      return 401;
    case StatusCode::kUnknown:
    case StatusCode::kInternal:
    case StatusCode::kDataLoss:
      break;
  }
  return 500;
}

StatusCode status_code_of(int http_status) noexcept {
  switch (http_status) {
    case 400:
    case 411:
    case 415:
    case 417:
      return StatusCode::kInvalidArgument;
    case 401:
      return StatusCode::kUnauthenticated;
    case 403:
      return StatusCode::kPermissionDenied;
    case 404:
      return StatusCode::kNotFound;
    case 405:
    case 501:
    case 505:
      return StatusCode::kUnimplemented;
    case 408:
    case 504:
      return StatusCode::kDeadlineExceeded;
    case 409:
      return StatusCode::kAborted;
    case 413:
    case 414:
    case 429:
    case 431:
      return StatusCode::kResourceExhausted;
    case 499:
      return StatusCode::kCancelled;
    case 502:
    case 503:
      return StatusCode::kUnavailable;
    case 500:
      return StatusCode::kInternal;
    default:
      break;
  }
  if (http_status >= 200 && http_status < 300) return StatusCode::kOk;
  return http_status >= 400 && http_status < 500 ? StatusCode::kFailedPrecondition : StatusCode::kUnknown;
}

}  // namespace weft::detail::http
