// One flipped byte in any kind of file, and settings that do not fit: the UTXO state says so, or
// answers as before, but never wrongly.
#include <gtest/gtest.h>

#include <fstream>

#include <coffer/utxo/store.h>
#include "base/result.h"
#include "base/temp_dir.h"
#include "utxo/support/model.h"

namespace coffer::utxo {
namespace {

namespace fs = std::filesystem;

class UtxoFaults : public testing::Test {
 protected:
  static constexpr std::uint64_t kBlocks = 60;

  // A state with files of every kind: tables, a log, what lists them.
  void build(const fs::path& path) {
    auto db = open(path).value();
    auto store = Store::open(*db, network_, options_, {}).value();
    note(*store);
    while (model_.height() < kBlocks) {
      const ModelBlock block = model_.next_block();
      ASSERT_TRUE(store->on_block({Ordinal(model_.height()), block.block, false, 0}));
      model_.apply(block);
      note(*store);
      if (model_.height() == kBlocks - 10) {
        ASSERT_TRUE(db->flush());
      }
    }
  }
  void note(const Store& store) {
    digests_.push_back(digest(store.state(), network_.family).value());
  }
  Result<std::unique_ptr<kv::Database>> open(const fs::path& path) {
    kv::DatabaseOptions db;
    db.path = path;
    db.columns = columns(options_);
    db.create_if_missing = !fs::exists(path);
    return kv::Database::open(db);
  }
  // Errors: whatever the first thing that fails says. An answer must be that of its block.
  Result<std::uint64_t> read_all(const fs::path& path) {
    auto db = TRY(open(path));
    auto store = TRY(Store::open(*db, network_, options_, {}));
    const Digest found = TRY(digest(store->state(), network_.family));
    const std::uint64_t height = store->position().block_count();
    EXPECT_LT(height, digests_.size());
    EXPECT_EQ(found, digests_.at(height)) << "a wrong answer at height " << height;
    for (const Bytes& address : model_.addresses()) {
      PageRequest request;
      do {
        const Page page = TRY(store->state().by_address(address, request));
        for (const Utxo& utxo : page.utxos)
          EXPECT_TRUE(model_.at(height).unspent.contains(utxo.outpoint));
        request.cursor = page.cursor;
      } while (!request.cursor.empty());
    }
    TRY(verify(*db, network_, nullptr));
    return height;
  }

  const chain::Network network_ = chain::find_network("cardano", "devnet").value();
  Options options_ = [] {
    Options options;
    options.store = StoreType::kMmr;
    options.rollback_window = options.prune_depth = 20;
    return options;
  }();
  Model model_{chain::Family::kCardano, 77};
  std::vector<Digest> digests_;  // by height
};

TEST_F(UtxoFaults, OneFlippedByteIsNeverAWrongAnswer) {
  TempDir dir;
  ASSERT_NO_FATAL_FAILURE(build(dir.path() / "whole"));
  // Opening takes the log in, so only copies are opened.
  fs::copy(dir.path() / "whole", dir.path() / "copy", fs::copy_options::recursive);
  ASSERT_EQ(read_all(dir.path() / "copy").value(), kBlocks);
  std::map<std::string, std::vector<fs::path>> kinds;
  for (const auto& entry : fs::directory_iterator(dir.path() / "whole")) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_regular_file() || entry.file_size() == 0 || name == "LOCK") continue;
    kinds[name.starts_with("MANIFEST")   ? "MANIFEST"
          : name.starts_with("OPTIONS")  ? "OPTIONS"
          : entry.path().has_extension() ? entry.path().extension().string()
                                         : name]
        .push_back(entry.path().filename());
  }
  ASSERT_TRUE(kinds.contains(".sst") && kinds.contains(".log") && kinds.contains("MANIFEST") &&
              kinds.contains("CURRENT"));
  Rng rng(5);
  std::map<std::string, int> refused;
  for (const auto& [kind, files] : kinds) {
    for (int i = 0; i < 12; ++i) {
      const fs::path copy = dir.path() / "copy";
      fs::remove_all(copy);
      fs::copy(dir.path() / "whole", copy, fs::copy_options::recursive);
      const fs::path file = copy / files[rng.below(files.size())];
      const std::uint64_t at = rng.below(fs::file_size(file));
      {
        std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
        stream.seekg(static_cast<std::streamoff>(at));
        const auto byte = static_cast<char>(stream.get() ^ (1 << rng.below(8)));
        stream.seekp(static_cast<std::streamoff>(at));
        stream.put(byte);
      }
      SCOPED_TRACE(file.filename().string() + " at " + std::to_string(at));
      const auto answer = read_all(copy);
      if (answer) continue;  // it stood where nothing depends on it, or a log ends early
      ++refused[kind];
      EXPECT_TRUE(answer.error().code == Code::kCorrupt ||
                  answer.error().code == Code::kUnavailable)
          << answer.error().message;
      EXPECT_EQ(answer.error().message.find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(refused[".sst"], 0);
}

TEST_F(UtxoFaults, OtherSettingsThanTheDataHaveAreRefusedByName) {  // U12
  TempDir dir;
  ASSERT_NO_FATAL_FAILURE(build(dir.path() / "db"));
  const auto refused = [&](auto change, const std::string& setting) {
    Options other = options_;
    change(other);
    auto db = open(dir.path() / "db").value();
    const auto opened = Store::open(*db, network_, other, {});
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::kConflict);
    EXPECT_NE(opened.error().message.find(setting), std::string::npos) << opened.error().message;
    EXPECT_NE(opened.error().message.find("coffer utxo rebuild"), std::string::npos);
  };
  refused([](Options& o) { o.store = StoreType::kClassic; }, "utxo.store");
  refused([](Options& o) { o.index_address = false; }, "utxo.index.address_hash");
  refused([](Options& o) { o.index_credential = false; }, "utxo.index.payment_credential");
  refused([](Options& o) { o.self_contained_delta = true; }, "utxo.delta.selfContained");
  EXPECT_EQ(read_all(dir.path() / "db").value(), kBlocks);  // nothing was touched
  // And a rebuild takes any.
  options_.self_contained_delta = true;
  auto db = open(dir.path() / "db").value();
  ASSERT_TRUE(erase(*db));
  auto store = Store::open(*db, network_, options_, {});
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_TRUE((*store)->position().at_origin);
}

TEST_F(UtxoFaults, SettingsThatContradictEachOtherAreRefused) {  // U1
  Options options;
  options.prune_depth = options.rollback_window + 1;
  EXPECT_EQ(check(options).error().code, Code::kUsage);
  options = {};
  options.store = StoreType::kMmr;
  options.beyond_window = BeyondWindow::kPartial;
  EXPECT_EQ(check(options).error().code, Code::kUsage);
}

}  // namespace
}  // namespace coffer::utxo
