// The log and the balances of a community as a file of lines, and what an auditor computes from it
// without the database: that every root and signature is right, that no transaction is there twice,
// and that the balances are what the log gives. docs/formats/token_log.md has the lines.
#pragma once

#include <functional>
#include <unordered_map>

#include "json/value.h"
#include "token/log/log.h"

namespace coffer::token {

// Takes a line, without its end. An error ends the export.
using LineSink = std::function<Result<>(std::string_view line)>;

struct Exported {
  std::uint64_t entries = 0, checkpoints = 0, unlogged = 0, wallets = 0;
};

// Everything at one moment of the database, in pages. Thread-safe. Errors: the sink's; those of
// sql::Reader; kCorrupt.
Result<Exported> export_log(const Community& community, const LineSink& sink);

inline constexpr std::size_t kMaxProblems = 100;

struct AuditReport {
  std::string community;
  std::uint64_t entries = 0;   // in the log
  std::uint64_t unlogged = 0;  // committed later than the last pass
  std::uint64_t wallets = 0, transactions = 0, checkpoints = 0;
  std::int64_t issuance = 0;
  std::optional<Checkpoint> checkpoint;  // the last one: what is signed
  std::optional<crypto::Ed25519PublicKey> public_key;
  bool is_key_known = false;          // it is the one that was expected
  std::vector<std::string> problems;  // the first kMaxProblems

  bool is_good() const { return problems.empty(); }
};

struct AuditExpectations {
  std::optional<crypto::Ed25519PublicKey> public_key = {};
  // That the auditor kept from earlier: the log must begin with what they say.
  std::vector<Checkpoint> checkpoints = {};
};

// Checks the lines one after another. Memory: 16 bytes an entry, some 60 a wallet. Not thread-safe.
class Auditor {
 public:
  explicit Auditor(AuditExpectations expected = {});

  // Errors: kInvalidInput for a line that is none; the file is not an export then.
  Result<> add_line(std::string_view line);
  // After the last line. Errors: kInvalidInput if lines are missing.
  Result<AuditReport> finish();

 private:
  Result<> take_head(const json::Value& line);
  Result<> take_entry(std::string_view text);
  Result<> take_unlogged(const json::Value& value);
  Result<> take_checkpoint(const json::Value& value);
  Result<> take_wallet(const json::Value& value);
  void book(const LogEntry& entry);
  void compare_with_kept();
  void find_repeated_ids();
  void add_problem(std::string problem);

  AuditExpectations expected_;
  AuditReport report_;
  bool has_head_ = false;
  Exported promised_;  // by the head
  Hash256 root_{};     // of the head
  mmr::LogReplay replay_;
  std::vector<Uuid> ids_;
  // Modulo 2^64: the order of the log is not that of the bookings, so sums may be out of range
  // meanwhile.
  std::unordered_map<Uuid, std::uint64_t, HashOfHash> balances_;
  std::uint64_t issued_ = 0, held_by_wallets_ = 0;
};

}  // namespace coffer::token
