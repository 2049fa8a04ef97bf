// Point reads, with and without a copy, and snapshots.
#include "base/check.h"
#include "base/result.h"
#include "kv/impl.h"

namespace coffer::kv {
namespace {

rocksdb::PinnableSlice* pinned_at(std::byte* storage) {
  return std::launder(reinterpret_cast<rocksdb::PinnableSlice*>(storage));
}
const rocksdb::PinnableSlice* pinned_at(const std::byte* storage) {
  return std::launder(reinterpret_cast<const rocksdb::PinnableSlice*>(storage));
}

rocksdb::ReadOptions read_at(const void* snapshot) {
  rocksdb::ReadOptions options;
  options.snapshot = static_cast<const rocksdb::Snapshot*>(snapshot);
  return options;
}

constexpr std::string_view kReading = "cannot read";

}  // namespace

Pinned::Pinned() {
  static_assert(sizeof(rocksdb::PinnableSlice) <= kBytes);
  static_assert(alignof(rocksdb::PinnableSlice) <= 16);
  new (storage_) rocksdb::PinnableSlice();
}
Pinned::~Pinned() {
  pinned_at(storage_)->~PinnableSlice();
}
ByteView Pinned::view() const {
  return kv::view(*pinned_at(storage_));
}

struct PinnedValues::Rep {
  std::size_t size = 0;
  // These only grow, so that one object serves many reads without allocating.
  std::vector<rocksdb::Slice> keys;
  std::vector<rocksdb::PinnableSlice> values;
  std::vector<rocksdb::Status> statuses;
};

PinnedValues::PinnedValues() : rep_(std::make_unique<Rep>()) {}
PinnedValues::~PinnedValues() = default;
PinnedValues::PinnedValues(PinnedValues&&) noexcept = default;
PinnedValues& PinnedValues::operator=(PinnedValues&&) noexcept = default;
std::size_t PinnedValues::size() const {
  return rep_->size;
}

std::optional<ByteView> PinnedValues::operator[](std::size_t index) const {
  CHECK(index < rep_->size);
  if (!rep_->statuses[index].ok()) return std::nullopt;
  return kv::view(rep_->values[index]);
}

Snapshot::Snapshot(Snapshot&& other) noexcept
    : impl_(other.impl_), handle_(std::exchange(other.handle_, nullptr)) {}
Snapshot& Snapshot::operator=(Snapshot&& other) noexcept {
  std::swap(impl_, other.impl_);
  std::swap(handle_, other.handle_);
  return *this;
}
Snapshot::~Snapshot() {
  if (handle_ != nullptr)
    impl_->db->ReleaseSnapshot(static_cast<const rocksdb::Snapshot*>(handle_));
}

Snapshot Database::snapshot() const {
  return Snapshot(impl_.get(), impl_->db->GetSnapshot());
}

Result<bool> Database::get_pinned(Column column, ByteView key, Pinned& value,
                                  const Snapshot* snapshot) const {
  rocksdb::PinnableSlice* into = pinned_at(value.storage_);
  into->Reset();
  const rocksdb::Status status =
      impl_->db->Get(read_at(snapshot != nullptr ? snapshot->handle_ : nullptr),
                     family(column.handle_), slice(key), into);
  if (status.IsNotFound()) return false;
  if (!status.ok()) return fail(to_error(status, kReading));
  return true;
}

Result<std::optional<Bytes>> Database::get(Column column, ByteView key,
                                           const Snapshot* snapshot) const {
  Pinned value;
  if (!TRY(get_pinned(column, key, value, snapshot))) return std::nullopt;
  return Bytes(value.view().begin(), value.view().end());
}

Result<> Database::multi_get(Column column, std::span<const ByteView> keys, PinnedValues& values,
                             const Snapshot* snapshot) const {
  PinnedValues::Rep& rep = *values.rep_;
  for (std::size_t i = 0; i < rep.size; ++i) rep.values[i].Reset();
  rep.size = keys.size();
  if (rep.values.size() < keys.size()) {
    rep.keys.resize(keys.size());
    rep.values.resize(keys.size());
    rep.statuses.resize(keys.size());
  }
  for (std::size_t i = 0; i < keys.size(); ++i) rep.keys[i] = slice(keys[i]);
  impl_->db->MultiGet(read_at(snapshot != nullptr ? snapshot->handle_ : nullptr),
                      family(column.handle_), keys.size(), rep.keys.data(), rep.values.data(),
                      rep.statuses.data());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const rocksdb::Status& status = rep.statuses[i];
    if (!status.ok() && !status.IsNotFound()) return fail(to_error(status, kReading));
  }
  return {};
}

}  // namespace coffer::kv
