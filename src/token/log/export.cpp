// The lines of an export: head; entries, each checkpoint behind the last entry that it covers;
// what is not in the log yet; wallets.
#include "base/result.h"
#include "json/writer.h"
#include "token/log/audit_file.h"
#include "token/log/key.h"
#include "token/log/proof_file.h"

namespace coffer::token {
namespace {

constexpr std::size_t kPage = 5'000;

class Exporter {
 public:
  Exporter(sql::Reader& sql, const Community& community, const LineSink& sink)
      : sql_(sql), community_(community), sink_(sink) {}

  Result<Exported> run() {
    TRY(head());
    TRY(entries());
    TRY(unlogged());
    TRY(wallets());
    return done_;
  }

 private:
  Result<std::uint64_t> count(const char* text) {
    return TRY(sql_.value<std::uint64_t>(community_.sql(text))).value_or(0);
  }

  Result<> head() {
    const auto row = TRY(sql_.one<std::uint64_t, Hash256, std::int64_t>(
        community_.sql("SELECT size, root, @now FROM @log_head")));
    if (!row) return fail(Code::kCorrupt, "log_head of '{}' has no row", community_.name());
    const auto& [size, root, now_ms] = *row;
    const auto key = TRY(find_public_key(sql_, community_));
    json::Writer out;
    out.begin_object().field("format", "coffer-token-log-1").field("at", now_ms);
    out.field("community", community_.name()).key("public_key");
    if (key)
      out.value(key->hex());
    else
      out.null();
    out.field("root", root.hex()).field("entries", size);
    out.field("checkpoints", TRY(count("SELECT count(*) FROM @checkpoints")));
    out.field("unlogged", TRY(count("SELECT count(*) FROM @log_outbox")));
    out.field("wallets", TRY(count("SELECT count(*) FROM @wallets"))).end_object();
    return sink_(out.take());
  }

  Result<> entries() {
    for (;;) {
      const auto page = TRY(read_entries(sql_, community_, done_.entries, kPage));
      if (page.empty()) return {};
      const auto checkpoints = TRY(list_checkpoints(sql_, community_, done_.entries, kPage));
      auto next = checkpoints.begin();
      for (const PlacedEntry& each : page) {
        if (each.position != done_.entries)
          return fail(Code::kCorrupt, "the log of '{}' lacks entry {}", community_.name(),
                      done_.entries);
        TRY(sink_(to_text(each.entry)));
        ++done_.entries;
        if (next != checkpoints.end() && next->size == done_.entries) TRY(checkpoint(*next++));
      }
    }
  }

  Result<> checkpoint(const Checkpoint& checkpoint) {
    json::Writer out;
    out.begin_object().key("checkpoint");
    write_checkpoint(out, checkpoint);
    ++done_.checkpoints;
    return sink_(out.end_object().take());
  }

  Result<> unlogged() {
    Uuid last{};
    for (bool more = true; more;) {
      std::vector<LogEntry> page;
      auto rows = TRY(sql_.query(community_.sql("SELECT id, kind, at, body FROM @log_outbox"
                                                " WHERE id > $1::uuid ORDER BY id LIMIT $2"),
                                 {community_.id(last), kPage}));
      while (TRY(rows.next())) page.push_back(TRY(read_entry_row(rows, community_, 0)));
      std::vector<LogEntry*> pointers;
      pointers.reserve(page.size());
      for (LogEntry& entry : page) pointers.push_back(&entry);
      TRY(add_transactions(sql_, community_, pointers));
      for (const LogEntry& entry : page) TRY(sink_(R"({"unlogged":)" + to_text(entry) + "}"));
      done_.unlogged += page.size();
      more = page.size() == kPage;
      if (more) last = page.back().id;
    }
    return {};
  }

  Result<> wallets() {
    Uuid last{};
    for (bool more = true; more;) {
      std::size_t found = 0;
      auto rows = TRY(sql_.query(community_.sql("SELECT id, balance FROM @wallets"
                                                " WHERE id > $1::uuid ORDER BY id LIMIT $2"),
                                 {community_.id(last), kPage}));
      for (; TRY(rows.next()); ++found) {
        last = TRY(community_.read_id(rows, 0));
        const auto balance = TRY(rows.get<std::int64_t>(1));
        TRY(sink_(
            fmt::format(R"({{"wallet":{{"balance":"{}","id":"{}"}}}})", balance, to_string(last))));
      }
      done_.wallets += found;
      more = found == kPage;
    }
    return {};
  }

  sql::Reader& sql_;
  const Community& community_;
  const LineSink& sink_;
  Exported done_;
};

}  // namespace

Result<Exported> export_log(const Community& community, const LineSink& sink) {
  // Without run_transaction(): half of the lines cannot be taken back and written again.
  auto connection = TRY(community.database().acquire());
  auto sql = TRY(connection.begin(
      {.access = sql::Access::kRead, .isolation = sql::Isolation::kRepeatableRead}));
  const Exported done = TRY(Exporter(sql, community, sink).run());
  TRY(sql.commit());
  return done;
}

}  // namespace coffer::token
