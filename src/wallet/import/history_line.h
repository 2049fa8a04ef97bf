// One line of a history file.
#pragma once

#include <coffer/wallet/store.h>
#include "wallet/query/labels.h"

namespace coffer::wallet {

struct HistoryHeader {};  // the first line, which fits this network
struct HistoryTx {
  Bytes raw;
  RecordOptions options;
};
struct HistoryDescriptor {
  std::string text;
  ImportOptions options;
};
struct HistoryScript {
  Bytes script;
  ImportOptions options;
};
struct HistoryLabel {
  LabelTarget target;
  std::string label;
};
struct HistoryLease {
  LeaseRequest request;
};
using HistoryLine = std::variant<HistoryHeader, HistoryTx, HistoryDescriptor, HistoryScript,
                                 HistoryLabel, HistoryLease>;

// Errors: kInvalidInput saying what is wrong with it.
Result<HistoryLine> parse_history_line(const chain::Network& network, std::string_view text);

}  // namespace coffer::wallet
