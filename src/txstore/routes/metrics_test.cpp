#include "txstore/routes/metrics.h"

#include "txstore/routes/txs_test_util.h"

namespace coffer::txstore {
namespace {

TEST(TxMetrics, GaugesAndCountersFollowTheStore) {
  ServedStore served;
  api::Metrics metrics;
  TxMonitor monitor(*served.store, metrics, false);
  ASSERT_NO_FATAL_FAILURE(served.grow(160));
  const std::string text = metrics.text();
  const auto value = [&](const std::string& name) {
    const std::size_t at = text.find("\n" + name + " ");
    EXPECT_NE(at, std::string::npos) << name;
    return at == std::string::npos ? -1.0 : std::stod(text.substr(at + name.size() + 2));
  };
  const Stats stats = served.store->stats().value();
  EXPECT_EQ(value("coffer_txstore_records"), static_cast<double>(stats.counts.records));
  EXPECT_EQ(value("coffer_txstore_bytes"), static_cast<double>(stats.counts.bytes));
  EXPECT_GT(value("coffer_txstore_deleted_total"), 0.0);
  EXPECT_GT(value("coffer_txstore_children_read_total"), 0.0);
  EXPECT_EQ(value("coffer_txstore_parents_missing"), 0.0);
  EXPECT_GE(value("coffer_txstore_overdue_kept{reason=\"child_unmined\"}"), 0.0);
  EXPECT_GT(value("coffer_txstore_cleanup_seconds_total"), 0.0);
}

TEST(TxMetrics, BackgroundCountIsThereSoon) {
  ServedStore served;
  ASSERT_NO_FATAL_FAILURE(served.grow(5));
  api::Metrics metrics;
  TxMonitor monitor(*served.store, metrics, true);
  const std::int64_t end_ms = system_clock().steady_ms() + 10'000;
  while (!monitor.stats() && system_clock().steady_ms() < end_ms) std::this_thread::yield();
  ASSERT_TRUE(monitor.stats());
  EXPECT_EQ(monitor.stats()->tip.height(), 4u);
}

}  // namespace
}  // namespace coffer::txstore
