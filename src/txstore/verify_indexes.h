// Whether the indexes beside the records have what the records say, and nothing else. Memory is
// bounded, however much is stored: see key_sets.h.
#pragma once

#include <functional>
#include <set>

#include "txstore/backend.h"
#include "txstore/key_sets.h"

namespace coffer::txstore {

// For one moment of the store. Not thread-safe.
class IndexVerifier {
 public:
  IndexVerifier(View& view, chain::Family family) : view_(view), family_(family) {}

  // What the indexes must have of this record. `pruned`: the children that entries of it name as
  // final and that are not stored.
  void expect(const Record& record, const std::set<Hash256>& pruned);

  struct Sizes {
    std::uint64_t due = 0, unmined = 0;
  };
  // After all records. Errors: kCorrupt naming a difference. Cost: each index is read once; all
  // records and an index once more if it is wrong.
  Result<Sizes> check();

 private:
  template <typename Entry>
  using Each = std::function<Result<>(const Entry&)>;
  template <typename Entry>
  struct Index {
    KeySets& sets;
    std::function<Result<>(const Each<Entry>&)> walk;
    // What it must have of a record.
    std::function<Result<>(Record&, const Each<Entry>&)> entries_of;
    // The error; `is_found`: it is in the index.
    std::function<Error(const Entry&, bool is_found)> damage;
  };
  template <typename Entry>
  Result<std::uint64_t> check_index(const Index<Entry>& index);
  template <typename Entry>
  Result<> find_difference(const Index<Entry>& index, std::uint32_t part);

  Result<std::uint64_t> check_due();
  Result<std::uint64_t> check_unmined();
  Result<std::uint64_t> check_pruned();
  Result<> walk_pruned(const Each<PrunedRef>& each);
  Result<> pruned_of(Record& record, const Each<PrunedRef>& each);
  Error differ(std::string_view index, const Hash256& id) const;

  View& view_;
  const chain::Family family_;
  KeySets due_, unmined_, pruned_;
};

}  // namespace coffer::txstore
