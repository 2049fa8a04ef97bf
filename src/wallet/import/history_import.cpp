#include "wallet/import/history_import.h"

#include <fstream>

#include "base/result.h"
#include "crypto/sha256.h"
#include "sql/connection.h"
#include "wallet/import/history_line.h"
#include "wallet/import/history_scratch.h"
#include "wallet/lifecycle/tx_lifecycle_impl.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLinesAtOnce = 200;

// The lines of a file, one at a time.
class LineReader {
 public:
  static Result<LineReader> open(const fs::path& file) {
    LineReader reader;
    reader.stream_.open(file, std::ios::binary);
    if (!reader.stream_) return fail(Code::kNotFound, "cannot open {}", file.string());
    return reader;
  }
  // False after the last.
  Result<bool> next(std::string& line) {
    line.clear();
    for (int c; (c = stream_.get()) != std::char_traits<char>::eof();) {
      if (c == '\n') return true;
      if (line.size() == kMaxHistoryLine)
        return fail(Code::kTooLarge, "a line has at most {} bytes", kMaxHistoryLine);
      line.push_back(static_cast<char>(c));
    }
    if (stream_.bad()) return fail(Code::kUnavailable, "the file cannot be read");
    return !line.empty();
  }

 private:
  std::ifstream stream_;
};

// Of all lines, so that another file, or a mended one, is begun anew.
Result<Hash256> digest_of(const fs::path& file) {
  LineReader reader = TRY(LineReader::open(file));
  Hash256 digest{};
  std::string line;
  while (TRY(reader.next(line))) {
    const Hash256 of_line = crypto::sha256(as_bytes(line));
    Bytes both(digest.begin(), digest.end());
    append(both, of_line.view());
    digest = crypto::sha256(both);
  }
  return digest;
}

}  // namespace

class HistoryImport {
 public:
  HistoryImport(Store& store, WalletId wallet, Hash256 digest)
      : store_(store), wallet_(wallet), digest_(digest) {}

  Result<HistoryImported> run(const fs::path& file, const HistoryImportOptions& options) {
    done_.resumed = TRY(lines_done_before());
    LineReader reader = TRY(LineReader::open(file));
    std::string text;
    while (TRY_IN(fmt::format("line {}", done_.lines + 1), reader.next(text))) {
      ++done_.lines;
      if (has_header_ && done_.lines <= done_.resumed) continue;
      TRY_IN(fmt::format("line {}", done_.lines), add_line(text));
      if (waiting_.size() >= kLinesAtOnce) TRY(flush(done_.lines));
      if (options.progress && done_.lines % kLinesAtOnce == 0 && !options.progress(done_.lines)) {
        TRY(flush(done_.lines));
        return fail(Code::kCancelled, "stopped after line {}; the next run goes on", done_.lines);
      }
    }
    if (!has_header_) return fail(Code::kInvalidInput, "the file is empty");
    TRY(flush(done_.lines));
    return done_;
  }

 private:
  struct Waiting {
    std::uint64_t line = 0;
    HistoryTx tx;
    std::unique_ptr<chain::Block> decoded;
    bool is_overtaken = false;  // known, and not valid any more
  };

  Result<std::uint64_t> lines_done_before() {
    auto connection = TRY(store_.database().acquire());
    const auto lines = TRY(connection.value<std::uint64_t>(
        "SELECT lines_done FROM history_imports WHERE wallet_id = $1 AND file_digest = $2",
        {wallet_, digest_}));
    return lines.value_or(0);
  }

  Result<> add_line(std::string_view text) {
    if (text.empty()) return {};
    HistoryLine line = TRY(parse_history_line(store_.network(), text));
    if (std::holds_alternative<HistoryHeader>(line) == has_header_)
      return fail(
          Code::kInvalidInput,
          R"(the first line, and no other, is {{"coffer_history":1,"chain":…,"network":…}})");
    has_header_ = true;
    if (auto* tx = std::get_if<HistoryTx>(&line)) {
      auto decoded = TRY(decode_tx(store_.network(), tx->raw));
      TRY(store_.check_block(tx->options));
      waiting_.push_back({done_.lines, std::move(*tx), std::move(decoded), false});
      return {};
    }
    TRY(flush(done_.lines - 1));  // the order of the lines is kept
    return add_other(line);
  }

