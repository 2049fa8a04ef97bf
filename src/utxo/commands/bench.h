// What the parts of `coffer bench utxo` share.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "node/bench_report.h"

namespace coffer::utxo {

// Pages of addresses with 3, 3,000 and 300,000 outputs, in process and over HTTP.
Result<> bench_utxo_reads(const std::filesystem::path& scratch, node::BenchReport& report);

}  // namespace coffer::utxo
