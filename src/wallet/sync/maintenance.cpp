#include "wallet/sync/maintenance.h"

#include <map>

#include <coffer/base/log.h>
#include "base/result.h"
#include "base/stopwatch.h"

namespace coffer::wallet {
namespace {

constexpr std::chrono::seconds kEvery{30};  // look for expired leases and unfinished rescans

}  // namespace

void Maintenance::start() {
  thread_ = std::thread([this] { run(); });
}

void Maintenance::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    if (reader_ != nullptr) reader_->interrupt();
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<WalletInfo> Maintenance::request_rescan(std::string_view wallet,
                                               std::optional<std::uint64_t> from_height) {
  const WalletInfo found = TRY(store_.find(wallet));
  WalletInfo asked =
      TRY(store_.request_rescan(found.id, from_height.value_or(found.birthday_height)));
  {
    std::lock_guard lock(mutex_);
    asked_ = true;
  }
  wake_.notify_all();
  return asked;
}

void Maintenance::clean_leases() {
  const auto cleaned = store_.clean_leases();
  if (!cleaned) {
    log::warn("expired leases could not be taken away", {{"problem", cleaned.error().message}});
  } else if (*cleaned > 0) {
    log::info("expired leases taken away", {{"leases", *cleaned}});
  }
}

RescanTools Maintenance::tools(std::function<void(std::uint64_t, std::uint64_t)> progress) {
  return {store_,
          consumer_,
          options_.open_blocks,
          options_.block_at,
          stopping_,
          std::move(progress),
          [this](bus::BlockReader* reader) {
            std::lock_guard lock(mutex_);
            reader_ = reader;
            if (stopping_ && reader != nullptr) reader->interrupt();
          }};
}

Result<Rescanned> Maintenance::rescan_now(
    std::string_view wallet, std::optional<std::uint64_t> from_height,
    const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  const WalletInfo asked = TRY(request_rescan(wallet, from_height));
  return run_rescan(tools(progress), asked);
}

void Maintenance::run() {
  // A rescan may take hours.
  Stopwatch since_cleaned;
  const RescanTools rescan_tools = tools([&](std::uint64_t, std::uint64_t) {
    if (since_cleaned.seconds() < std::chrono::duration<double>(kEvery).count()) return;
    since_cleaned = {};
    clean_leases();
  });
  std::map<std::uint64_t, std::string> told;  // of each wallet, the problem that the log has
  while (!stopping_) {
    since_cleaned = {};
    clean_leases();
    const auto asked = store_.requested_rescans();
    if (!asked)
      log::warn("rescans could not be looked up, trying again later",
                {{"problem", asked.error().message}});
    for (const WalletInfo& wallet : asked.value_or(std::vector<WalletInfo>())) {
      if (stopping_) return;
      if (!told.contains(wallet.id.value))
        log::info("rescan", {{"wallet", wallet.name}, {"from", *wallet.rescan_next}});
      const auto done = run_rescan(rescan_tools, wallet);
      if (done) {
        told.erase(wallet.id.value);
        log::info(
            "rescan done",
            {{"wallet", wallet.name}, {"blocks", done->blocks}, {"transactions", done->changed}});
      } else if (done.error().code != Code::kCancelled &&
                 done.error().message != told[wallet.id.value]) {
        told[wallet.id.value] = done.error().message;
        log::warn("rescan failed, trying again now and then",
                  {{"wallet", wallet.name}, {"problem", done.error().message}});
      }
    }
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, kEvery, [&] { return stopping_ || asked_; });
    asked_ = false;
  }
}

}  // namespace coffer::wallet
