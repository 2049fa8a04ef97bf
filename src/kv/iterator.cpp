// Iterators and how their bounds become those of RocksDB.
#include <rocksdb/iterator.h>

#include "base/check.h"
#include "base/result.h"
#include "kv/impl.h"

namespace coffer::kv {

// Never moves: RocksDB keeps pointers to the bounds.
struct Iterator::Rep {
  Bytes lower, upper;
  rocksdb::Slice lower_slice, upper_slice;
  rocksdb::ReadOptions read;
  std::unique_ptr<rocksdb::Iterator> walker;
};

Iterator::Iterator(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
Iterator::~Iterator() = default;
Iterator::Iterator(Iterator&&) noexcept = default;
Iterator& Iterator::operator=(Iterator&&) noexcept = default;

void Iterator::seek_to_first() {
  rep_->walker->SeekToFirst();
}
void Iterator::seek_to_last() {
  rep_->walker->SeekToLast();
}
void Iterator::seek(ByteView key) {
  rep_->walker->Seek(slice(key));
}
void Iterator::seek_for_prev(ByteView key) {
  rep_->walker->SeekForPrev(slice(key));
}

void Iterator::next() {
  CHECK(valid());
  rep_->walker->Next();
}
void Iterator::prev() {
  CHECK(valid());
  rep_->walker->Prev();
}

bool Iterator::valid() const {
  return rep_->walker->Valid();
}
ByteView Iterator::key() const {
  return view(rep_->walker->key());
}
ByteView Iterator::value() const {
  return view(rep_->walker->value());
}

Result<> Iterator::status() const {
  const rocksdb::Status status = rep_->walker->status();
  if (!status.ok()) return fail(to_error(status, "cannot read on"));
  return {};
}

namespace {

// The least key above all that begin with `prefix`; empty if there is none.
Bytes after_prefix(ByteView prefix) {
  Bytes bound(prefix.begin(), prefix.end());
  while (!bound.empty() && bound.back() == 0xff) bound.pop_back();
  if (!bound.empty()) ++bound.back();
  return bound;
}

bool less(ByteView a, ByteView b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

Iterator Database::iterate(Column column, IteratorOptions options) const {
  auto rep = std::make_unique<Iterator::Rep>();
  const ByteView low =
      less(options.prefix, options.lower_bound) ? options.lower_bound : options.prefix;
  rep->lower.assign(low.begin(), low.end());
  rep->upper = after_prefix(options.prefix);
  if (!options.upper_bound.empty() && (rep->upper.empty() || less(options.upper_bound, rep->upper)))
    rep->upper.assign(options.upper_bound.begin(), options.upper_bound.end());

  rocksdb::ReadOptions& read = rep->read;
  rep->lower_slice = slice(rep->lower);
  rep->upper_slice = slice(rep->upper);
  if (!rep->lower.empty()) read.iterate_lower_bound = &rep->lower_slice;
  if (!rep->upper.empty()) read.iterate_upper_bound = &rep->upper_slice;
  // Filters by prefix may only be asked when all keys of the walk share one; RocksDB finds out by
  // itself if the bounds are as long as the column's prefix.
  const bool one_prefix = column.prefix_bytes_ > 0 && options.prefix.size() >= column.prefix_bytes_;
  read.auto_prefix_mode = one_prefix;
  read.total_order_seek = !one_prefix;
  read.fill_cache = options.fill_cache;
  read.readahead_size = options.readahead_bytes;
  if (options.snapshot != nullptr)
    read.snapshot = static_cast<const rocksdb::Snapshot*>(options.snapshot->handle_);
  rep->walker.reset(impl_->db->NewIterator(read, family(column.handle_)));
  return Iterator(std::move(rep));
}

}  // namespace coffer::kv
