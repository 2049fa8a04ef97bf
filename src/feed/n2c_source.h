// A Cardano node as a source: node-to-client chain-sync over its Unix socket.
// Invariants: as many answers are owed as requests were sent; near the tip that is at most one, so
// that a wait for the next block, however long, asks once. After an error the connection is gone
// and intersect() makes a new one.
#pragma once

#include <coffer/chain/network.h>
#include "feed/n2c_connection.h"
#include "feed/source_base.h"

namespace coffer::feed {

struct N2cSourceOptions {
  std::filesystem::path socket;
  std::uint64_t network_magic = 0;
  int answer_timeout_ms = 60'000;  // for answers that the node owes at once
  int pipeline = 32;               // requests under way while far from the tip
};

class N2cSource final : public SourceBase {
 public:
  // Connects to nothing yet.
  N2cSource(N2cSourceOptions options, const Clock& clock);
  ~N2cSource() override;

  std::string describe() const override;
  // Connects anew. Errors: kUnavailable (retryable), kInvalidInput (refused, or not chain-sync),
  // kUsage, kTooLarge, kCancelled.
  Result<chain::Point> intersect(std::span<const chain::Point> points) override;
  // Errors: as intersect.
  Result<SourceEvent> next(int timeout_ms) override;
  std::string transport() const override { return "node-to-client chain-sync"; }

 private:
  // The answer to what was asked just now.
  Result<Bytes> answer_to(std::uint16_t protocol, ByteView question);
  Result<chain::Point> connect_at(std::span<const chain::Point> points);
  void on_interrupt() override { connection_.interrupt(); }
  // Sends requests up to what may be under way here.
  Result<> ask();
  // Nothing for a message that only says to wait.
  Result<std::optional<SourceEvent>> take(ByteView message);
  void note(const n2c::Tip& tip);
  void limit_confirmed_tip(const n2c::HeaderPlace& block, const n2c::Tip& tip);

  const N2cSourceOptions options_;
  const Clock& clock_;
  n2c::Connection connection_;
  int owed_ = 0;           // answers to RequestNext
  bool awaiting_ = false;  // the node said that it will answer when it has something
  bool far_from_tip_ = false;
  std::int64_t answered_ms_ = 0;  // when the node last answered, or was first asked
};

}  // namespace coffer::feed
