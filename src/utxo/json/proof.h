// A proof that an output was unspent, as JSON: what GET …/proof answers, `coffer utxo proof` prints
// and `coffer utxo check-proof` reads. The raw fields are what is checked (docs/formats/mmr.md);
// the readable ones beside them must say the same.
#pragma once

#include <string>

#include <coffer/chain/network.h>
#include <coffer/mmr/check.h>
#include <coffer/utxo/record.h>
#include "api/routes.h"

namespace coffer::utxo {

// Thread-safe all.
std::string proof_json(chain::Family family, const mmr::UnspentProof& proof);
void add_proof_schema(api::RouteTable& table);

struct ReadProof {
  mmr::UnspentProof proof;
  chain::Family family = chain::Family::kBitcoin;  // as the outpoint's length tells
  chain::Outpoint outpoint;
};
// Errors: kInvalidInput naming the field that is missing, malformed or says another thing than the
// raw ones. The proof is not checked yet.
Result<ReadProof> parse_proof(std::string_view json);

// That the proof holds under the root. Errors: kInvalidInput saying why it does not.
Result<> check_proof(const mmr::UnspentProof& proof, const Hash256& root);

}  // namespace coffer::utxo
