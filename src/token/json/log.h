// The tamper-evident log in JSON: how far it is, and its checkpoints. Proofs are written by
// log/proof_file.h.
#pragma once

#include <string>

#include "token/log/proof_file.h"

namespace coffer::token {

std::string log_status_json(const LogStatus& status);
std::string checkpoints_json(const Page<Checkpoint>& page);
std::string checked_proof_json(const CheckedProof& checked);

}  // namespace coffer::token
