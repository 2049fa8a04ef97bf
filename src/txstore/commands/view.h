// The transaction store for people: tables and lines. The same facts as JSON are in
// txstore/json/output.h.
#pragma once

#include <string>

#include "txstore/json/output.h"
#include "txstore/json/reports.h"

namespace coffer::txstore {

// All are thread-safe; every line ends with a newline.
std::string render_tx(const chain::Network& network, const TxDetail& detail);
std::string render_explanation(const Store& store, const Explanation& found);
std::string render_list(chain::Family family, const Store::ListPage& page);
std::string render_stats(std::string_view backend, const Store& store, const Stats& stats);
std::string render_pruned(const PruneReport& report);
std::string render_mark(const MarkReport& report);

}  // namespace coffer::txstore
