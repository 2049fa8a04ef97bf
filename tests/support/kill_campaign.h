// Kills the real program with SIGKILL at random moments, again and again, and compares what it
// leaves in the end with an undisturbed run.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/temp_dir.h"
#include "support/process.h"

namespace coffer::test {

struct KillCampaign {
  std::function<std::vector<std::string>(const std::filesystem::path& data)> command;
  std::function<std::string(const std::filesystem::path& data)> fingerprint;
  // Asserts that what a killed run left is sound.
  std::function<void(const std::filesystem::path& data)> expect_sound;
  int kills = 5;
};

inline void run_kill_campaign(const KillCampaign& campaign) {
  TempDir straight, crashed;
  Process whole(campaign.command(straight.path()));
  const auto start = std::chrono::steady_clock::now();
  ASSERT_EQ(whole.wait()->exit_code, 0) << whole.err();
  const auto whole_us = std::chrono::duration_cast<std::chrono::microseconds>(
                            std::chrono::steady_clock::now() - start)
                            .count();
  const std::string expected = campaign.fingerprint(straight.path());
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  for (int killed = 0; killed < campaign.kills;) {
    Process process(campaign.command(crashed.path()));
    std::this_thread::sleep_for(
        std::chrono::microseconds(rng.below(static_cast<std::uint64_t>(whole_us))));
    process.kill(SIGKILL);
    const auto end = process.wait();
    ASSERT_TRUE(end);
    if (end->exit_code == -1) {
      ++killed;
      ASSERT_NO_FATAL_FAILURE(campaign.expect_sound(crashed.path()));
      continue;
    }
    ASSERT_EQ(end->exit_code, 0) << end->err;
    ASSERT_EQ(campaign.fingerprint(crashed.path()), expected);
    std::filesystem::remove_all(crashed.path());
    std::filesystem::create_directory(crashed.path());
  }
  Process last(campaign.command(crashed.path()));
  ASSERT_EQ(last.wait()->exit_code, 0) << last.err();
  EXPECT_EQ(campaign.fingerprint(crashed.path()), expected);
  ASSERT_NO_FATAL_FAILURE(campaign.expect_sound(crashed.path()));
}

}  // namespace coffer::test
