// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <weft/weft.hpp>

/// Handlers that send five items, and readers that report the status at the end. The third item cannot be
/// decoded.
namespace weft::testing {

/// Ways in which decoding an item fails.
enum Fault : int { kRefused = 13, kThrows = 14, kNoMemory = 15 };

/// A number that cannot be decoded if it is a Fault.
struct Picky {
  int number = 0;
};

}  // namespace weft::testing

template <>
struct weft::CodecTraits<weft::testing::Picky> {
  using Wire = int;
  static Wire to_wire(const weft::testing::Picky& value) { return value.number; }
  static bool from_wire(int number, weft::testing::Picky& value) {
    if (number == weft::testing::kThrows) throw std::runtime_error("unwilling");
    if (number == weft::testing::kNoMemory) throw std::bad_alloc();
    value.number = number;
    return number != weft::testing::kRefused;
  }
};

namespace weft::testing {

inline constexpr int kPickyItems = 5;

inline Picky item_at(int at, int fault) {
  return {at == 2 ? fault : at};
}
inline StatusCode code_of(int fault) {
  return fault == kNoMemory ? StatusCode::kResourceExhausted : StatusCode::kInvalidArgument;
}

/// Items that were read, and the two reports of the end.
struct Outcome {
  int read = 0;
  Status status{};
  Status finished{};
};

template <typename S>
Task<Outcome> read_all(S& stream) {
  Outcome outcome;
  while (auto item = co_await stream.next()) ++outcome.read;
  outcome.status = stream.status();
  auto finished = co_await stream.finish();
  outcome.finished = finished.status();
  co_return outcome;
}
template <typename S>
Outcome read_all_blocking(S& stream) {
  Outcome outcome;
  while (stream.next()) ++outcome.read;
  outcome.status = stream.status();
  outcome.finished = stream.finish().status();
  return outcome;
}

/// `failure` says that an item of a stream could not be decoded.
inline void expect_names_item(const Status& failure, const std::string& way) {
  EXPECT_FALSE(failure.ok()) << way;
  EXPECT_THAT(failure.message(), ::testing::HasSubstr("an item of a stream")) << way;
}
inline void expect_loss(const Outcome& outcome, const std::string& way) {
  EXPECT_EQ(outcome.read, 2) << way;
  expect_names_item(outcome.status, way);
  EXPECT_FALSE(outcome.finished.ok()) << way;
  EXPECT_EQ(outcome.finished.code(), outcome.status.code()) << way << ": " << outcome.finished.to_string();
}

/// Reports of readers on any thread.
class ReadReports {
 public:
  void note(int read, Status status) {
    const std::lock_guard lock{mutex_};
    reports_.push_back({read, std::move(status), {}});
  }
  std::vector<Outcome> take() {
    const std::lock_guard lock{mutex_};
    return std::exchange(reports_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Outcome> reports_;
};

}  // namespace weft::testing
