#include "wallet/descriptor/scripts.h"

#include "base/check.h"
#include "base/result.h"
#include "chain/script.h"
#include "crypto/hash160.h"
#include "crypto/sha256.h"

namespace coffer::wallet {
namespace {

constexpr std::uint8_t kOp0 = 0x00, kOp1 = 0x51, kDup = 0x76, kEqual = 0x87, kEqualVerify = 0x88,
                       kHash160 = 0xa9, kCheckSig = 0xac, kCheckMultisig = 0xae;

// One byte says the length of what is pushed up to 75 bytes; keys and hashes are shorter.
void push(Bytes& script, ByteView data) {
  CHECK(data.size() <= 75);
  script.push_back(static_cast<std::uint8_t>(data.size()));
  append(script, data);
}

// Up to 16 there are opcodes.
void push_number(Bytes& script, std::size_t number) {
  CHECK(number >= 1 && number <= kMaxMultisigKeys);
  const auto byte = static_cast<std::uint8_t>(number);
  if (number <= 16)
    script.push_back(static_cast<std::uint8_t>(kOp1 - 1 + byte));
  else
    push(script, {&byte, 1});
}

}  // namespace

Result<> check_watchable(ByteView script) {
  if (script.empty() || script.size() > kMaxScriptBytes)
    return fail(Code::kInvalidInput, "a script has 1 to {} bytes", kMaxScriptBytes);
  if (chain::is_unspendable(script))
    return fail(Code::kInvalidInput, "nobody can spend from this script");
  return {};
}

Bytes p2pk_script(ByteView key) {
  Bytes script;
  push(script, key);
  script.push_back(kCheckSig);
  return script;
}

Bytes p2pkh_script(ByteView key) {
  Bytes script = {kDup, kHash160};
  push(script, crypto::hash160(key).view());
  script.insert(script.end(), {kEqualVerify, kCheckSig});
  return script;
}

Bytes p2wpkh_script(ByteView key) {
  Bytes script = {kOp0};
  push(script, crypto::hash160(key).view());
  return script;
}

Bytes p2tr_script(const crypto::XOnlyKey& output_key) {
  Bytes script = {kOp1};
  push(script, output_key.view());
  return script;
}

Bytes p2sh_script(ByteView redeem_script) {
  Bytes script = {kHash160};
  push(script, crypto::hash160(redeem_script).view());
  script.push_back(kEqual);
  return script;
}

Bytes p2wsh_script(ByteView witness_script) {
  Bytes script = {kOp0};
  push(script, crypto::sha256(witness_script).view());
  return script;
}

Bytes multisig_script(std::size_t threshold, const std::vector<Bytes>& keys) {
  CHECK(threshold <= keys.size());
  Bytes script;
  push_number(script, threshold);
  for (const Bytes& key : keys) push(script, key);
  push_number(script, keys.size());
  script.push_back(kCheckMultisig);
  return script;
}

}  // namespace coffer::wallet
