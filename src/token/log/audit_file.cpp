#include "token/log/audit_file.h"

#include <algorithm>

#include "base/result.h"
#include "json/reader.h"
#include "token/log/proof_file.h"

namespace coffer::token {
namespace {

constexpr std::string_view kFormat = "coffer-token-log-1";

std::unexpected<Error> not_an_export(std::string_view why) {
  return fail(Code::kInvalidInput, "not an export of a token log: {}", why);
}

Result<std::uint64_t> number_of(const json::Value& object, std::string_view name) {
  const auto value = object.find(name);
  const auto number = value ? value->uint64() : std::nullopt;
  if (!number) return not_an_export(fmt::format("{} is not a whole number", name));
  return *number;
}
Result<std::string> text_of(const json::Value& object, std::string_view name) {
  const auto value = object.find(name);
  auto text = value ? value->string() : std::nullopt;
  if (!text) return not_an_export(fmt::format("{} is no text", name));
  return *std::move(text);
}
template <typename Bytes>
Result<Bytes> bytes_of(const json::Value& object, std::string_view name) {
  const auto raw = from_hex(TRY(text_of(object, name)));
  if (!raw || raw->size() != Bytes::kSize)
    return not_an_export(fmt::format("{} is not {} hex digits", name, 2 * Bytes::kSize));
  return Bytes::from(raw->data());
}

}  // namespace

Auditor::Auditor(AuditExpectations expected) : expected_(std::move(expected)) {
  std::ranges::sort(expected_.checkpoints, {}, &Checkpoint::size);
}

void Auditor::add_problem(std::string problem) {
  if (report_.problems.size() < kMaxProblems) report_.problems.push_back(std::move(problem));
}

Result<> Auditor::add_line(std::string_view line) {
  const auto document = json::parse(line, {.max_bytes = 2 * kMaxEntryBytes, .max_depth = 5});
  if (!document || !document->is_object()) return not_an_export("a line is no JSON object");
  if (!has_head_) return take_head(*document);
  if (const auto checkpoint = document->find("checkpoint")) return take_checkpoint(*checkpoint);
  if (document->find("kind")) return take_entry(line);
  if (const auto unlogged = document->find("unlogged")) return take_unlogged(*unlogged);
  if (const auto wallet = document->find("wallet")) return take_wallet(*wallet);
  return not_an_export("a line of unknown kind");
}

Result<> Auditor::take_head(const json::Value& line) {
  if (TRY(text_of(line, "format")) != kFormat)
    return not_an_export(fmt::format("its format is not {}", kFormat));
  report_.community = TRY(text_of(line, "community"));
  promised_.entries = TRY(number_of(line, "entries"));
  promised_.checkpoints = TRY(number_of(line, "checkpoints"));
  promised_.unlogged = TRY(number_of(line, "unlogged"));
  promised_.wallets = TRY(number_of(line, "wallets"));
  root_ = TRY(bytes_of<Hash256>(line, "root"));
  report_.public_key = expected_.public_key;
  const auto key = line.find("public_key");
  if (key && !key->is_null()) {
    const auto named = TRY(bytes_of<crypto::Ed25519PublicKey>(line, "public_key"));
    if (!report_.public_key) report_.public_key = named;
    if (*report_.public_key != named)
      add_problem("the file names another public key: " + named.hex());
  }
  report_.is_key_known = expected_.public_key.has_value();
  has_head_ = true;
  compare_with_kept();
  return {};
}

// Called whenever the replay has reached another size.
void Auditor::compare_with_kept() {
  const auto kept =
      std::ranges::equal_range(expected_.checkpoints, replay_.size(), {}, &Checkpoint::size);
  for (const Checkpoint& checkpoint : kept)
    if (replay_.state(hash_bytes).root != checkpoint.root)
      add_problem(
          fmt::format("the log does not begin with the one of the kept checkpoint of size {}",
                      checkpoint.size));
}

Result<> Auditor::take_entry(std::string_view text) {
  const LogEntry entry = TRY(parse_log_entry(text));
  replay_.add(leaf_hash(replay_.size(), text), hash_bytes);
  ++report_.entries;
  book(entry);
  compare_with_kept();
  return {};
}

Result<> Auditor::take_unlogged(const json::Value& value) {
  const LogEntry entry = TRY(parse_log_entry(value.serialize_sorted()));
  ++report_.unlogged;
  book(entry);
  return {};
}

void Auditor::book(const LogEntry& entry) {
  ids_.push_back(entry.id);
  if (!entry.is_transaction()) return;
  const LoggedTransaction& tx = entry.transaction;
  const auto amount = static_cast<std::uint64_t>(tx.amount);
  ++report_.transactions;
  balances_[tx.to] += amount;
  if (tx.from == tx.to)
    issued_ += amount;
  else
    balances_[tx.from] -= amount;
}

Result<> Auditor::take_checkpoint(const json::Value& value) {
  const Checkpoint checkpoint = TRY(read_checkpoint(value));
  ++report_.checkpoints;
  if (checkpoint.size != replay_.size())
    add_problem(fmt::format("a checkpoint of size {} stands behind entry {}", checkpoint.size,
                            replay_.size()));
  else if (replay_.state(hash_bytes).root != checkpoint.root)
    add_problem(fmt::format("the root of the checkpoint of size {} is not that of its entries",
                            checkpoint.size));
  if (!report_.public_key || !is_signed_by(*report_.public_key, report_.community, checkpoint))
    add_problem(
        fmt::format("the signature of the checkpoint of size {} is wrong", checkpoint.size));
  report_.checkpoint = checkpoint;
  return {};
}

Result<> Auditor::take_wallet(const json::Value& value) {
  const std::string id = TRY(text_of(value, "id"));
  const Uuid wallet = TRY(parse_uuid(id));
  const std::string text = TRY(text_of(value, "balance"));
  const auto number = json::parse(text);
  const auto balance = number ? number->int64() : std::nullopt;
  if (!balance) return not_an_export("a balance is no whole number");
  ++report_.wallets;
  held_by_wallets_ += static_cast<std::uint64_t>(*balance);
  const auto found = balances_.find(wallet);
  const auto computed = found == balances_.end() ? 0 : static_cast<std::int64_t>(found->second);
  if (*balance < 0 || computed != *balance)
    add_problem(fmt::format("wallet {} has {}, and its history gives {}", to_string(wallet),
                            *balance, computed));
  if (found != balances_.end()) balances_.erase(found);
  return {};
}

void Auditor::find_repeated_ids() {
  std::ranges::sort(ids_);
  for (auto at = std::ranges::adjacent_find(ids_); at != ids_.end();
       at = std::adjacent_find(at + 1, ids_.end()))
    add_problem(to_string(*at) + " is there twice");
}

Result<AuditReport> Auditor::finish() {
  if (!has_head_) return not_an_export("it is empty");
  if (report_.entries != promised_.entries || report_.checkpoints != promised_.checkpoints ||
      report_.unlogged != promised_.unlogged || report_.wallets != promised_.wallets)
    return not_an_export(fmt::format(
        "its head promises {} entries, {} checkpoints, {} not logged yet and {} wallets, and there "
        "are {}, {}, {} and {}; export it again",
        promised_.entries, promised_.checkpoints, promised_.unlogged, promised_.wallets,
        report_.entries, report_.checkpoints, report_.unlogged, report_.wallets));
  if (replay_.state(hash_bytes).root != root_)
    add_problem("the root of the log is not that of its entries");
  for (const Checkpoint& kept : expected_.checkpoints)
    if (kept.size > replay_.size())
      add_problem(fmt::format("the log is shorter than the kept checkpoint of size {}", kept.size));
  for (const auto& [wallet, balance] : balances_)
    if (balance != 0)
      add_problem(fmt::format("wallet {} is missing, and its history gives {}", to_string(wallet),
                              static_cast<std::int64_t>(balance)));
  if (held_by_wallets_ != issued_)
    add_problem(
        fmt::format("the balances add up to {}, and {} were issued", held_by_wallets_, issued_));
  find_repeated_ids();
  report_.issuance = static_cast<std::int64_t>(issued_);
  return std::move(report_);
}

}  // namespace coffer::token
