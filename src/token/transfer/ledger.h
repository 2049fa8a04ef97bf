// What a list of transfers asks of the database and writes to it, in one SQL transaction: lock and
// read, decide in memory, insert. Group commit and batches are made of these three steps.
// Invariant: whatever decide() accepts the mover accepts, because everything it depends on is
// locked.
#pragma once

#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "token/community.h"
#include "token/transfer/judge.h"

namespace coffer::token {

// A transfer that check_transfer() has seen, and what becomes of it.
struct Pending {
  const Transfer* transfer = nullptr;
  std::string_view actor;
  // A commit with it was sent before and its outcome is unknown: to find it is no repeat.
  bool was_sent = false;
  Result<Applied> answer = Applied{};
};

// A transaction of the history, as far as a repeat is compared with it (T9).
struct StoredTransfer {
  Uuid from{}, to{};
  std::int64_t amount = 0;
  int type = 1;
  std::int64_t created_at_ms = 0;
  std::int64_t balance = 0;  // of the sender, right after it
  bool has_memo = false, has_metadata = false, is_erased = false;
  std::optional<std::string> memo, metadata;
};
// Whether the connection was lost while the commit was under way, so that its outcome is unknown.
bool is_commit_unknown(const Error& error);

// With details erased it is only compared whether there were any.
bool is_same_transfer(const Transfer& transfer, const StoredTransfer& stored);

struct Situation {
  Judge judge;
  std::unordered_map<Uuid, StoredTransfer, HashOfHash> stored;  // by id
};

// After a commit of unknown outcome, on locked wallets: what was sent together was committed
// together. Where one of those that were sent is missing, none of them is stored by us, and what is
// there is somebody else's: none counts as sent then, and the answer is true.
bool forget_unsent(std::span<Pending> pending, const Situation& situation);

enum class LockMode : std::uint8_t {
  kWait,
  kSkipLocked,  // wallets that another session has locked are left out of the situation
};

// Locks the wallets of all transfers in the order of their ids (T2) and reads what decides them. On
// SQLite the transaction has locked everything.
Result<Situation> read_situation(sql::Transaction& sql, const Community& community,
                                 std::span<const Pending> pending, LockMode mode);
// Of the wallets that the situation lacks, those that exist: another session has locked them.
Result<std::unordered_set<Uuid, HashOfHash>> find_locked_elsewhere(sql::Transaction& sql,
                                                                   const Community& community,
                                                                   std::span<const Pending> pending,
                                                                   Situation& situation);

// Answers each transfer in order: applied, a repeat, or refused. The places of those that are to be
// inserted. With `stop_at_refusal` the rest is left as it is.
std::vector<std::size_t> decide(std::span<Pending> pending, Situation& situation,
                                bool stop_at_refusal = false);

// Whether a refusal may be due to holds that have expired; if so they are ended now (T10), and
// read_situation() and decide() are to be called again. Once per transaction.
Result<bool> expire_holds_in_the_way(sql::Transaction& sql, const Community& community,
                                     std::span<const Pending> pending, std::int64_t now_ms);

// Inserts the accepted ones and commits. Errors: those of the mover and of commit_with(), with
// nothing inserted.
Result<> insert_and_commit(sql::Transaction& sql, const Community& community,
                           std::span<const Pending> pending, std::span<const std::size_t> accepted);
// The same without the commit.
Result<> insert_transfers(sql::Transaction& sql, const Community& community,
                          std::span<const Pending> pending, std::span<const std::size_t> accepted);

// Inserts all of them without a look first, commits and answers: the mover judges (T1). Half the
// work of the steps above, for lists that are probably good. Errors: a refusal, or an id that
// exists, with nothing inserted; the steps above then say whose. With `lock_ms` a server's locks
// are waited for so long only.
Result<> insert_at_once(sql::Transaction& sql, const Community& community,
                        std::span<Pending> pending, std::optional<int> lock_ms = {});
// The answers of a list that was applied, from what its senders have in the end.
using Balances = std::unordered_map<Uuid, std::int64_t, HashOfHash>;
void answer_backwards(std::span<Pending> pending, Balances balances, std::int64_t now_ms);

// ---- of one engine (postgres.cpp, sqlite.cpp) ----
Result<> insert_at_once_postgres(sql::Transaction& sql, const Community& community,
                                 std::span<Pending> pending, std::optional<int> lock_ms);
Result<> insert_at_once_sqlite(sql::Transaction& sql, const Community& community,
                               std::span<Pending> pending);
Result<Situation> read_situation_postgres(sql::Transaction& sql, const Community& community,
                                          std::span<const Pending> pending, LockMode mode);
Result<Situation> read_situation_sqlite(sql::Transaction& sql, const Community& community,
                                        std::span<const Pending> pending);
Result<> insert_postgres(sql::Transaction& sql, const Community& community,
                         std::span<const Pending> pending, std::span<const std::size_t> accepted,
                         bool commit);
Result<> insert_sqlite(sql::Transaction& sql, const Community& community,
                       std::span<const Pending> pending, std::span<const std::size_t> accepted);

// Columns of wallet_states in the order of the view, from 0.
Result<WalletState> read_wallet_state(const sql::Rows& rows, const Community& community);
Result<StoredTransfer> read_stored(const sql::Rows& rows, const Community& community);  // from 1
// Locks a few wallets, waiting for them, and reads them.
Result<std::vector<WalletState>> lock_wallets(sql::Transaction& sql, const Community& community,
                                              std::span<const Uuid> wallets);
// A transaction by its id, with what it takes to answer a repeat.
Result<std::optional<StoredTransfer>> find_stored(sql::Reader& sql, const Community& community,
                                                  const Uuid& id);

}  // namespace coffer::token
