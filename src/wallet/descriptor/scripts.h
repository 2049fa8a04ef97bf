// The scripts that outputs of a wallet have.
#pragma once

#include <vector>

#include <coffer/base/bytes.h>
#include "base/result.h"
#include "crypto/secp.h"

namespace coffer::wallet {

inline constexpr std::size_t kMaxRedeemScriptBytes = 520;  // what one push can hold
inline constexpr std::size_t kMaxScriptBytes = 10'000;     // longer ones cannot be run
inline constexpr std::size_t kMaxMultisigKeys = 20;

// Whether a wallet may watch it. Thread-safe. Errors: kInvalidInput for one without bytes, one that
// is too long, and one from which nobody can spend.
Result<> check_watchable(ByteView script);

// Thread-safe all, cannot fail; linear. Keys are serialized public keys.
Bytes p2pk_script(ByteView key);
Bytes p2pkh_script(ByteView key);
Bytes p2wpkh_script(ByteView key);
Bytes p2tr_script(const crypto::XOnlyKey& output_key);
// Paying to another script.
Bytes p2sh_script(ByteView redeem_script);
Bytes p2wsh_script(ByteView witness_script);
// 1 <= threshold <= keys.size() <= kMaxMultisigKeys.
Bytes multisig_script(std::size_t threshold, const std::vector<Bytes>& keys);

}  // namespace coffer::wallet
