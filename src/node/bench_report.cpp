#include "node/bench_report.h"

#include "base/result.h"
#include "cli/table.h"

namespace coffer::node {

std::string BenchReport::table() const {
  cli::Table table({{"measured"}, {"result", cli::Align::kRight}, {"meaning"}});
  for (const Row& row : rows_) table.add_row({row.name, row.result, row.meaning});
  return table.render();
}

std::string BenchReport::json() const {
  std::string out = "[";
  for (const Row& row : rows_)
    out += fmt::format(R"({}{{"name":"{}","result":"{}","meaning":"{}"}})",
                       out.size() > 1 ? "," : "", row.name, row.result, row.meaning);
  return out + "]\n";
}

}  // namespace coffer::node
