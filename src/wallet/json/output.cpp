#include "wallet/json/output.h"

#include <coffer/chain/address.h>
#include "json/writer.h"

namespace coffer::wallet {
namespace {

using chain::Network;

template <typename T>
void value_or_null(json::Writer& out, std::string_view key, const std::optional<T>& value) {
  out.key(key);
  if (value)
    out.value(*value);
  else
    out.null();
}

void text_or_null(json::Writer& out, std::string_view key, const std::string& text) {
  value_or_null(out, key, text.empty() ? std::nullopt : std::optional(text));
}

void amount(json::Writer& out, std::string_view key, std::uint64_t satoshi) {
  out.field(key, std::to_string(satoshi));
}

void amount_or_null(json::Writer& out, std::string_view key,
                    const std::optional<std::uint64_t>& satoshi) {
  value_or_null(out, key, satoshi ? std::optional(std::to_string(*satoshi)) : std::nullopt);
}

void hash_list(json::Writer& out, std::string_view key, const std::vector<Hash256>& hashes) {
  out.key(key).begin_array();
  for (const Hash256& hash : hashes) out.value(to_display(hash));
  out.end_array();
}

void outpoint(json::Writer& out, const chain::Outpoint& at) {
  out.field("tx_hash", to_display(at.tx)).field("output_index", at.index);
}

void script(json::Writer& out, const Network& network, ByteView bytes) {
  value_or_null(out, "address", chain::address_text(network, bytes));
  out.field("script_pub_key", to_hex(bytes));
}

// {"KEY": [each item as `write` does it], "next_cursor": …}
template <typename T, typename Write>
std::string page_of(std::string_view key, const wallet::Page<T>& page, Write write) {
  json::Writer out;
  out.begin_object().key(key).begin_array();
  for (const T& item : page.items) write(out, item);
  out.end_array();
  text_or_null(out, "next_cursor", page.cursor);
  out.end_object();
  return out.take();
}

void write_wallet(json::Writer& out, const wallet::WalletInfo& info) {
  out.begin_object().field("name", info.name).field("birthday_height", info.birthday_height);
  out.field("gap_limit", info.gap_limit).field("created_unix_ms", info.created_at_ms);
  value_or_null(out, "rescan_next", info.rescan_next);
  value_or_null(out, "rescan_to", info.rescan_to);
  out.end_object();
}

void write_address(json::Writer& out, const wallet::AddressInfo& address) {
  out.begin_object();
  text_or_null(out, "address", address.text);
  out.field("script_pub_key", to_hex(address.script)).field("type", address.type);
  out.field("account", address.account);
  value_or_null(out, "branch", address.branch);
  value_or_null(out, "index", address.index);
  out.field("given_out", address.given_out).field("used", address.used);
  text_or_null(out, "label", address.label);
  out.end_object();
}

void write_coin(json::Writer& out, const Network& network, const wallet::Coin& coin) {
  out.begin_object();
  outpoint(out, coin.outpoint);
  amount(out, "amount", coin.amount.value);
  out.field("state", wallet::to_string(coin.state)).field("account", coin.account);
  script(out, network, coin.script);
  value_or_null(out, "height", coin.height);
  out.field("confirmations", coin.confirmations).field("coinbase", coin.coinbase);
  text_or_null(out, "spent_by", coin.spent_by ? to_display(*coin.spent_by) : "");
  text_or_null(out, "lock_id", coin.lease ? coin.lease->lock_id.hex() : "");
  value_or_null(out, "lease_expires_unix_ms",
                coin.lease ? std::optional(coin.lease->expires_at_ms) : std::nullopt);
  text_or_null(out, "label", coin.label);
  text_or_null(out, "address_label", coin.address_label);
  out.end_object();
}

void entry_fields(json::Writer& out, const wallet::HistoryEntry& entry) {
  out.field("tx_hash", to_display(entry.tx)).field("status", wallet::to_string(entry.status));
  text_or_null(out, "reason", entry.reason);
  value_or_null(out, "height", entry.height);
  out.field("confirmations", entry.confirmations);
  value_or_null(out, "block_time", entry.block_time_s);
  out.field("received_unix_ms", entry.received_ms).field("coinbase", entry.coinbase);
  out.field("in_mempool", entry.in_mempool).field("pruned", entry.pruned);
  const auto kept = [&](std::uint64_t satoshi) {
    return entry.pruned ? std::nullopt : std::optional(satoshi);
  };
  amount_or_null(out, "received", kept(entry.received));
  amount_or_null(out, "sent", kept(entry.sent));
  amount_or_null(out, "fee", entry.fee);
  hash_list(out, "replaces", entry.replaces);
  hash_list(out, "replaced_by", entry.replaced_by);
  text_or_null(out, "label", entry.label);
}

void write_output(json::Writer& out, const Network& network, const wallet::TxOutputInfo& output) {
  out.begin_object().field("output_index", output.index);
  amount(out, "amount", output.amount.value);
  script(out, network, output.script);
  out.field("mine", output.mine);
  value_or_null(out, "state",
                output.state ? std::optional(wallet::to_string(*output.state)) : std::nullopt);
  text_or_null(out, "label", output.label);
  text_or_null(out, "address_label", output.address_label);
  out.end_object();
}

}  // namespace

std::string wallet_json(const wallet::WalletInfo& info) {
  json::Writer out;
  write_wallet(out, info);
  return out.take();
}

std::string wallets_json(const wallet::Page<wallet::WalletInfo>& page) {
  return page_of("wallets", page, write_wallet);
}

std::string accounts_json(const std::vector<wallet::AccountInfo>& accounts) {
  json::Writer out;
  out.begin_object().key("accounts").begin_array();
  for (const auto& account : accounts) out.begin_object().field("name", account.name).end_object();
  out.end_array().end_object();
  return out.take();
}

std::string descriptors_json(const std::vector<wallet::DescriptorInfo>& descriptors) {
  json::Writer out;
  out.begin_object().key("descriptors").begin_array();
  for (const auto& one : descriptors) {
    out.begin_object().field("descriptor", one.text).field("account", one.account);
    out.field("internal", one.internal).field("is_ranged", one.is_ranged);
    out.field("next_index", one.next_index).field("watch_to", one.derived_to).end_object();
  }
  out.end_array().end_object();
  return out.take();
}

std::string wallet_address_json(const wallet::AddressInfo& address) {
  json::Writer out;
  write_address(out, address);
  return out.take();
}

std::string wallet_addresses_json(const wallet::Page<wallet::AddressInfo>& page) {
  return page_of("addresses", page, write_address);
}

std::string imported_json(const wallet::Imported& imported) {
  json::Writer out;
  out.begin_object().field("descriptors", imported.descriptors);
  out.field("addresses", imported.addresses).end_object();
  return out.take();
}

std::string wallet_balance_json(const Network& network, const wallet::Scope& scope,
                                const wallet::Balance& balance) {
  json::Writer out;
  out.begin_object();
  value_or_null(out, "account", scope.account);
  value_or_null(out, "address",
                scope.script ? chain::address_text(network, *scope.script) : std::nullopt);
  text_or_null(out, "script_pub_key", scope.script ? to_hex(*scope.script) : "");
  amount(out, "confirmed", balance.confirmed);
  amount(out, "unconfirmed", balance.unconfirmed);
  amount(out, "immature", balance.immature);
  amount(out, "locked", balance.locked);
  amount(out, "leased", balance.leased);
  amount(out, "spendable", balance.spendable);
  amount(out, "total", balance.total);
  out.field("coins", balance.coins);
  value_or_null(out, "tip_height",
                balance.tip_height < 0 ? std::nullopt : std::optional(balance.tip_height));
  out.end_object();
  return out.take();
}

std::string coin_json(const Network& network, const wallet::Coin& coin) {
  json::Writer out;
  write_coin(out, network, coin);
  return out.take();
}

std::string coins_json(const Network& network, const wallet::Page<wallet::Coin>& page) {
  return page_of("coins", page, [&](json::Writer& out, const wallet::Coin& coin) {
    write_coin(out, network, coin);
  });
}

std::string history_json(const wallet::Page<wallet::HistoryEntry>& page) {
  return page_of("transactions", page, [](json::Writer& out, const wallet::HistoryEntry& entry) {
    out.begin_object();
    entry_fields(out, entry);
    out.end_object();
  });
}

std::string wallet_tx_json(const Network& network, const wallet::TxDetail& detail) {
  json::Writer out;
  out.begin_object();
  entry_fields(out, detail.entry);
  text_or_null(out, "raw", to_hex(detail.raw));
  out.key("inputs").begin_array();
  for (const wallet::TxInputInfo& input : detail.inputs) {
    out.begin_object();
    outpoint(out, input.prev);
    amount_or_null(out, "amount", input.amount ? std::optional(input.amount->value) : std::nullopt);
    out.end_object();
  }
  out.end_array().key("outputs").begin_array();
  for (const wallet::TxOutputInfo& output : detail.outputs) write_output(out, network, output);
  out.end_array().end_object();
  return out.take();
}

std::string recorded_json(const wallet::Recorded& recorded) {
  json::Writer out;
  out.begin_object().field("tx_hash", to_display(recorded.tx));
  out.field("status", wallet::to_string(recorded.status));
  value_or_null(out, "height", recorded.height);
  out.field("changed", recorded.changed);
  hash_list(out, "invalidated", recorded.invalidated);
  out.end_object();
  return out.take();
}

std::string leased_json(std::size_t coins, const wallet::LockId& lock_id,
                        std::int64_t expires_at_ms) {
  json::Writer out;
  out.begin_object().field("lock_id", lock_id.hex()).field("coins", coins);
  out.field("expires_unix_ms", expires_at_ms).end_object();
  return out.take();
}

std::string selected_json(const Network& network, const wallet::LockId& lock_id,
                          const wallet::SelectedCoins& selected) {
  json::Writer out;
  out.begin_object().field("lock_id", lock_id.hex());
  amount(out, "amount", selected.amount);
  out.field("expires_unix_ms", selected.expires_at_ms).key("coins").begin_array();
  for (const wallet::Coin& coin : selected.coins) write_coin(out, network, coin);
  out.end_array().end_object();
  return out.take();
}

std::string released_json(std::uint64_t coins, const wallet::LockId& lock_id) {
  json::Writer out;
  out.begin_object().field("lock_id", lock_id.hex()).field("coins", coins).end_object();
  return out.take();
}

std::string leases_json(const wallet::Page<wallet::LeasedCoin>& page) {
  return page_of("leases", page, [](json::Writer& out, const wallet::LeasedCoin& coin) {
    out.begin_object();
    outpoint(out, coin.outpoint);
    amount(out, "amount", coin.amount.value);
    out.field("state", wallet::to_string(coin.state)).field("lock_id", coin.lease.lock_id.hex());
    out.field("expires_unix_ms", coin.lease.expires_at_ms).end_object();
  });
}

std::string cleaned_leases_json(std::uint64_t leases, bool more) {
  json::Writer out;
  out.begin_object().field("leases", leases).field("more", more).end_object();
  return out.take();
}

std::string pruned_json(const wallet::Pruned& pruned, bool dry_run) {
  json::Writer out;
  out.begin_object().field("dry_run", dry_run).field("transactions", pruned.transactions);
  out.field("stubs", pruned.stubs).field("invalid", pruned.invalid).field("coins", pruned.coins);
  out.field("more", pruned.more).end_object();
  return out.take();
}

std::string pruned_totals_json(const wallet::PrunedTotals& totals) {
  json::Writer out;
  out.begin_object().field("transactions", totals.transactions).field("coins", totals.coins);
  amount(out, "received", totals.received);
  amount(out, "spent", totals.spent);
  const auto height = [&](std::string_view name, std::optional<std::uint64_t> value) {
    value ? out.field(name, *value) : out.key(name).null();
  };
  height("lowest_height", totals.lowest_height);
  height("highest_height", totals.highest_height);
  out.end_object();
  return out.take();
}

std::string labels_json(const wallet::Page<wallet::LabelInfo>& page) {
  return page_of("labels", page, [](json::Writer& out, const wallet::LabelInfo& one) {
    out.begin_object().field("kind", one.kind).field("ref", one.ref).field("label", one.label);
    out.end_object();
  });
}

std::string label_json(std::string_view kind, std::string_view ref, std::string_view label) {
  json::Writer out;
  out.begin_object().field("kind", kind).field("ref", ref).field("label", label).end_object();
  return out.take();
}

std::string wallet_verified_json(const wallet::WalletVerified& verified) {
  json::Writer out;
  out.begin_object().field("ok", true).field("wallets", verified.wallets);
  out.field("transactions", verified.transactions).field("coins", verified.coins);
  out.field("inputs", verified.inputs).field("addresses", verified.addresses).end_object();
  return out.take();
}

std::string wallet_stats_json(const wallet::StoreStats& stats) {
  json::Writer out;
  out.begin_object().field("wallets", stats.wallets).field("addresses", stats.addresses);
  out.field("transactions", stats.transactions).field("coins", stats.coins);
  out.field("unspent", stats.unspent).field("leases", stats.leases);
  out.field("active_leases", stats.active_leases).field("replacements", stats.replacements);
  out.field("pruned", stats.pruned).field("database_bytes", stats.bytes);
  out.key("tables").begin_array();
  for (const wallet::TableSize& one : stats.tables) {
    out.begin_object().field("table", one.table).field("rows", one.rows);
    value_or_null(out, "bytes", one.bytes);
    out.end_object();
  }
  out.end_array().field("counted_unix_ms", stats.counted_at_ms).end_object();
  return out.take();
}

}  // namespace coffer::wallet
