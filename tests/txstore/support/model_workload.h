// Random operations on the model of the transaction store and on stores, which all must answer and
// hold the same.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "txstore/support/model.h"
#include "txstore/support/stores.h"

namespace coffer::txstore::test {

// How often each thing happened.
struct Coverage {
  std::map<std::string, std::map<Outcome, std::uint64_t>> outcomes;
  std::uint64_t kept[retention::kReasons] = {};
  TxStoreModel::Arms arms;
  std::uint64_t operations = 0;
};

// So many random operations that follow from a seed. A failure is one of the running test.
class Sequence {
 public:
  Sequence(std::uint64_t seed, const std::vector<Engine>& engines, Coverage& coverage);

  void run(int steps);

 private:
  static constexpr std::uint64_t kParents = 4, kOutputs = 4, kSpenders = 3;
  static constexpr std::uint64_t kUnknown = 99;  // never stored

  template <typename T>
  static T value_of(Result<T> result) {
    return must(std::move(result));
  }
  template <typename T>
  static T value_of(T value) {
    return value;
  }
  static std::string text_of(const std::vector<ItemResult>& items);
  static std::string text_of(const std::vector<SpendResult>& items);
  static std::string text_of(const CleanupReport& report);
  static std::string text_of(const Counts& counts);

  Options random_options();

  // Who spends what is fixed for a sequence, as it is for transactions.
  void make_templates();

  std::uint64_t any_number();
  Hash256 any_id();
  // One or two, the same twice at times.
  std::vector<Hash256> any_ids();
  // Mostly one of these, if there is one.
  template <typename Wanted>
  std::vector<Hash256> ids_that(const Wanted& is_wanted) {
    std::vector<Hash256> wanted;
    for (std::uint64_t number = 1; number <= kParents + kSpenders; ++number)
      if (is_wanted(make_id(number))) wanted.push_back(make_id(number));
    if (wanted.empty() || rng_.one_in(4)) return any_ids();
    std::vector<Hash256> ids = {wanted[rng_.below(wanted.size())]};
    if (rng_.one_in(4)) ids.push_back(any_id());
    return ids;
  }
  bool is_state(const Hash256& id, State state);
  chain::Outpoint any_output();
  std::vector<chain::Outpoint> any_outputs();
  std::vector<chain::Outpoint> frozen_outputs();
  // A block that can still be undone.
  BlockRef recent_block();

  // The same on the model and on every store.
  template <typename Operation>
  void check(const std::string& name, const Operation& operation) {
    what_ = name;
    ++coverage_.operations;
    const auto expected = value_of(operation(model_));
    const std::string text = text_of(expected);
    for (const auto& store : stores_) {
      const auto result = value_of(operation(store->store()));
      ASSERT_EQ(text_of(result), text) << name << " on " << to_string(store->engine()) << "\n"
                                       << "now there:\n"
                                       << store->describe_all();
    }
    remember(name, expected);
  }
  void remember(const std::string& name, const std::vector<ItemResult>& items);
  void remember(const std::string& name, const std::vector<SpendResult>& items);
  void remember(const std::string&, const CleanupReport& report);

  void advance(std::uint64_t height);

  // One operation or story, on all.
  void step();
  // What all hold.
  void compare();

  void create();
  void spend();
  void unset_mined();
  void reassign();
  // What no operation leaves behind: the rule must keep all the same.
  void damage();

  // ---- short stories, which lead to what single operations seldom meet ----

  void create_one(std::uint64_t number, std::optional<BlockRef> mined_in);
  BlockRef old_block();
  void create_parents(std::uint64_t number, bool all_mined = false);
  void spend_one(const Hash256& id);
  void mine(const std::vector<Hash256>& ids);
  void unmine(const Hash256& id);
  void prune();

  // From creation to deletion.
  void live_and_die();
  // A deleted one comes back with a block that is undone.
  void resurrect();
  // One becomes conflicting, and something happens to a parent before it comes back.
  void lose_and_return();
  // A parent that is due, and a child that is not what it should be.
  void damage_child();

  Rng rng_;
  const Options options_;
  const bool began_at_origin_, is_damaged_;
  TxStoreModel model_;
  Coverage& coverage_;
  std::vector<std::unique_ptr<TestStore>> stores_;
  std::map<std::uint64_t, NewTx> templates_;
  std::string what_;
};

}  // namespace coffer::txstore::test
