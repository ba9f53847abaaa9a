// SPDX-License-Identifier: Apache-2.0
#include "transport/message_protocol.hpp"

#include <bit>
#include <string>
#include <utility>

namespace weft::detail {

namespace {

constexpr unsigned kFirstAmount = static_cast<unsigned>(MessageKind::kFetched);

bool adds_up(MessageKind kind) {
  return kind >= MessageKind::kFetched && kind <= MessageKind::kPlace;
}

unsigned place_of(MessageKind kind) {
  return static_cast<unsigned>(kind) - kFirstAmount;
}

}  // namespace

bool MessageProtocol::check(const MessageHeader& header, std::size_t content_bytes) noexcept {
  if (misbehaves()) return false;
  if ((rules_.kinds & bit_of(header.kind)) == 0) {
    misbehaved("sent a message that is not used");
  } else if ((content_bytes > 0) != has_content(header.kind)) {
    misbehaved("mixes up bytes and control");
  } else if ((header.runs != 0) != (header.kind == MessageKind::kOffer)) {
    misbehaved("mixes up bytes and offers");
  } else if ((header.value != 0) != has_value(header.kind) && !rules_.tells_fetched(header.kind)) {
    misbehaved("sent a number that means nothing");
  }
  return !misbehaves();
}

bool MessageProtocol::take(const MessageHeader& header) noexcept {
  if (misbehaves()) return false;
  if (header.sequence != taken_++) return misbehaved("sent its messages in another order"), false;
  if (!credit_.take_grant(header.granted)) return misbehaved("takes credit back"), false;
  if (!heard_ && header.kind != MessageKind::kProbe) return misbehaved("did not begin with a probe"), false;
  if (end_arrived_ && comes_before_end(header.kind)) return misbehaved("sends on after its end"), false;
  switch (header.kind) {
    case MessageKind::kProbe:
      if (std::exchange(heard_, true)) misbehaved("began twice");
      return false;
    case MessageKind::kCredit:
      return false;
    case MessageKind::kEnd:
      end_arrived_ = true;
      return true;
    case MessageKind::kEndTaken:
      if (!end_left_) return misbehaved("took an end that was not sent"), false;
      peer_took_end_ = true;
      return false;
    default:
      return true;
  }
}

Status MessageProtocol::misbehaviour() const {
  if (!misbehaves()) return {};
  return {StatusCode::kInvalidArgument, Layer::kTransport,
          [&] { return std::string{"the peer "} + misbehaviour_ + ' ' + rules_.over; }};
}

void MessageProtocol::want(MessageKind kind, std::uint32_t amount) noexcept {
  wanted_ |= bit_of(kind);
  if (adds_up(kind)) amounts_[place_of(kind)] += amount;
}

// Where all messages cost, an answer may take the last unit only when it tells of new credit.
bool MessageProtocol::has_credit_for(MessageKind kind) const noexcept {
  if (!rules_.all_cost) return true;
  if (kind == MessageKind::kCredit) return credit_.left() > 0;
  if (is_answer(kind)) return credit_.left() > (credit_.untold() > 0 ? 0 : MessageCredit::kKept);
  return credit_.left() > MessageCredit::kKeptByBytes;
}

std::uint32_t MessageProtocol::value_of(MessageKind kind) const noexcept {
  if (adds_up(kind)) return amounts_[place_of(kind)];
  if (kind != MessageKind::kReturn || credit_.left() <= rules_.credit_due) return 0;
  return credit_.left() - rules_.credit_due;
}

std::optional<MessageProtocol::Control> MessageProtocol::due() noexcept {
  while (wanted_ != 0) {
    const auto kind = static_cast<MessageKind>(std::countr_zero(wanted_));
    if (!has_credit_for(kind)) break;
    const std::uint32_t value = value_of(kind);
    const bool pointless =
        (has_value(kind) && value == 0) || (kind == MessageKind::kCredit && credit_.untold() == 0);
    if (!pointless) return Control{kind, value};
    forget(kind);
  }
  return std::nullopt;
}

MessageHeader MessageProtocol::stamp(Control control, std::uint32_t units) noexcept {
  const MessageKind kind = control.kind;
  forget(kind);
  credit_.spend(rules_.all_cost ? 1 : units);
  if (kind == MessageKind::kReturn) credit_.spend(control.value);
  if (rules_.tells_fetched(kind)) {
    forget(MessageKind::kFetched);
    control.value = std::exchange(amounts_[place_of(MessageKind::kFetched)], 0);
  }
  if (adds_up(kind)) amounts_[place_of(kind)] -= control.value;
  end_left_ = end_left_ || kind == MessageKind::kEnd;
  end_taken_left_ = end_taken_left_ || kind == MessageKind::kEndTaken;
  return {kind, credit_.tell(), control.value, stamped_++, control.runs};
}

}  // namespace weft::detail
