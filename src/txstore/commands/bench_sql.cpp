// The transaction store on an SQL database, against the same statements with the verdicts given: a
// run is recorded as what it loaded and saved, and played back on an empty database without any of
// the store's logic.
#include <coffer/sql/database.h>

#include "base/result.h"
#include "base/stopwatch.h"
#include "txstore/commands/bench_sql.h"
#include "txstore/sql/backend.h"

namespace coffer::txstore {
namespace {

// What a unit did, in order.
struct Step {
  enum class Kind : std::uint8_t {
    kLoad,
    kPages,
    kInputs,
    kBody,
    kDue,
    kBlock,
    kMarks,
    kSave
  } kind;
  std::vector<Hash256> ids = {};
  std::vector<std::uint32_t> pages = {};
  std::uint64_t number = 0;
  std::optional<DueEntry> after = {};
  std::size_t limit = 0;
  Changes changes = {};
  std::deque<Record> records = {};  // that the changes point to
};
struct RecordedUnit {
  Hold hold = Hold::kRecords;
  std::deque<Step> steps;
};

class RecordingUnit final : public Unit {
 public:
  RecordingUnit(Unit& inner, RecordedUnit& log) : inner_(inner), log_(log) {}
  const Tip& tip() const override { return inner_.tip(); }
  Result<> load(std::span<Record* const> records) override {
    add(Step::Kind::kLoad, records);
    return inner_.load(records);
  }
  Result<> load_pages(std::span<const PageRef> pages) override {
    Step& step = log_.steps.emplace_back(Step::Kind::kPages);
    for (const PageRef& page : pages) {
      step.ids.push_back(page.record->head.id);
      step.pages.push_back(page.page);
    }
    return inner_.load_pages(pages);
  }
  Result<> load_inputs(std::span<Record* const> records) override {
    add(Step::Kind::kInputs, records);
    return inner_.load_inputs(records);
  }
  Result<TxBody> body(const Hash256& id) override {
    log_.steps.emplace_back(Step::Kind::kBody).ids.push_back(id);
    return inner_.body(id);
  }
  Result<std::vector<DueEntry>> due(std::uint64_t up_to, std::optional<DueEntry> after,
                                    std::size_t limit) override {
    Step& step = log_.steps.emplace_back(Step::Kind::kDue);
    step.number = up_to;
    step.after = after;
    step.limit = limit;
    return inner_.due(up_to, after, limit);
  }
  Result<std::optional<BlockUndo>> block(std::uint64_t height) override {
    log_.steps.emplace_back(Step::Kind::kBlock).number = height;
    return inner_.block(height);
  }
  Result<> load_marks(std::span<const Hash256> ids, Marks& found) override {
    log_.steps.emplace_back(Step::Kind::kMarks).ids.assign(ids.begin(), ids.end());
    return inner_.load_marks(ids, found);
  }
  Result<> save(Changes changes) override {
    Step& step = log_.steps.emplace_back(Step::Kind::kSave);
    step.changes = changes;
    for (Record*& record : step.changes.records) record = &step.records.emplace_back(*record);
    return inner_.save(std::move(changes));
  }

 private:
  void add(Step::Kind kind, std::span<Record* const> records) {
    Step& step = log_.steps.emplace_back(kind);
    for (const Record* record : records) step.ids.push_back(record->head.id);
  }
  Unit& inner_;
  RecordedUnit& log_;
};

class RecordingBackend final : public Backend {
 public:
  RecordingBackend(std::unique_ptr<Backend> inner, std::deque<RecordedUnit>& log)
      : inner_(std::move(inner)), log_(log) {}
  std::string_view name() const override { return inner_->name(); }
  Result<> run(Hold hold, const std::function<Result<>(Unit&)>& body) override {
    RecordedUnit recorded{hold, {}};
    Result<> done = inner_->run(hold, [&](Unit& unit) {
      recorded.steps.clear();
      RecordingUnit recording(unit, recorded);
      return body(recording);
    });
    if (!done) return done;
    log_.push_back(std::move(recorded));
    return {};
  }
  Result<> read(const std::function<Result<>(View&)>& body) override { return inner_->read(body); }

