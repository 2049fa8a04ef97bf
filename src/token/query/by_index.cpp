#include "token/query/by_index.h"

namespace coffer::token {
namespace {

constexpr std::string_view kIndexesOnly =
    "SELECT set_config('plan_cache_mode', 'force_generic_plan', true),"
    " set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off',"
    " true), set_config('enable_sort', 'off', true), set_config('jit', 'off', true), "
    "set_config('enable_hashjoin', 'off', true),"
    " set_config('enable_mergejoin', 'off', true), set_config('enable_incremental_sort', $1, true)";

}  // namespace

Result<sql::Rows> query_by_index(sql::Transaction& sql, const Community& community,
                                 std::string_view text, sql::Params params, IndexOrder order) {
  if (community.is_sqlite()) return sql.query(text, params);
  const std::string_view ties = order == IndexOrder::kWithTies ? "on" : "off";
  std::vector<sql::Rows> answers = TRY(sql.run_all({{kIndexesOnly, {ties}}, {text, params}}));
  return std::move(answers.back());
}

}  // namespace coffer::token
