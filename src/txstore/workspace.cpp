#include "txstore/workspace.h"

#include "base/check.h"
#include "base/result.h"

namespace coffer::txstore {

void Workspace::set_tip(const bus::Position& position) {
  tip_.position = position;
  moved_ = true;
  if (position.at_origin) return;
  const auto height = static_cast<std::int64_t>(position.ordinal.value);
  tip_.final_height =
      std::max(tip_.final_height, height - static_cast<std::int64_t>(options_.window));
}

Result<> Workspace::load(const std::vector<Hash256>& ids) {
  // Of a commit of many blocks: most are new, and growing step by step would move all each time.
  if (ids.size() > by_id_.size()) by_id_.reserve(by_id_.size() + ids.size());
  std::vector<Record*> wanted;
  for (const Hash256& id : ids) {
    const auto [at, is_new] = by_id_.try_emplace(id, nullptr);
    if (!is_new) continue;
    Record& record = records_.emplace_back();
    record.head.id = id;
    at->second = &record;
    wanted.push_back(&record);
  }
  if (wanted.empty()) return {};
  std::sort(wanted.begin(), wanted.end(),
            [](const Record* a, const Record* b) { return a->head.id < b->head.id; });
  return unit_.load(wanted);
}

Result<> Workspace::load_entries(std::span<const chain::Outpoint> outputs) {
  std::vector<PageRef> pages;
  for (const chain::Outpoint& outpoint : outputs) {
    Record* record = find(outpoint.tx);
    if (record == nullptr || outpoint.index >= record->head.outputs) continue;
    const std::uint32_t page = Record::page_of(outpoint.index);
    if (record->pages[page].entries.empty()) pages.push_back({record, page});
  }
  if (pages.empty()) return {};
  const auto before = [](const PageRef& a, const PageRef& b) {
    return std::tie(a.record->head.id, a.page) < std::tie(b.record->head.id, b.page);
  };
  std::sort(pages.begin(), pages.end(), before);
  pages.erase(std::unique(pages.begin(), pages.end(),
                          [](const PageRef& a, const PageRef& b) {
                            return a.record == b.record && a.page == b.page;
                          }),
              pages.end());
  return unit_.load_pages(pages);
}

namespace {

// Each once, in the order of ids.
void make_distinct(std::vector<Record*>& records) {
  std::sort(records.begin(), records.end(),
            [](const Record* a, const Record* b) { return a->head.id < b->head.id; });
  records.erase(std::unique(records.begin(), records.end()), records.end());
}

}  // namespace

Result<> Workspace::load_all_pages(std::span<Record* const> records) {
  std::vector<Record*> wanted;
  for (Record* record : records)
    if (std::ranges::any_of(record->pages, [](const Page& page) { return page.entries.empty(); }))
      wanted.push_back(record);
  make_distinct(wanted);
  std::vector<PageRef> pages;
  for (Record* record : wanted)
    for (std::uint32_t page = 0; page < record->pages.size(); ++page)
      if (record->pages[page].entries.empty()) pages.push_back({record, page});
  return pages.empty() ? Result<>() : unit_.load_pages(pages);
}

Result<> Workspace::load_inputs(std::span<Record* const> records) {
  std::vector<Record*> wanted;
  for (Record* record : records)
    if (!record->has_inputs()) wanted.push_back(record);
  make_distinct(wanted);
  return wanted.empty() ? Result<>() : unit_.load_inputs(wanted);
}

Result<> Workspace::load_parents(std::span<Record* const> records) {
  TRY(load_inputs(records));
  std::vector<Hash256> ids;
  std::vector<chain::Outpoint> outputs;
  for (const Record* record : records)
    for (const chain::Outpoint& input : record->inputs) {
      ids.push_back(input.tx);
      outputs.push_back(input);
    }
  TRY(load(ids));
  return load_entries(outputs);
}

std::optional<Record*> Workspace::find_loaded(const Hash256& id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return std::nullopt;
  return found->second->present ? found->second : nullptr;
}

Record* Workspace::find(const Hash256& id) {
  const std::optional<Record*> found = find_loaded(id);
  CHECK(found);
  return *found;
}

Entry* Workspace::find_entry(const chain::Outpoint& outpoint, Record** parent) {
  Record* record = find(outpoint.tx);
  if (parent != nullptr) *parent = record;
  if (record == nullptr || outpoint.index >= record->head.outputs) return nullptr;
  return &record->entry(outpoint.index);
}

std::vector<Record*> Workspace::find_due() {
  std::vector<Record*> due;
  for (Record& record : records_)
    if (record.present && record.head.due_at && *record.head.due_at <= height())
      due.push_back(&record);
  std::sort(due.begin(), due.end(), [](const Record* a, const Record* b) {
    return std::tie(*a->head.due_at, a->head.id) < std::tie(*b->head.due_at, b->head.id);
  });
  return due;
}

Record& Workspace::create(const Hash256& id) {
  const auto found = by_id_.find(id);
  CHECK(found != by_id_.end());
  Record& record = *found->second;
  CHECK(!record.present);
  change(record);
  // Erased in this unit and back: what is in the database is replaced.
  const bool stored = record.stored;
  const bool mark_loaded = record.mark_loaded;
  const auto due = record.stored_due_at, unmined = record.stored_unmined_since;
  record = Record();
  record.head.id = id;
  record.stored = stored;
  record.mark_loaded = mark_loaded;
  record.stored_due_at = due;
  record.stored_unmined_since = unmined;
  record.replaced = stored;
  record.present = record.dirty = record.changed = true;
  return record;
}

void Workspace::erase(Record& record) {
  change(record);
  for (std::uint32_t page = 0; page < record.pages.size(); ++page)
    for (const Entry& entry : record.pages[page].entries) {
      if (!entry.final) continue;
      --changes_.counts.final_entries;
      changes_.unpruned.push_back({entry.spender, record.head.id});
    }
  record.present = false;
}

void Workspace::count(const Record& record, std::int64_t sign) {
  if (!record.present) return;
  Counts& counts = changes_.counts;
  counts.records += sign;
  counts.bytes += sign * static_cast<std::int64_t>(record.body_bytes);
  if (record.head.state == State::kUnmined) counts.unmined += sign;
  if (record.head.state == State::kConflicting) counts.conflicting += sign;
  if (record.head.kept != retention::Reason::kDeletable)
    counts.kept[static_cast<std::size_t>(record.head.kept)] += sign;
}

void Workspace::change(Record& record) {
  if (record.changed) return;
  record.changed = true;
  count(record, -1);
  changed_.push_back(&record);
}

void Workspace::touch(Record& record) {
  change(record);
  record.dirty = true;
}

void Workspace::touch_entry(Record& parent, std::uint32_t output) {
  touch(parent);
  parent.pages[Record::page_of(output)].dirty = true;
}

void Workspace::mark_spent(Record& parent, std::uint32_t output, const Hash256& spender,
                           std::uint32_t input) {
  touch_entry(parent, output);
  Entry& entry = parent.entry(output);
  CHECK(!entry.spent && !entry.unspendable);
  entry.spent = true;
  entry.spender = spender;
  entry.spender_input = input;
  ++parent.head.spent;
}

void Workspace::mark_unspent(Record& parent, std::uint32_t output) {
  touch_entry(parent, output);
  Entry& entry = parent.entry(output);
  CHECK(entry.spent);
  if (entry.final) {
    --changes_.counts.final_entries;
    changes_.unpruned.push_back({entry.spender, parent.head.id});
  }
  entry.spent = entry.final = entry.removed = false;
  entry.spender = Hash256{};
  entry.spender_input = 0;
  CHECK(parent.head.spent > 0);
  --parent.head.spent;
}

void Workspace::mark_final(Record& parent, std::uint32_t output) {
  Entry& entry = parent.entry(output);
  CHECK(entry.spent);
  if (entry.final) return;
  touch_entry(parent, output);
  entry.final = true;
  ++changes_.counts.final_entries;
}

void Workspace::restamp(Record& record, std::uint64_t height) {
  touch(record);
  StoredTx& tx = record.head;
  // What another branch had can no longer come back once it is final.
  std::erase_if(tx.blocks, [&](const MinedIn& in) {
    return !in.on_longest_chain && static_cast<std::int64_t>(in.block.height) <= tip_.final_height;
  });
  if (tx.state != State::kConflicting)
    tx.state = tx.on_longest_chain() ? State::kMined : State::kUnmined;
  if (tx.state != State::kUnmined) tx.unmined_since = tx.absent_since = std::nullopt;
  const bool conflicting = tx.state == State::kConflicting;
  const bool deletable =
      !tx.preserve_until &&
      (conflicting || (tx.state == State::kMined && tx.unspent() == 0 && !tx.locked));
  if (!deletable)
    tx.delete_at_height.reset();
  else if (!conflicting)
    tx.delete_at_height = std::max(tx.delete_at_height.value_or(0), height + options_.delay());
  else if (!tx.delete_at_height)
    tx.delete_at_height = height + options_.delay();
  tx.kept = retention::Reason::kDeletable;
  if (tx.preserve_until)
    tx.due_at = tx.preserve_until;
  else if (tx.delete_at_height)
    tx.due_at = tx.delete_at_height;
  else if (tx.absent_since)
    tx.due_at = *tx.absent_since + options_.unmined_retention;
  else
    tx.due_at.reset();
}

void Workspace::set_kept(Record& record, const retention::Verdict& verdict) {
  touch(record);
  // A stamp that was raised since: nothing keeps it but time.
  const bool not_due = verdict.reason == retention::Reason::kNotDue;
  record.head.kept = not_due ? retention::Reason::kDeletable : verdict.reason;
  record.head.due_at =
      not_due ? record.head.delete_at_height : retention::next_look(verdict, window());
}

Result<> Workspace::load_marks(std::span<const Hash256> ids) {
  std::vector<Hash256> wanted;
  for (const Hash256& id : ids) {
    const auto found = by_id_.find(id);
    CHECK(found != by_id_.end());
    if (!std::exchange(found->second->mark_loaded, true)) wanted.push_back(id);
  }
  return wanted.empty() ? Result<>() : unit_.load_marks(wanted, loaded_marks_);
}

Result<Mark*> Workspace::mark(const Hash256& id) {
  TRY(load_marks({&id, 1}));
  const auto [at, is_new] = marks_.try_emplace(id);
  if (const auto stored = loaded_marks_.find(id); is_new && stored != loaded_marks_.end())
    at->second = stored->second;
  return &at->second;
}

const Mark* Workspace::find_mark(const Hash256& id) const {
  const auto record = by_id_.find(id);
  CHECK(record != by_id_.end() && record->second->mark_loaded);
  if (const auto found = marks_.find(id); found != marks_.end()) return &found->second;
  const auto found = loaded_marks_.find(id);
  return found == loaded_marks_.end() ? nullptr : &found->second;
}

Result<std::optional<BlockUndo>> Workspace::block(std::uint64_t height) {
  for (const BlockUndo& block : changes_.blocks)
    if (block.position.ordinal.value == height) return block;
  return unit_.block(height);
}

void Workspace::drop_block(std::uint64_t height) {
  std::erase_if(changes_.blocks,
                [&](const BlockUndo& block) { return block.position.ordinal.value == height; });
  changes_.dropped_blocks.push_back(height);
}

Result<TxBody> Workspace::body(const Record& record) {
  if (record.new_body) return *record.new_body;
  return unit_.body(record.head.id);
}

Result<> Workspace::save() {
  for (const Record* record : changed_) count(*record, 1);
  // Created and erased in one unit: it was never there.
  std::erase_if(changed_, [](const Record* record) { return !record->stored && !record->present; });
  std::sort(changed_.begin(), changed_.end(),
            [](const Record* a, const Record* b) { return a->head.id < b->head.id; });
  changes_.records = std::move(changed_);
  for (auto& [id, mark] : marks_) changes_.marks.emplace_back(id, std::move(mark));
  if (moved_) changes_.tip = tip_;
  return unit_.save(std::move(changes_));
}

}  // namespace coffer::txstore