  Result<> add_other(const HistoryLine& line) {
    if (const auto* descriptor = std::get_if<HistoryDescriptor>(&line)) {
      const Imported made =
          TRY(store_.import_descriptor(wallet_, descriptor->text, descriptor->options));
      done_.descriptors += made.descriptors;
      done_.addresses += made.addresses;
    } else if (const auto* script = std::get_if<HistoryScript>(&line)) {
      const Imported made = TRY(store_.import_script(wallet_, script->script, script->options));
      done_.addresses += made.addresses;
    } else if (const auto* label = std::get_if<HistoryLabel>(&line)) {
      TRY(store_.set_label(wallet_, label->target.kind, label->target.ref, label->label));
      ++done_.labels;
    } else if (const auto* lease = std::get_if<HistoryLease>(&line)) {
      const auto leased = store_.lease(wallet_, lease->request);
      if (!leased && leased.error().code != Code::kConflict) return fail(leased.error());
      ++(leased ? done_.leases : done_.passed_over);
    }
    return {};
  }

  // All that wait, and how far the file is done then, in one transaction.
  Result<> flush(std::uint64_t lines_done) {
    for (;;) {
      std::uint64_t changed = 0;
      Waiting* refused = nullptr;
      auto done = store_.database().run_transaction(
          [&](sql::Transaction& sql) -> Result<> {
            changed = 0;
            refused = nullptr;
            TRY(lock_writers_shared(sql));
            for (Waiting& one : waiting_) {
              if (one.is_overtaken) continue;
              const auto recorded = store_.record_in(sql, wallet_, *one.decoded, one.tx.options);
              if (!recorded) refused = &one;
              changed += TRY_IN(fmt::format("line {}", one.line), recorded).changed ? 1 : 0;
            }
            return save(sql, lines_done);
          },
          kWrite);
      if (!done) {
        if (!refused || done.error().code != Code::kConflict || !TRY(is_overtaken(*refused)))
          return done;
        // A line after it, read before, has taken its place: it comes again and changes nothing.
        refused->is_overtaken = true;
        continue;
      }
      done_.transactions += changed;
      done_.unchanged += waiting_.size() - changed;
      waiting_.clear();
      return {};
    }
  }
  Result<> save(sql::Transaction& sql, std::uint64_t lines_done) {
    (void)TRY(
        sql.execute("INSERT INTO history_imports (wallet_id, file_digest, lines_done)"
                    " VALUES ($1, $2, $3) ON CONFLICT (wallet_id, file_digest) DO UPDATE"
                    " SET lines_done = excluded.lines_done",
                    {wallet_, digest_, lines_done}));
    return {};
  }
  Result<bool> is_overtaken(const Waiting& one) {
    auto connection = TRY(store_.database().acquire());
    const auto known = TRY(connection.value<std::int64_t>(
        "SELECT id FROM transactions WHERE wallet_id = $1 AND tx_hash = $2"
        " AND status NOT IN ('pending', 'published')",
        {wallet_, one.decoded->txs.front().id}));
    return known.has_value();
  }

  Store& store_;
  const WalletId wallet_;
  const Hash256 digest_;
  HistoryImported done_;
  std::vector<Waiting> waiting_;
  bool has_header_ = false;
};

Result<HistoryImported> import_history(Store& store, WalletId wallet, const fs::path& file,
                                       const HistoryImportOptions& options) {
  const Hash256 digest = TRY(digest_of(file));
  return HistoryImport(store, wallet, digest).run(file, options);
}

Result<HistoryImported> try_history(const Store& store, WalletId wallet, const fs::path& file,
                                    const HistoryImportOptions& options) {
  const auto scratch = TRY(ScratchWallet::copy(store, wallet));
  return import_history(scratch->store(), scratch->wallet(), file, options);
}

}  // namespace coffer::wallet
