// Transactions and blocks of Bitcoin's wire format, put together by hand for the wallet's tests.
#pragma once

#include <coffer/bus/event.h>
#include <coffer/chain/decode.h>
#include <coffer/chain/network.h>
#include "base/check.h"
#include "wallet/test_tx.h"

namespace coffer::wallet::test {

struct Pay {
  Bytes script;
  std::uint64_t amount = 0;
};

// A transaction and the parts it was made of.
struct MadeTx {
  Hash256 id{};
  Bytes raw;
  std::vector<chain::Outpoint> inputs;  // none of a coinbase
  std::vector<Pay> outputs;
  bool coinbase = false;
};

inline Bytes script(std::uint32_t number) {  // pay to a witness key hash of its own
  Bytes made = {0x00, 0x14};
  made.resize(22);
  store_be32(made.data() + 2, number);
  made[21] = 0x5a;
  return made;
}

inline chain::Outpoint foreign(std::uint32_t number) {
  chain::Outpoint outpoint;
  outpoint.tx.fill(0xf0);
  store_be32(outpoint.tx.data(), number);
  return outpoint;
}

// `nonce` keeps equal transactions apart.
inline MadeTx make_tx(std::vector<chain::Outpoint> inputs, std::vector<Pay> outputs,
                      std::uint32_t nonce = 0, bool coinbase = false) {
  CHECK(inputs.size() < 250 && outputs.size() < 250);
  MadeTx made;
  // The one input of a coinbase names nothing, and carries what tells it apart in its script.
  const chain::Outpoint nothing{.tx = {}, .index = 0xffffffff};
  std::vector<TestOutput> pays;
  pays.reserve(outputs.size());
  for (const Pay& pay : outputs) pays.push_back({pay.amount, pay.script});
  if (coinbase) {
    Bytes script;
    append_le<std::uint32_t>(script, nonce);
    made.raw = test_tx({nothing}, pays, 0, script);
  } else {
    made.raw = test_tx(inputs, pays, nonce);
  }
  made.id = test_txid(made.raw);
  made.inputs = std::move(inputs);
  made.outputs = std::move(outputs);
  made.coinbase = coinbase;
  return made;
}

// The same transaction, signed: a witness of one byte for each input. Its id stays.
inline MadeTx sign(MadeTx tx, std::uint8_t witness) {
  Bytes raw(tx.raw.begin(), tx.raw.begin() + 4);
  raw.insert(raw.end(), {0x00, 0x01});
  raw.insert(raw.end(), tx.raw.begin() + 4, tx.raw.end() - 4);
  for (std::size_t i = 0; i < tx.inputs.size(); ++i) raw.insert(raw.end(), {0x01, 0x01, witness});
  raw.insert(raw.end(), tx.raw.end() - 4, tx.raw.end());
  tx.raw = std::move(raw);
  return tx;
}

// A block of these transactions upon `prev`; its merkle root is not looked at.
inline std::shared_ptr<const chain::Block> make_block(const chain::Network& network,
                                                      const Hash256& prev, std::uint64_t height,
                                                      const std::vector<MadeTx>& txs,
                                                      std::uint32_t nonce) {
  Bytes raw;
  append_le<std::uint32_t>(raw, 4);
  append(raw, prev.view());
  raw.insert(raw.end(), 32, 0);
  append_le<std::uint32_t>(raw, static_cast<std::uint32_t>(1'600'000'000 + 600 * height));
  append_le<std::uint32_t>(raw, 0x207fffff);
  append_le<std::uint32_t>(raw, nonce);
  // A block has at least its coinbase; this one pays to nobody we know.
  std::vector<MadeTx> all;
  if (txs.empty() || !txs.front().coinbase)
    all.push_back(make_tx({}, {{script(0xffffffff), 50}},
                          static_cast<std::uint32_t>(height * 7919 + nonce), true));
  all.insert(all.end(), txs.begin(), txs.end());
  if (all.size() < 0xfd) {
    raw.push_back(static_cast<std::uint8_t>(all.size()));
  } else {
    raw.push_back(0xfd);
    append_le<std::uint16_t>(raw, static_cast<std::uint16_t>(all.size()));
  }
  for (const MadeTx& tx : all) append(raw, tx.raw);
  chain::DecodeOptions options;
  options.verify = false;
  auto decoded = chain::decode(network, std::move(raw), options);
  CHECK(decoded.has_value());
  auto block = std::make_shared<chain::Block>(std::move(*decoded));
  block->number = BlockNumber(height);
  block->slot = Slot(height);
  return block;
}

inline bus::TxSeen make_seen(const chain::Network& network, const MadeTx& tx) {
  auto block = std::make_shared<chain::Block>();
  Bytes raw = tx.raw;
  CHECK(chain::decode_tx_into(*block, network, raw).has_value());
  block->storage = std::move(raw);
  return bus::TxSeen{std::move(block)};
}

}  // namespace coffer::wallet::test
