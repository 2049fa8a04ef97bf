// Any bytes as a stored output, spent output or delta: an error, or something that is written back
// as it was read.
#include <coffer/utxo/delta.h>
#include <coffer/utxo/record.h>
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace coffer;
  const ByteView raw(data, size);
  const auto record = utxo::decode_record(raw);
  const auto head = utxo::decode_head(raw);
  if (record) {
    CHECK(head && equal(head->address, record->address) && head->amount == record->amount);
    (void)utxo::chain_facts(raw);
  }
  (void)utxo::decode_spent(raw);
  if (const auto delta = utxo::decode_delta(raw)) {
    Bytes again;
    utxo::encode_delta(again, *delta);
    const auto twice = utxo::decode_delta(again);
    CHECK(twice && twice->created.size() == delta->created.size());
  }
  return 0;
}
