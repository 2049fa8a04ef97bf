#include "api/readiness.h"

#include <gtest/gtest.h>

namespace coffer::api {
namespace {

// utxo and wallet follow the chain, token is on and does not, txstore is off.
Status status_with(std::vector<NotReady> reasons) {
  Status status;
  status.consumers = {
      {.name = "utxo", .state = "following", .tip = {}, .problem = {}, .repair = {}},
      {.name = "wallet", .state = "following", .tip = {}, .problem = {}, .repair = {}}};
  status.modules = {{"utxo", "{}"}, {"wallet", "{}"}, {"token", "{}"}, {"txstore", std::nullopt}};
  status.not_ready = std::move(reasons);
  for (const NotReady& one : status.not_ready) status.not_ready_because.push_back(one.reason);
  status.ready = status.not_ready.empty();
  return status;
}

std::string_view state_of(const Status& status, std::optional<std::string_view> consumer) {
  const auto found = readiness_of(status, consumer);
  return found ? found->state : info(found.error().code).name;
}

TEST(Readiness, SourceThatIsAwayLeavesAnswersThatMayBeOld) {
  const Status status = status_with({{.reason = "source: refused"}});
  EXPECT_EQ(state_of(status, std::nullopt), "stale");
  EXPECT_EQ(state_of(status, "wallet"), "stale");
  EXPECT_EQ(state_of(status, "token"), "ready") << "it does not follow the chain";
  EXPECT_EQ(readiness_json(status, readiness_of(status, "wallet").value()),
            R"({"ready":false,"state":"stale","reasons":["source: refused"],"halted":[]})");
}

TEST(Readiness, ConsumerIsJudgedWithoutTheOthers) {
  const Status status = status_with({{"wallet", "wallet waits: no database", false}});
  EXPECT_EQ(state_of(status, std::nullopt), "unavailable");
  EXPECT_EQ(state_of(status, "wallet"), "unavailable");
  EXPECT_EQ(state_of(status, "utxo"), "ready");
  EXPECT_EQ(state_of(status, "token"), "ready");
  EXPECT_TRUE(readiness_of(status, "utxo").value().reasons.empty());
}

TEST(Readiness, WorstReasonDecides) {
  const Status status =
      status_with({{.reason = "source: refused"}, {"utxo", "utxo waits: full disk", false}});
  EXPECT_EQ(state_of(status, "utxo"), "unavailable");
  EXPECT_EQ(state_of(status, "wallet"), "stale");
}

TEST(Readiness, ConsumerThatIsUnknownOrOffIsNotFound) {
  for (const char* name : {"txstore", "x", ""})
    EXPECT_EQ(state_of(status_with({}), name), "not_found") << name;
  EXPECT_EQ(readiness_of(status_with({}), "x").error().message,
            "no consumer 'x' is running here; there are: utxo, wallet, token");
  EXPECT_EQ(state_of(status_with({}), "wallet"), "ready");
}

}  // namespace
}  // namespace coffer::api
