// Columns, batches, reads, iterators, snapshots: what a healthy database does.
#include <coffer/kv/database.h>

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "base/random.h"
#include "base/result.h"
#include "base/temp_dir.h"

namespace coffer::kv {
namespace {

DatabaseOptions three_columns_at(const std::filesystem::path& path) {
  DatabaseOptions options;
  options.path = path;
  options.columns = {{.name = "points", .point_lookups = true},
                     {.name = "scans", .prefix_bytes = 4},
                     {.name = "plain", .bloom_bits = 0, .compression = Compression::kNone}};
  options.block_cache_bytes = 8u << 20;
  return options;
}

class DatabaseTest : public testing::Test {
 protected:
  void SetUp() override { open(); }
  void open(const DatabaseOptions& options) {
    db_.reset();
    auto opened = Database::open(options);
    ASSERT_TRUE(opened) << opened.error().message;
    db_ = std::move(*opened);
  }
  void open() { open(three_columns_at(path())); }
  std::filesystem::path path() const { return dir_.path() / "db"; }
  Column column(std::string_view name) { return db_->column(name).value(); }
  void put(std::string_view column_name, std::string_view key, std::string_view value,
           Durability durability = Durability::kWal) {
    Batch batch;
    batch.put(column(column_name), as_bytes(key), as_bytes(value));
    const auto done = db_->commit(batch, durability);
    ASSERT_TRUE(done) << done.error().message;
  }
  std::string get(std::string_view column_name, std::string_view key,
                  const Snapshot* snapshot = nullptr) {
    const auto value = db_->get(column(column_name), as_bytes(key), snapshot);
    if (!value) return "error: " + value.error().message;
    return *value ? std::string(as_text(**value)) : "(none)";
  }
  std::string walk(std::string_view column_name, IteratorOptions options, bool backwards = false) {
    Iterator it = db_->iterate(column(column_name), options);
    std::string keys;
    for (backwards ? it.seek_to_last() : it.seek_to_first(); it.valid();
         backwards ? it.prev() : it.next())
      keys += std::string(keys.empty() ? "" : " ") + std::string(as_text(it.key()));
    EXPECT_TRUE(it.status());
    return keys;
  }

