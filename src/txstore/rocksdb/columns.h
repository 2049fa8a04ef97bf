// The open columns of the transaction store, and their keys (docs/formats/txstore.md). Heights and
// page numbers are big-endian, so that keys sort by them.
#pragma once

#include <coffer/kv/database.h>
#include "txstore/record.h"

namespace coffer::txstore {

struct RocksColumns {
  kv::Column body, state, page, due, unmined, block, pruned, marks, meta;
};

// Errors: kNotFound if one of them is not open.
Result<RocksColumns> open_columns(const kv::Database& db);

inline constexpr std::string_view kFormatKey = "format";
inline constexpr std::string_view kTipKey = "tip";

using PageKey = std::array<std::uint8_t, 36>;    // id, page
using IndexKey = std::array<std::uint8_t, 40>;   // height, id
using PrunedKey = std::array<std::uint8_t, 64>;  // child, parent

inline PageKey page_key(const Hash256& id, std::uint32_t page) {
  PageKey key;
  std::memcpy(key.data(), id.data(), 32);
  store_be32(key.data() + 32, page);
  return key;
}
inline IndexKey index_key(std::uint64_t height, const Hash256& id) {
  IndexKey key;
  store_be64(key.data(), height);
  std::memcpy(key.data() + 8, id.data(), 32);
  return key;
}
inline PrunedKey pruned_key(const PrunedRef& ref) {
  PrunedKey key;
  std::memcpy(key.data(), ref.child.data(), 32);
  std::memcpy(key.data() + 32, ref.parent.data(), 32);
  return key;
}

}  // namespace coffer::txstore
