// A list as one parameter of a statement on PostgreSQL: `hash = ANY($1::bytea[])`,
// `unnest($1::bigint[])`, `id = ANY($1::uuid[])` with elements of 16 bytes. A constant number of
// statements then serves any number of rows.
#pragma once

#include "sql/value.h"

namespace coffer::sql {

// In the server's binary form of arrays: dimensions, whether there are NULLs, type of the elements,
// length and first index of the dimension; then length and bytes of each element; all integers
// big-endian. Parameters of kind bytes are sent in binary form, so view() is the parameter.
class PostgresArray {
 public:
  // Type ids of the catalogue (pg_type); they never change.
  enum class Element : std::uint32_t {
    kBool = 16,
    kBytea = 17,
    kInt8 = 20,
    kText = 25,
    kUuid = 2950
  };

  explicit PostgresArray(Element element) : element_(element) { clear(); }

  // The value must be of the type of the elements, or NULL.
  void add(const Param& value) {
    const Param::Value& v = value.value();
    store_be32(data_.data(), 1);
    store_be32(data_.data() + kCountAt, ++count_);
    if (std::holds_alternative<std::monostate>(v)) {
      store_be32(data_.data() + 4, 1);
      append_be32(data_, kNull);
    } else if (element_ == Element::kInt8) {
      append_be32(data_, 8);
      append_be64(data_, static_cast<std::uint64_t>(std::get<std::int64_t>(v)));
    } else if (element_ == Element::kBool) {
      append_be32(data_, 1);
      data_.push_back(std::get<bool>(v) ? 1 : 0);
    } else {
      const ByteView bytes = element_ == Element::kText ? as_bytes(std::get<std::string_view>(v))
                                                        : std::get<ByteView>(v);
      append_be32(data_, static_cast<std::uint32_t>(bytes.size()));
      append(data_, bytes);
    }
  }
  void clear() {
    count_ = 0;
    data_.assign(kHeader, 0);
    store_be32(data_.data() + 8, static_cast<std::uint32_t>(element_));
    store_be32(data_.data() + kCountAt + 4, 1);
  }

  std::size_t size() const { return count_; }
  // Valid until the next change. An empty array has no dimension.
  ByteView view() const { return ByteView(data_).first(count_ == 0 ? kCountAt : data_.size()); }

 private:
  static constexpr std::size_t kCountAt = 12, kHeader = 20;
  static constexpr std::uint32_t kNull = 0xffffffff;

  Element element_;
  std::uint32_t count_ = 0;
  Bytes data_;
};

}  // namespace coffer::sql
