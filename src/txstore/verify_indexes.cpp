#include "txstore/verify_indexes.h"

#include "base/result.h"

namespace coffer::txstore {
namespace {

constexpr std::size_t kEntriesAtOnce = 1'000;

Bytes key_of(const DueEntry& entry) {
  Bytes key;
  key.reserve(8 + Hash256::kSize);
  append_be64(key, entry.height);
  append(key, entry.id.view());
  return key;
}

Bytes key_of(const PrunedRef& ref) {
  Bytes key;
  key.reserve(2 * Hash256::kSize);
  append(key, ref.child.view());
  append(key, ref.parent.view());
  return key;
}

template <typename Page, typename Each>
Result<> walk_pages(Page page, const Each& each) {
  std::optional<DueEntry> after;
  for (;;) {
    const std::vector<DueEntry> entries = TRY(page(after, kEntriesAtOnce));
    for (const DueEntry& entry : entries) TRY(each(entry));
    if (entries.empty()) return {};
    after = entries.back();
  }
}

Result<> load_all_pages(View& view, Record& record) {
  std::vector<PageRef> pages;
  for (std::uint32_t page = 0; page < record.pages.size(); ++page)
    if (record.pages[page].entries.empty()) pages.push_back({&record, page});
  return pages.empty() ? Result<>() : view.load_pages(pages);
}

// Those of the ids that are stored.
Result<std::set<Hash256>> find_stored(View& view, const std::set<Hash256>& ids) {
  std::vector<Record> records(ids.size());
  std::vector<Record*> wanted;
  wanted.reserve(ids.size());
  for (const Hash256& id : ids) {
    Record& record = records[wanted.size()];
    record.head.id = id;
    wanted.push_back(&record);
  }
  if (!wanted.empty()) TRY(view.load(wanted));
  std::set<Hash256> stored;
  for (const Record& record : records)
    if (record.present) stored.insert(record.head.id);
  return stored;
}

}  // namespace

void IndexVerifier::expect(const Record& record, const std::set<Hash256>& pruned) {
  const StoredTx& tx = record.head;
  if (tx.due_at) due_.add_expected(key_of(DueEntry{*tx.due_at, tx.id}));
  if (tx.unmined_since) unmined_.add_expected(key_of(DueEntry{*tx.unmined_since, tx.id}));
  for (const Hash256& child : pruned) pruned_.add_expected(key_of(PrunedRef{child, tx.id}));
}

template <typename Entry>
Result<std::uint64_t> IndexVerifier::check_index(const Index<Entry>& index) {
  std::uint64_t count = 0;
  TRY(index.walk([&](const Entry& entry) -> Result<> {
    index.sets.add_found(key_of(entry));
    ++count;
    return {};
  }));
  if (const auto part = index.sets.differing_part()) TRY(find_difference(index, *part));
  return count;
}

template <typename Entry>
Result<> IndexVerifier::find_difference(const Index<Entry>& index, std::uint32_t part) {
  const auto is_in_part = [&](const Entry& entry) {
    return KeySets::part_of(key_of(entry)) == part;
  };
  std::set<Entry> expected;
  Result<> walked = view_.for_each(std::nullopt, [&](const Record& found) -> Result<bool> {
    Record record = found;
    TRY(index.entries_of(record, [&](const Entry& entry) -> Result<> {
      if (is_in_part(entry)) expected.insert(entry);
      return {};
    }));
    return true;
  });
  if (!walked) return walked;
  TRY(index.walk([&](const Entry& entry) -> Result<> {
    if (!is_in_part(entry) || expected.erase(entry) > 0) return {};
    return fail(index.damage(entry, true));
  }));
  if (!expected.empty()) return fail(index.damage(*expected.begin(), false));
  return fail(Code::kCorrupt, "an index has an entry twice; run 'coffer tx rebuild'");
}

Error IndexVerifier::differ(std::string_view index, const Hash256& id) const {
  return make_error(Code::kCorrupt,
                    fmt::format("the {} and the transactions differ at {}; run 'coffer tx rebuild'",
                                index, chain::display(family_, id)));
}

Result<std::uint64_t> IndexVerifier::check_due() {
  return check_index<DueEntry>(
      {due_,
       [&](const auto& each) {
         return walk_pages([&](auto after, auto limit) { return view_.due(after, limit); }, each);
       },
       [](Record& record, const auto& each) -> Result<> {
         const StoredTx& tx = record.head;
         return tx.due_at ? each({*tx.due_at, tx.id}) : Result<>();
       },
       [&](const DueEntry& entry, bool) { return differ("due entries", entry.id); }});
}

Result<std::uint64_t> IndexVerifier::check_unmined() {
  return check_index<DueEntry>(
      {unmined_,
       [&](const auto& each) {
         return walk_pages([&](auto after, auto limit) { return view_.unmined(after, limit); },
                           each);
       },
       [](Record& record, const auto& each) -> Result<> {
         const StoredTx& tx = record.head;
         return tx.unmined_since ? each({*tx.unmined_since, tx.id}) : Result<>();
       },
       [&](const DueEntry& entry, bool) { return differ("unmined entries", entry.id); }});
}

Result<std::uint64_t> IndexVerifier::check_pruned() {
  return check_index<PrunedRef>(
      {pruned_, [&](const auto& each) { return walk_pruned(each); },
       [&](Record& record, const auto& each) { return pruned_of(record, each); },
       [&](const PrunedRef& ref, bool is_found) {
         const std::string child = chain::display(family_, ref.child),
                           parent = chain::display(family_, ref.parent);
         return make_error(
             Code::kCorrupt,
             is_found ? fmt::format(
                            "{} is remembered as pruned, and no entry of {} says so; run 'coffer "
                            "tx rebuild'",
                            child, parent)
                      : fmt::format(
                            "{} is pruned, and only its parent {} knows; run 'coffer tx rebuild'",
                            child, parent));
       }});
}

// A child that is stored, because it came again, is not pruned, whatever the index has.
Result<> IndexVerifier::walk_pruned(const Each<PrunedRef>& each) {
  std::vector<PrunedRef> some;
  const auto hand_out = [&]() -> Result<> {
    std::set<Hash256> children;
    for (const PrunedRef& ref : some) children.insert(ref.child);
    const std::set<Hash256> stored = TRY(find_stored(view_, children));
    for (const PrunedRef& ref : some)
      if (!stored.contains(ref.child)) TRY(each(ref));
    some.clear();
    return {};
  };
  const Result<> walked = view_.for_each_pruned([&](const PrunedRef& ref) -> Result<bool> {
    some.push_back(ref);
    if (some.size() == kEntriesAtOnce) TRY(hand_out());
    return true;
  });
  return walked ? hand_out() : walked;
}

Result<> IndexVerifier::pruned_of(Record& record, const Each<PrunedRef>& each) {
  TRY(load_all_pages(view_, record));
  std::set<Hash256> children;
  for (std::uint32_t i = 0; i < record.head.outputs; ++i)
    if (record.entry(i).final) children.insert(record.entry(i).spender);
  const std::set<Hash256> stored = TRY(find_stored(view_, children));
  for (const Hash256& child : children)
    if (!stored.contains(child)) TRY(each({child, record.head.id}));
  return {};
}

Result<IndexVerifier::Sizes> IndexVerifier::check() {
  Sizes sizes;
  sizes.due = TRY(check_due());
  sizes.unmined = TRY(check_unmined());
  (void)TRY(check_pruned());
  return sizes;
}

}  // namespace coffer::txstore
