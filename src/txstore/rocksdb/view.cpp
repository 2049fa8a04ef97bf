#include "txstore/rocksdb/view.h"

#include "base/result.h"

namespace coffer::txstore {

Result<> RocksView::for_each(std::optional<Hash256> after,
                             const std::function<Result<bool>(const Record&)>& each) {
  Record record;  // reused: what it allocates serves the next one
  return reader_.walk(columns_.state, after ? after->view() : ByteView{},
                      [&](ByteView key, ByteView value) -> Result<bool> {
                        if (key.size() != Hash256::kSize)
                          return reader_.corrupt("tx_state", "key " + to_hex(key));
                        record.head.id = Hash256::from(key.data());
                        if (!decode_state_value(value, record))
                          return reader_.corrupt("tx_state", record.head.id);
                        return each(record);
                      });
}

Result<std::vector<DueEntry>> RocksView::unmined(std::optional<DueEntry> after, std::size_t limit) {
  return TRY(reader_.index_entries(columns_.unmined, {.after = after, .limit = limit})).entries;
}

Result<std::vector<DueEntry>> RocksView::due(std::optional<DueEntry> after, std::size_t limit) {
  return TRY(reader_.index_entries(columns_.due, {.after = after, .limit = limit})).entries;
}

Result<> RocksView::for_each_pruned(const std::function<Result<bool>(const PrunedRef&)>& each) {
  return reader_.walk(columns_.pruned, {}, [&](ByteView key, ByteView value) -> Result<bool> {
    if (key.size() != PrunedKey{}.size() || !value.empty())
      return reader_.corrupt("tx_pruned", "key " + to_hex(key));
    return each({Hash256::from(key.data()), Hash256::from(key.data() + 32)});
  });
}

Result<> RocksView::for_each_block(const std::function<Result<bool>(const BlockUndo&)>& each) {
  BlockUndo block;
  return reader_.walk(columns_.block, {}, [&](ByteView key, ByteView value) -> Result<bool> {
    if (key.size() != 8 || !decode_block_value(value, block) ||
        block.position.ordinal.value != load_be64(key.data()))
      return reader_.corrupt("tx_block", "block " + to_hex(key));
    return each(block);
  });
}

}  // namespace coffer::txstore
