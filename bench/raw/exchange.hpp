// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "raw/frame_reader.hpp"
#include "raw/protocol.hpp"
#include "raw/wire.hpp"

namespace weft::raw {

/// Serves the frames of one connection, once the hello has said how long they are.
/// Thread: the worker's.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// One receive and the answers to it. Returns false when the connection is over.
  virtual bool on_readable(Wire& wire, Scratch& scratch) = 0;
  /// Goes on sending. Returns false when the connection is over.
  virtual bool on_writable(Wire& wire) = 0;
  /// False while the peer does not take its answers.
  virtual bool wants_read() const = 0;
  virtual bool wants_write() const = 0;
};

/// `nobatch`: one send for each answer.
std::unique_ptr<Exchange> make_exchange(const Hello& hello, bool nobatch);

}  // namespace weft::raw