  TempDir dir_;
  std::unique_ptr<Database> db_;
};

TEST_F(DatabaseTest, BatchesSurviveReopening) {
  Batch batch;
  EXPECT_TRUE(batch.empty());
  batch.put(column("points"), as_bytes("a"), as_bytes("1"));
  batch.put(column("scans"), as_bytes("b"), as_bytes("2"));
  batch.put(column("points"), as_bytes("empty"), {});
  batch.put(column("plain"), as_bytes("gone"), as_bytes("x"));
  batch.del(column("plain"), as_bytes("gone"));
  EXPECT_EQ(batch.count(), 5u);
  EXPECT_GT(batch.size_bytes(), 10u);
  for (const Durability durability : {Durability::kWal, Durability::kWalSync, Durability::kNone})
    ASSERT_TRUE(db_->commit(batch, durability));
  batch.clear();
  EXPECT_EQ(batch.count(), 0u);
  ASSERT_TRUE(db_->commit(batch));  // nothing is no work
  open();
  EXPECT_EQ(get("points", "a"), "1");
  EXPECT_EQ(get("scans", "b"), "2");
  EXPECT_EQ(get("points", "empty"), "");
  EXPECT_EQ(get("plain", "gone"), "(none)");
  EXPECT_EQ(get("points", "b"), "(none)");
}

TEST_F(DatabaseTest, RangesAreDeleted) {
  for (const char* key : {"a", "b", "c", "d"}) put("plain", key, "x");
  Batch batch;
  batch.del_range(column("plain"), as_bytes("b"), as_bytes("d"));
  ASSERT_TRUE(db_->commit(batch));
  EXPECT_EQ(walk("plain", {}), "a d");
}

TEST_F(DatabaseTest, ManyKeysAtOnceComeInOrder) {
  std::vector<std::string> names;
  for (int i = 0; i < 500; ++i) {
    names.push_back(fmt::format("key{}", i * 7919 % 500));
    if (i % 3 != 0) put("points", names.back(), names.back() + "!");
  }
  ASSERT_TRUE(db_->flush());
  std::vector<ByteView> keys;
  keys.reserve(names.size());
  for (const std::string& name : names) keys.push_back(as_bytes(name));
  PinnedValues pinned;
  for (const std::size_t count : {std::size_t{500}, std::size_t{3}, std::size_t{0}}) {
    ASSERT_TRUE(db_->multi_get(column("points"), std::span(keys).first(count), pinned));
    ASSERT_EQ(pinned.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(pinned[i].has_value(), i % 3 != 0) << i;
      if (i % 3 == 0) continue;
      EXPECT_EQ(as_text(*pinned[i]), names[i] + "!");
    }
  }
}

TEST_F(DatabaseTest, PinnedValuesAreReused) {
  put("points", "a", std::string(10'000, 'x'));
  put("points", "b", "short");
  ASSERT_TRUE(db_->flush());
  Pinned value;
  ASSERT_TRUE(db_->get_pinned(column("points"), as_bytes("a"), value).value());
  EXPECT_EQ(value.view().size(), 10'000u);
  ASSERT_TRUE(db_->get_pinned(column("points"), as_bytes("b"), value).value());
  EXPECT_EQ(as_text(value.view()), "short");
  EXPECT_FALSE(db_->get_pinned(column("points"), as_bytes("c"), value).value());
}

TEST_F(DatabaseTest, IteratorsStayWithinTheirBounds) {
  for (const bool flushed : {false, true}) {
    for (const char* key : {"aaaa", "aaaa1", "aaaa2", "aaab", "aaab1", "b"}) {
      put("scans", key, "x");
      put("plain", key, "x");
    }
    put("scans",
        "\xff\xff\xff\xff"
        "1",
        "x");
    if (flushed) {
      ASSERT_TRUE(db_->flush());
    }
    for (const std::string_view name : {"scans", "plain"}) {
      EXPECT_EQ(walk(name, {.prefix = as_bytes("aaaa")}), "aaaa aaaa1 aaaa2");
      EXPECT_EQ(walk(name, {.prefix = as_bytes("aaaa")}, true), "aaaa2 aaaa1 aaaa");
      EXPECT_EQ(walk(name, {.prefix = as_bytes("aaab1")}), "aaab1");
      EXPECT_EQ(walk(name, {.prefix = as_bytes("aa")}), "aaaa aaaa1 aaaa2 aaab aaab1");
      EXPECT_EQ(walk(name, {.prefix = as_bytes("zzzz")}), "");
      EXPECT_EQ(walk(name, {.lower_bound = as_bytes("aaaa2"), .upper_bound = as_bytes("b")}),
                "aaaa2 aaab aaab1");
      EXPECT_EQ(walk(name, {.prefix = as_bytes("aaaa"),
                            .lower_bound = as_bytes("aaaa1"),
                            .upper_bound = as_bytes("aaaa2")}),
                "aaaa1");
    }
    EXPECT_EQ(walk("scans", {.prefix = as_bytes("\xff\xff\xff\xff")}),
              "\xff\xff\xff\xff"
              "1");
    EXPECT_EQ(walk("plain", {}), "aaaa aaaa1 aaaa2 aaab aaab1 b");
  }
  Iterator it = db_->iterate(column("scans"), {.prefix = as_bytes("aaaa")});
  it.seek(as_bytes("aaaa1x"));
  ASSERT_TRUE(it.valid());
  EXPECT_EQ(as_text(it.key()), "aaaa2");
  EXPECT_EQ(as_text(it.value()), "x");
  it.seek_for_prev(as_bytes("aaaa1x"));
  ASSERT_TRUE(it.valid());
  EXPECT_EQ(as_text(it.key()), "aaaa1");
  it.next();
  it.next();
  EXPECT_FALSE(it.valid());
  EXPECT_TRUE(it.status());
}

// Random keys, random walks, against a std::map: filters must never hide a key.
TEST_F(DatabaseTest, PrefixScansAgreeWithAMap) {
  Rng rng(7);
  std::map<std::string, std::string> model;
  const auto random_key = [&rng] {
    std::string key;
    for (std::size_t i = 4 + rng.below(3); i > 0; --i)
      key += static_cast<char>(rng.one_in(8) ? 0xff : 'a' + rng.below(2));
    return key;
  };
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 20; ++i) {
      const std::string key = random_key();
      if (rng.one_in(3)) {
        Batch batch;
        batch.del(column("scans"), as_bytes(key));
        ASSERT_TRUE(db_->commit(batch));
        model.erase(key);
      } else {
        put("scans", key, key);
        model[key] = key;
      }
    }
    if (rng.one_in(3)) {
      ASSERT_TRUE(db_->flush());
    }
    if (rng.one_in(6)) {
      ASSERT_TRUE(db_->compact(column("scans")));
    }
    for (int i = 0; i < 50; ++i) {
      const std::string prefix = random_key().substr(0, rng.between(1, 6));
      std::string forwards, backwards;
      for (const auto& [key, value] : model)
        if (key.starts_with(prefix)) {
          forwards = forwards.empty() ? key : forwards + " " + key;
          backwards = backwards.empty() ? key : key + " " + backwards;
        }
      ASSERT_EQ(walk("scans", {.prefix = as_bytes(prefix)}), forwards);
      ASSERT_EQ(walk("scans", {.prefix = as_bytes(prefix)}, true), backwards);
    }
  }
}

TEST_F(DatabaseTest, SnapshotSeesOneMomentInAllColumns) {
  put("points", "k", "old");
  put("scans", "kkkk", "old");
  std::optional<Snapshot> snapshot = db_->snapshot();
  put("points", "k", "new");
  put("scans", "kkkk", "new");
  put("scans", "kkkk2", "new");
  ASSERT_TRUE(db_->flush());
  ASSERT_TRUE(db_->compact(column("points")));
  EXPECT_EQ(get("points", "k", &*snapshot), "old");
  EXPECT_EQ(get("points", "k"), "new");
  EXPECT_EQ(walk("scans", {.snapshot = &*snapshot}), "kkkk");
  EXPECT_EQ(walk("scans", {}), "kkkk kkkk2");
  const ByteView key[] = {as_bytes("k")};
  PinnedValues pinned;
  ASSERT_TRUE(db_->multi_get(column("points"), key, pinned, &*snapshot));
  EXPECT_EQ(as_text(*pinned[0]), "old");
  Snapshot moved = std::move(*snapshot);
  snapshot.reset();
  EXPECT_EQ(get("points", "k", &moved), "old");
}

TEST_F(DatabaseTest, UnknownColumnsAreKeptAndListed) {
  put("plain", "k", "v");
  DatabaseOptions fewer = three_columns_at(path());
  fewer.columns = {{.name = "points"}, {.name = "brand_new"}};
  open(fewer);
  EXPECT_EQ(db_->column("plain").error().code, Code::kNotFound);
  EXPECT_EQ(db_->column("nonsense").error().code, Code::kNotFound);
  EXPECT_EQ(db_->column_names(),
            (std::vector<std::string>{"brand_new", "default", "plain", "points", "scans"}));
  put("brand_new", "k", "v");
  open();
  EXPECT_EQ(get("plain", "k"), "v");
}

TEST_F(DatabaseTest, UnloggedCommitsAreFlushedWhenClosing) {
  put("points", "k", "v", Durability::kNone);
  put("plain", "k", "v", Durability::kNone);
  open();
  EXPECT_EQ(get("points", "k"), "v");
  EXPECT_EQ(get("plain", "k"), "v");
}

TEST_F(DatabaseTest, ManyThreadsCommitAndRead) {
  constexpr int kThreads = 4, kCommits = 200;
  std::vector<std::jthread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([this, thread] {
      Batch batch;
      for (int i = 0; i < kCommits; ++i) {
        const std::string key = fmt::format("{}-{}", thread, i);
        batch.clear();
        batch.put(column("points"), as_bytes(key), as_bytes(key));
        batch.put(column("plain"), as_bytes(key), as_bytes(key));
        ASSERT_TRUE(db_->commit(batch));
        const Snapshot snapshot = db_->snapshot();
        ASSERT_EQ(get("points", key, &snapshot), get("plain", key, &snapshot));
        ASSERT_EQ(get("points", key), key);
      }
    });
  threads.clear();
  EXPECT_EQ(db_->estimate_keys(column("points")), std::uint64_t{kThreads} * kCommits);
}

TEST_F(DatabaseTest, CheckpointIsADatabase) {
  put("points", "k", "before");
  ASSERT_TRUE(db_->checkpoint(dir_.path() / "copy"));
  put("points", "k", "after");
  EXPECT_EQ(db_->checkpoint(dir_.path() / "copy").error().code, Code::kConflict);
  EXPECT_EQ(get("points", "k"), "after");
  open(three_columns_at(dir_.path() / "copy"));
  EXPECT_EQ(get("points", "k"), "before");
}

TEST_F(DatabaseTest, FiguresAndProperties) {
  const std::uint64_t before = db_->disk_bytes();
  Bytes noise(100'000);
  Rng(1).fill(noise);
  put("plain", "k", as_text(noise));
  ASSERT_TRUE(db_->flush());
  EXPECT_GE(db_->disk_bytes(), before + 100'000);
  EXPECT_EQ(db_->estimate_keys(column("plain")), 1u);
  EXPECT_EQ(db_->property(column("plain"), "rocksdb.num-files-at-level0"), "1");
  EXPECT_EQ(db_->property(column("plain"), "rocksdb.no-such-thing"), std::nullopt);
}

TEST_F(DatabaseTest, ReaderBesideWriter) {
  put("points", "flushed", "1");
  ASSERT_TRUE(db_->flush());
  put("points", "in the log", "2");
  DatabaseOptions options = three_columns_at(path());
  options.read_only = true;
  options.columns.push_back({.name = "not there yet"});
  const auto reader = Database::open(options);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_TRUE((*reader)->read_only());
  EXPECT_EQ((*reader)->column("not there yet").error().code, Code::kNotFound);

  // The writer goes on and removes the files that the reader uses.
  put("points", "later", "3");
  put("points", "flushed", "other");
  ASSERT_TRUE(db_->flush());
  ASSERT_TRUE(db_->compact(column("points")));

  const Column points = (*reader)->column("points").value();
  EXPECT_EQ(as_text(*(*reader)->get(points, as_bytes("flushed")).value()), "1");
  EXPECT_EQ(as_text(*(*reader)->get(points, as_bytes("in the log")).value()), "2");
  EXPECT_EQ((*reader)->get(points, as_bytes("later")).value(), std::nullopt);
  {
    const Snapshot snapshot = (*reader)->snapshot();
    EXPECT_EQ(as_text(*(*reader)->get(points, as_bytes("flushed"), &snapshot).value()), "1");
    Iterator it = (*reader)->iterate(points);
    it.seek_to_first();
    EXPECT_TRUE(it.valid());
  }
  Batch batch;
  batch.put(points, as_bytes("k"), as_bytes("v"));
  EXPECT_EQ((*reader)->commit(batch).error().code, Code::kConflict);
  EXPECT_EQ((*reader)->flush().error().code, Code::kConflict);
}

}  // namespace
}  // namespace coffer::kv
