#include "api/status_metrics.h"

#include <utility>

namespace coffer::api {

void set_status_metrics(Metrics& metrics, const Status& status) {
  auto set = [&](const char* name, const char* help, auto value, const Labels& labels = {}) {
    metrics.gauge(name, help, labels).set(static_cast<double>(value));
  };
  set("coffer_build_info", "Always 1; the labels tell what runs", 1,
      {{"version", status.version}, {"chain", status.chain}, {"network", status.network}});
  set("coffer_ready", "1 when /health/ready answers 200", status.ready ? 1 : 0);
  set("coffer_start_time_seconds", "When the process started", status.started_unix_ms / 1000);
  set("coffer_behind_blocks", "Blocks between the source's tip and ours", status.behind);
  if (status.tip) {
    set("coffer_tip_number", "Number of the tip", status.tip->number);
    set("coffer_tip_time_seconds", "Time of the tip", status.tip->time_unix_s);
  }
  if (status.source_tip_number)
    set("coffer_source_tip_number", "Number of the source's tip", *status.source_tip_number);
  set("coffer_mempool_transactions", "Transactions in the mempool", status.mempool_transactions);
  set("coffer_disk_bytes", "Bytes of the data directory", status.disk_bytes);
  const TotalsStatus& totals = status.totals;
  set("coffer_chain_blocks", "Blocks of the best chain", totals.blocks);
  set("coffer_chain_transactions", "Transactions of the best chain", totals.transactions);
  set("coffer_chain_invalid_transactions", "Those that failed their scripts",
      totals.invalid_transactions);
  set("coffer_chain_inputs", "Inputs spent along the best chain", totals.inputs);
  set("coffer_chain_outputs", "Outputs made along the best chain", totals.outputs);
  set("coffer_chain_bytes", "Bytes of the best chain's blocks", totals.bytes);
  set("coffer_rollbacks", "Rollbacks seen", totals.rollbacks);
  for (const ConsumerStatus& consumer : status.consumers) {
    Labels labels{{"consumer", consumer.name}};
    set("coffer_consumer_behind_blocks", "Blocks between its tip and the chain's", consumer.behind,
        labels);
    set("coffer_consumer_halted", "1 when it cannot follow", consumer.state == "halted" ? 1 : 0,
        labels);
    set("coffer_consumer_waiting", "1 while what it stands on is away",
        consumer.state == "waiting" ? 1 : 0, labels);
  }
}

}  // namespace coffer::api