 private:
  const std::unique_ptr<Backend> inner_;
  std::deque<RecordedUnit>& log_;
};

// The records that a unit loads while it is played back.
class Playback {
 public:
  explicit Playback(Unit& unit) : unit_(unit) {}

  Result<> play(const Step& step) {
    switch (step.kind) {
      case Step::Kind::kLoad: return unit_.load(records(step.ids));
      case Step::Kind::kInputs: return unit_.load_inputs(records(step.ids));
      case Step::Kind::kPages: {
        std::vector<PageRef> pages;
        pages.reserve(step.ids.size());
        for (std::size_t i = 0; i < step.ids.size(); ++i)
          pages.push_back({&loaded_[step.ids[i]], step.pages[i]});
        return unit_.load_pages(pages);
      }
      case Step::Kind::kBody: return drop(unit_.body(step.ids.front()));
      case Step::Kind::kDue: return drop(unit_.due(step.number, step.after, step.limit));
      case Step::Kind::kBlock: return drop(unit_.block(step.number));
      case Step::Kind::kMarks: {
        Marks marks;
        return unit_.load_marks(step.ids, marks);
      }
      case Step::Kind::kSave: return unit_.save(step.changes);
    }
    return {};
  }

 private:
  template <typename T>
  static Result<> drop(Result<T> result) {
    if (!result) return fail(std::move(result).error());
    return {};
  }
  std::vector<Record*> records(const std::vector<Hash256>& ids) {
    std::vector<Record*> list;
    for (const Hash256& id : ids) {
      loaded_[id].head.id = id;
      list.push_back(&loaded_[id]);
    }
    return list;
  }
  Unit& unit_;
  std::unordered_map<Hash256, Record, HashOfHash> loaded_;
};

Result<std::unique_ptr<sql::Database>> open_empty(const std::string& location,
                                                  const chain::Network& network) {
  sql::DatabaseOptions options;
  options.location = location;
  auto db = TRY(sql::Database::open(std::move(options)));
  TRY(sql::prepare_schema(*db, migrations(network), sql::Schema::kMigrate));
  const Result<bool> empty = [&]() -> Result<bool> {
    auto backend = TRY(open_sql(*db, network));
    bool at_origin = true;
    const Result<> read = backend->read([&](View& view) -> Result<> {
      at_origin = view.tip().position.at_origin;
      return {};
    });
    if (!read) return fail(read.error());
    return at_origin;
  }();
  if (!empty) return fail(empty.error());
  if (!*empty)
    return fail(Code::kConflict, "{} holds a transaction store already; give empty databases",
                db->name());
  return db;
}

}  // namespace

Result<SqlBench> bench_sql(const chain::Network& network, const SqlBenchPlaces& places,
                           const FeedStore& feed) {
  SqlBench result;
  std::deque<RecordedUnit> log;
  {
    auto db = TRY(open_empty(places.store, network));
    auto recording = std::make_unique<RecordingBackend>(TRY(open_sql(*db, network)), log);
    auto store = TRY(Store::open(std::move(recording), network, Options(), {}));
    const Stopwatch watch;
    TRY(feed(*store));
    result.seconds = watch.seconds();
  }
  result.units = log.size();
  auto db = TRY(open_empty(places.playback, network));
  auto backend = TRY(open_sql(*db, network));
  const Stopwatch watch;
  for (const RecordedUnit& recorded : log) {
    const Result<> played = backend->run(recorded.hold, [&](Unit& unit) -> Result<> {
      Playback playback(unit);
      for (const Step& step : recorded.steps)
        if (Result<> done = playback.play(step); !done) return done;
      return {};
    });
    if (!played) return fail(played.error());
  }
  result.playback_seconds = watch.seconds();
  return result;
}

}  // namespace coffer::txstore
