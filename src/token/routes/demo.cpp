#include "token/routes/demo.h"

#include <coffer/base/log.h>
#include "base/result.h"
#include "token/commands/open_ledger.h"
#include "token/log/key.h"
#include "token/settings.h"

namespace coffer::token {
namespace {

constexpr std::string_view kPeople[] = {"alice", "bob", "carol", "dave", "erin"};
constexpr std::int64_t kWelcome = 100;
constexpr std::string_view kMemos[] = {"coffee", "lunch", "thanks", "bus fare", "book club"};

const Actor kDemo{"demo"};

}  // namespace

Result<> make_demo_community(const config::Config& config) {
  const OpenLedger ledger = TRY(OpenLedger::make(config));
  Store& store = *ledger.store;
  if (!TRY(store.system_accounts()).empty()) return {};  // it lives already
  const Seeded seeded = TRY(store.seed({}, kDemo));
  TRY(init_log_key(store.ledger(), config.data_dir));
  for (const std::string_view name : kPeople) {
    const User user = TRY(store.create_user(random_uuid(), name, kDemo));
    const Transfer welcome{.id = random_uuid(),
                           .from = seeded.account.wallet,
                           .to = user.wallet,
                           .amount = kWelcome,
                           .memo = "welcome"};
    TRY(store.transfer(welcome, kDemo));
  }
  return {};
}

DemoLife::DemoLife(Communities& communities, std::string community)
    : communities_(communities), community_(std::move(community)), rng_(1) {
  task_.emplace([this](const auto&) { send_something(); },
                [](auto) { return api::PeriodicTask::Duration(std::chrono::seconds(3)); });
}

void DemoLife::send_something() {
  const auto store = communities_.find(community_);
  if (!store) return;
  const auto users = (*store)->users({});
  if (!users || users->items.size() < 2) return;
  const std::size_t count = users->items.size();
  const std::size_t from = rng_.below(count);
  const std::size_t to = (from + 1 + rng_.below(count - 1)) % count;
  const Transfer gift{.id = random_uuid(),
                      .from = users->items[from].wallet,
                      .to = users->items[to].wallet,
                      .amount = static_cast<std::int64_t>(1 + rng_.below(5)),
                      .memo = std::string(kMemos[rng_.below(std::size(kMemos))])};
  // Who has nothing left sends nothing: as in life.
  if (const auto sent = (*store)->transfer(gift, kDemo); !sent)
    log::debug("demo: nothing was sent", {{"problem", sent.error().message}});
}

}  // namespace coffer::token
