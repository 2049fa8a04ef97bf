// What the two files of wallet::Consumer share.
#pragma once

#include <coffer/wallet/consumer.h>

#include "base/result.h"
#include "bus/commit_policy.h"
#include "wallet/lifecycle/tx_lifecycle_impl.h"
#include "wallet/sync/watch.h"

namespace coffer::wallet {

struct Consumer::Hit {
  WalletId wallet;
  std::vector<OwnedOutput> owned;
};

}  // namespace coffer::wallet
