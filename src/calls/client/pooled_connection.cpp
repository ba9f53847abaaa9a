// SPDX-License-Identifier: Apache-2.0
#include "calls/client/pooled_connection.hpp"

#include <utility>

namespace weft::detail {

void PooledConnection::leave() {
  state_ = State::kLeaving;
  // The server may have calls of its own here; this side continues to serve them, and the server must begin
  // no more.
  if (setup_.host.methods != nullptr) session_->send_goaway("a pool's connection that it leaves", true);
  finish_when_empty();
}

void PooledConnection::abandon() noexcept {
  if (state_ == State::kOver) return;
  ended_from_ = std::exchange(state_, State::kOver);
  dialer_.drop();
  if (session_ != nullptr) session_->abandon();
}

void PooledConnection::on_dial_failed(const Status& why) {
  if (state_ != State::kOver) end(why);
}

Duration PooledConnection::idle_time(TimePoint now) {
  const std::uint64_t begun = session_->calls_out().table().entered() + session_->requests();
  if (begun != begun_ || is_used()) used_at_ = now;
  begun_ = begun;
  return now - used_at_;
}

SessionSetup PooledConnection::session_setup() {
  return {setup_.loop,
          *this,
          setup_.options.limits,
          setup_.host,
          setup_.logger,
          setup_.options.connect_timeout,
          setup_.options.checksums,
          true,
          false,
          setup_.calls_max};
}

void PooledConnection::on_dialled(std::unique_ptr<Connection> connection, Duration hello_timeout) {
  if (state_ == State::kOver) return;
  SessionSetup setup = session_setup();
  setup.hello_timeout = hello_timeout;
  session_ = std::make_unique<Session>(setup, std::move(connection), id_);
  session_->start();
}

void PooledConnection::on_session_ready(Session&) {
  state_ = State::kUp;
  used_at_ = up_since_ = setup_.loop.now();
  owner_.on_up(*this);
}

void PooledConnection::on_session_goaway(Session&) {
  if (state_ == State::kUp) {
    state_ = State::kLeaving;
    owner_.on_goaway(*this);
  }
  if (state_ == State::kLeaving) finish_when_empty();
}

void PooledConnection::on_session_room(Session& session) {
  session.seat().on_room();
  if (state_ == State::kUp) [[likely]] {
    owner_.on_room(*this);
  } else if (state_ == State::kLeaving) {
    finish_when_empty();
  }
}

void PooledConnection::on_session_closed(Session&, const Status& why) {
  if (state_ == State::kOver) return;
  end(state_ == State::kMaking ? why.with_context([this] { return "connect to " + setup_.options.connect; })
                               : why);
}

void PooledConnection::finish_when_empty() {
  if (!is_used() && !session_->may_be_called()) session_->finish();
}

void PooledConnection::end(const Status& why) {
  ended_from_ = std::exchange(state_, State::kOver);
  owner_.on_over(*this, why);
}

}  // namespace weft::detail
