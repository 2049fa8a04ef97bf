#include "token/query/by_index.h"

namespace coffer::token {
namespace {

constexpr std::string_view kIndexesOnly =
    "SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off',"
    " true), set_config('enable_sort', 'off', true), set_config('jit', 'off', true), "
    "set_config('enable_hashjoin', 'off', true),"
    " set_config('enable_mergejoin', 'off', true)";

}  // namespace

Result<sql::Rows> query_by_index(sql::Transaction& sql, const Community& community,
                                 std::string_view text, sql::Params params) {
  if (community.is_sqlite()) return sql.query(text, params);
  std::vector<sql::Rows> answers = TRY(sql.run_all({{kIndexesOnly}, {text, params}}));
  return std::move(answers.back());
}

}  // namespace coffer::token
