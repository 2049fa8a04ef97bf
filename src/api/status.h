// What `coffer status`, GET /api/v1/status and the page show: one snapshot of the running process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coffer::api {

struct TipStatus {
  static constexpr std::string_view kSchema = "Tip";
  std::uint64_t ordinal = 0;
  std::uint64_t number = 0;
  std::uint64_t slot = 0;
  std::string hash;  // as the chain prints it
  std::int64_t time_unix_s = 0;
};

struct ConsumerStatus {
  static constexpr std::string_view kSchema = "Consumer";
  std::string name;
  std::string state;             // "following", "behind", "waiting" or "halted"
  std::optional<TipStatus> tip;  // nothing at Origin
  std::uint64_t behind = 0;      // blocks between its tip and the chain's
  std::string problem;           // why it halted; empty otherwise
  std::string repair;            // what to do about it; empty otherwise
};

struct TotalsStatus {  // along the best chain up to the consumer's tip
  static constexpr std::string_view kSchema = "Totals";
  std::uint64_t blocks = 0;
  std::uint64_t transactions = 0;
  std::uint64_t invalid_transactions = 0;
  std::uint64_t inputs = 0;
  std::uint64_t outputs = 0;
  std::uint64_t bytes = 0;
  std::uint64_t rollbacks = 0;  // since the process started
  std::string digest;           // over all blocks and transactions up to the tip, in order
};

// What an engine says of itself: a JSON object, or nothing when it is off.
struct ModuleStatus {
  std::string name;
  std::optional<std::string> json;
};

// A reason why the process, or one consumer, is not ready.
struct NotReady {
  static constexpr std::string_view kSchema = "NotReady";
  std::string consumer = {};  // empty: of all that follow the chain
  std::string reason = {};
  bool answers = true;  // requests are answered, from data that may be old
};

struct Status {
  std::string version;
  std::string chain;  // "bitcoin" or "cardano"
  std::string network;
  std::string data_dir;
  std::string source;          // as given, without credentials
  std::string source_state;    // "connecting", "syncing", "following", "stopped" or "failed"
  std::string source_problem;  // empty unless something is wrong
  std::int64_t started_unix_ms = 0;
  std::int64_t uptime_ms = 0;
  std::optional<TipStatus> tip;
  std::optional<std::uint64_t> source_tip_number;
  std::uint64_t behind = 0;  // blocks between the source's tip and ours
  std::uint64_t rollback_window = 0;
  bool ready = false;
  std::vector<std::string> not_ready_because;  // the reasons of `not_ready`
  std::vector<NotReady> not_ready;
  std::vector<ConsumerStatus> consumers;
  TotalsStatus totals;
  std::vector<ModuleStatus> modules;
  std::uint64_t mempool_transactions = 0;
  std::uint64_t disk_bytes = 0;
};

}  // namespace coffer::api
