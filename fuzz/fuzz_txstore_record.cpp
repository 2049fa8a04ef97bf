// Any bytes as a value of the transaction store: refused, or something that is written back as it
// was read, byte for byte.
#include "base/check.h"
#include "txstore/rocksdb/codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace coffer;
  const ByteView raw(data, size);
  Bytes buffer;
  txstore::Record record;
  if (txstore::decode_state_value(raw, record))
    CHECK(equal(txstore::encode_state_value(record, buffer), raw));
  std::vector<txstore::Entry> entries;
  const std::size_t count = size > 1 ? data[1] : 0;
  if (count > 0 && txstore::decode_page_value(raw, count, entries))
    CHECK(equal(txstore::encode_page_value(entries, buffer), raw));
  txstore::TxBody body;
  std::vector<chain::Outpoint> inputs;
  const bool is_body = txstore::decode_body_value(raw, body);
  CHECK(is_body == txstore::decode_body_inputs(raw, inputs));
  if (is_body) CHECK(equal(txstore::encode_body_value(body, buffer), raw));
  txstore::Mark mark;
  if (txstore::decode_mark_value(raw, mark)) CHECK(equal(txstore::encode_mark_value(mark), raw));
  txstore::BlockUndo block;
  bus::Position position;
  const bool is_block = txstore::decode_block_value(raw, block);
  CHECK(is_block == txstore::decode_block_position(raw, position));
  if (is_block) CHECK(equal(txstore::encode_block_value(block), raw));
  txstore::StoredTip tip;
  if (txstore::decode_tip_value(raw, tip)) CHECK(equal(txstore::encode_tip_value(tip), raw));
  return 0;
}
