#include <gtest/gtest.h>

#include "base/temp_dir.h"
#include "kv/test_support.h"

namespace coffer::kv {
namespace {

ByteView key(std::string_view text) {
  return as_bytes(text);
}

TEST(SortedFiles, AreTakenInWholeAndOverOlderCommits) {
  TempDir dir;
  {
    auto db = Database::open(options_at(dir.path())).value();
    const Column a = db->column("a").value(), b = db->column("b").value();
    Batch batch;
    batch.put(a, key("1"), key("old"));
    batch.put(a, key("2"), key("old"));
    ASSERT_TRUE(db->commit(batch));
    const Snapshot before = db->snapshot();
    std::vector<SortedFile> files;
    files.push_back(db->sorted_file(a).value());
    files.push_back(db->sorted_file(b).value());
    ASSERT_TRUE(files[0].put(key("1"), key("new")));
    ASSERT_TRUE(files[0].del(key("2")));
    ASSERT_TRUE(files[1].put(key("3"), key("three")));
    EXPECT_EQ(files[1].put(key("3"), key("again")).error().code, Code::kInvalidInput);
    EXPECT_EQ(as_text(*db->get(a, key("1")).value()), "old");
    ASSERT_TRUE(db->ingest(files));
    EXPECT_EQ(as_text(*db->get(a, key("1"), &before).value()), "old");
    EXPECT_EQ(as_text(*db->get(a, key("1")).value()), "new");
    EXPECT_FALSE(db->get(a, key("2")).value());
    // Later commits win over what was taken in.
    batch.clear();
    batch.put(b, key("3"), key("four"));
    ASSERT_TRUE(db->commit(batch));
  }
  auto db = Database::open(options_at(dir.path())).value();
  EXPECT_EQ(as_text(*db->get(db->column("a").value(), key("1")).value()), "new");
  EXPECT_EQ(as_text(*db->get(db->column("b").value(), key("3")).value()), "four");
}

TEST(SortedFiles, LeaveNothingBehindWhenTheyAreGivenUp) {
  TempDir dir;
  auto db = Database::open(options_at(dir.path())).value();
  const Column a = db->column("a").value();
  {
    SortedFile file = db->sorted_file(a).value();
    ASSERT_TRUE(file.put(key("1"), key("x")));
  }
  EXPECT_TRUE(fs::is_empty(dir.path() / "ingest"));
  std::ofstream(dir.path() / "ingest" / "7.sst") << "what a crash left";
  db.reset();
  db = Database::open(options_at(dir.path())).value();
  EXPECT_FALSE(fs::exists(dir.path() / "ingest"));
  EXPECT_FALSE(db->get(db->column("a").value(), key("1")).value());
}

}  // namespace
}  // namespace coffer::kv
