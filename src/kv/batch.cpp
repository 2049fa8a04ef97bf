// Batch: a thin cover over rocksdb::WriteBatch.
#include "base/check.h"
#include "kv/impl.h"

namespace coffer::kv {
namespace {

// RocksDB refuses a change only if its key or value has 4 GiB or more, which the contract forbids.
void done(const rocksdb::Status& status) {
  CHECK(status.ok());
}

}  // namespace

Batch::Batch() : rep_(std::make_unique<Rep>()) {}
Batch::~Batch() = default;
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&&) noexcept = default;

void Batch::put(Column column, ByteView key, ByteView value) {
  done(rep_->changes.Put(family(column.handle_), slice(key), slice(value)));
}
void Batch::del(Column column, ByteView key) {
  done(rep_->changes.Delete(family(column.handle_), slice(key)));
}
void Batch::del_range(Column column, ByteView begin, ByteView end) {
  done(rep_->changes.DeleteRange(family(column.handle_), slice(begin), slice(end)));
}
std::size_t Batch::count() const {
  return rep_->changes.Count();
}
std::size_t Batch::size_bytes() const {
  return rep_->changes.GetDataSize();
}
void Batch::clear() {
  rep_->changes.Clear();
}

}  // namespace coffer::kv
