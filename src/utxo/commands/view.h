// The UTXO state for people: tables and lines. The same facts as JSON are in utxo/json/output.h.
#pragma once

#include <string>

#include <coffer/utxo/store.h>
#include "utxo/json/output.h"

namespace coffer::utxo {

// All are thread-safe; every line ends with a newline.
std::string render_utxo(const chain::Network& network, const utxo::UtxoLookup& found);
std::string render_page(const chain::Network& network, const utxo::Page& page);
std::string render_balance(const chain::Network& network, ByteView address,
                           const utxo::Balance& balance);
std::string render_utxo_stats(const chain::Network& network, const utxo::Stats& stats);

}  // namespace coffer::utxo
